import { expect, test, vi } from "vitest";
import { toyAuthServer } from "../../../test/support/http/toy-auth-server.ts";

test("a long query is rejected, and parsed neither there nor on another path", async () => {
  const server = toyAuthServer({ readiness: { database: async () => true, migrations: async () => true } });
  const url = await server.listen({ host: "127.0.0.1", port: 0 });
  const send = async (path: string): Promise<unknown[]> => {
    const response = await fetch(url + path, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: "grant_type=client_credentials&client_id=acme&client_secret=wrong",
    });
    return [response.status, await response.json()];
  };
  const parsed = vi.spyOn(globalThis, "URLSearchParams");
  const long = "%ff&".repeat(200);
  const answers = [await send(`/oauth2/token?${long}`), await send(`/nowhere?${long}`)];
  expect(parsed).not.toHaveBeenCalled();
  parsed.mockRestore();
  expect(answers).toEqual([
    [400, { error: "invalid_request", error_description: "the query is too long" }],
    [404, expect.anything()],
  ]);
  expect((await send("/oauth2/token?a=b"))[0]).toBe(401);
});
