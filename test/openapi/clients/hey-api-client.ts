/** A client that @hey-api/openapi-ts has generated. It finds the service by the document. */
import { type Client, dataOf, problemOf } from "./five-operations.js";
import {
  createPlatformTransfer,
  createStablecoinConversion,
  getOrder,
  issueToken,
  listExecutions,
  placeOrder,
} from "./generated/hey-api/index.js";

export const connect = (): Client => ({
  token: (body) => dataOf(issueToken({ body })),
  calls: (auth) => ({
    transfer: (body) => dataOf(createPlatformTransfer({ auth, body })),
    convert: (body) => dataOf(createStablecoinConversion({ auth, body })),
    order: (profile_id, body) => dataOf(placeOrder({ auth, path: { profile_id }, body })),
    getOrder: (profile_id, id) => dataOf(getOrder({ auth, path: { profile_id, id } })),
    executions: (query) => dataOf(listExecutions({ auth, query })),
    rejection: (body) => problemOf(createPlatformTransfer({ auth, body })),
  }),
});
