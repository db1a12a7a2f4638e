/** What every answer says for the safety of its reader, whatever came before it. */
import { afterEach, expect, test } from "vitest";
import { ask, startToyApi, type ToyApi } from "../../test/support/http/toy-api.ts";

let toy: ToyApi;
afterEach(() => toy.close());

const ANSWERS = [
  "/v2/toys",
  "/v2/nothing",
  "/v2/toys?limit=0",
  "/v2/toys/%zz",
  "/openapi.json",
  "/docs",
  "/problems/already-exists",
];

test("no response is sniffed or cached", async () => {
  toy = await startToyApi();
  for (const path of ANSWERS) {
    const { headers } = await ask(toy, path);
    expect([path, headers["x-content-type-options"]]).toEqual([path, "nosniff"]);
    expect(headers["strict-transport-security"]).toBe(undefined);
  }
  for (const token of ["good", "bad", null]) {
    expect((await ask(toy, "/v2/toys", { token })).headers["cache-control"]).toBe("no-store");
  }
});

test("pages of other origins may read nothing", async () => {
  toy = await startToyApi();
  const foreign = { origin: "https://evil.test", "access-control-request-method": "POST" };
  for (const path of ANSWERS) {
    for (const method of ["GET", "OPTIONS"]) {
      const { status, headers } = await ask(toy, path, { method, headers: foreign });
      expect([path, Object.keys(headers).filter((name) => name.startsWith("access-control"))]).toEqual([path, []]);
      if (method === "OPTIONS") expect(status).toBeGreaterThanOrEqual(400);
    }
  }
});

test("every page has a policy for loading, framing and the referrer", async () => {
  toy = await startToyApi();
  for (const path of ["/docs", "/problems/already-exists"]) {
    const { headers } = await ask(toy, path, { token: null });
    expect(headers["content-security-policy"]).toMatch(/^default-src '(?:self|none)'; .*frame-ancestors 'none'/);
    expect(headers["referrer-policy"]).toBe("no-referrer");
  }
});
