import { expect, onTestFinished, test } from "vitest";
import { ask, GRANT, startToyApi } from "../../../test/support/http/toy-api.ts";
import type { Clients } from "../../customers/clients/clients.ts";
import { clientRoutes } from "./clients.ts";

test("the log says which client was disabled through the API, by which one and in which request", async () => {
  const disableOf: Clients["disableOf"] = async (_, clientId) => ({
    clientId,
    scopes: [],
    networks: undefined,
    createdAt: 0 as never,
    disabledAt: 1 as never,
  });
  const toy = await startToyApi((api) => clientRoutes(api, { disableOf, list: async () => [] }), {
    verify: async () => ({ ...GRANT, scopes: new Set(["api_creds:delete_credentials"]) }),
  });
  onTestFinished(() => toy.close());
  expect((await ask(toy, "/v2/api-creds/credentials/stolen", { method: "DELETE" })).status).toBe(200);
  expect(toy.logged.at(-1)).toMatchObject({
    level: 40,
    client_id: "stolen",
    disabled_by: "acme",
    request_id: "r-1",
    msg: "a client was disabled through the API",
  });
});
