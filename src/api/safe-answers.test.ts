/** What every answer says for the safety of its reader, whatever came before it. */
import { afterEach, expect, test } from "vitest";
import { ask, startToyApi, type ToyApi } from "../../test/support/toy-api.ts";

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

test("no answer is guessed at, and what is told to a caller is stored nowhere on its way", async () => {
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

test("pages of others are let at nothing, whatever they ask and wherever they come from", async () => {
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

test("every page says what it may load, that nobody frames it, and that it tells nobody where it was", async () => {
  toy = await startToyApi();
  for (const path of ["/docs", "/problems/already-exists"]) {
    const { headers } = await ask(toy, path, { token: null });
    expect(headers["content-security-policy"]).toMatch(/^default-src '(?:self|none)'; .*frame-ancestors 'none'/);
    expect(headers["referrer-policy"]).toBe("no-referrer");
  }
});
