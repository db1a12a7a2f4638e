/** A client that `redocly generate-client` has generated. It finds the service by the document. */
import { type Client, dataOf, problemOf } from "./five-operations.js";
import { client } from "./generated/redocly.js";

export const connect = (): Client => ({
  token: (body) => dataOf(client.issueToken({ body: new URLSearchParams({ ...body }) })),
  calls: (token) => {
    client.auth.bearer(token);
    return {
      transfer: (body) => dataOf(client.createPlatformTransfer({ body })),
      convert: (body) => dataOf(client.createStablecoinConversion({ body })),
      order: (profile_id, body) => dataOf(client.placeOrder({ path: { profile_id }, body })),
      getOrder: (profile_id, id) => dataOf(client.getOrder({ path: { profile_id, id } })),
      executions: (query) => dataOf(client.listExecutions({ query })),
      rejection: (body) => problemOf(client.createPlatformTransfer({ body })),
    };
  },
});
