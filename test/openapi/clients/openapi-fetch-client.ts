/** openapi-fetch, with the types that openapi-typescript has made of the document. */
import createClient from "openapi-fetch";
import { type Client, dataOf, problemOf } from "./five-operations.js";
import type { paths } from "./generated/openapi-typescript.js";

export function connect(baseUrl: string): Client {
  const client = createClient<paths>({ baseUrl });
  return {
    token: (body) => {
      const headers = { "content-type": "application/x-www-form-urlencoded" };
      return dataOf(client.POST("/oauth2/token", { headers, body }));
    },
    calls: (token) => {
      const headers = { authorization: `Bearer ${token}` };
      const order = "/v2/profiles/{profile_id}/orders/{id}";
      return {
        transfer: (body) => dataOf(client.POST("/v2/transfer/platform", { headers, body })),
        convert: (body) => dataOf(client.POST("/v2/conversion/stablecoins", { headers, body })),
        order: (profile_id, body) =>
          dataOf(client.POST("/v2/profiles/{profile_id}/orders", { headers, params: { path: { profile_id } }, body })),
        getOrder: (profile_id, id) => dataOf(client.GET(order, { headers, params: { path: { profile_id, id } } })),
        executions: (query) => dataOf(client.GET("/v2/executions", { headers, params: { query } })),
        rejection: (body) => problemOf(client.POST("/v2/transfer/platform", { headers, body })),
      };
    },
  };
}
