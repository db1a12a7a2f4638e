import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { ask, startToyApi, type ToyApi } from "../../test/support/http/toy-api.ts";
import { until } from "../../test/support/until.ts";
import type { Api } from "../api/api.ts";
import { createRequestLog, type RequestLogForm } from "./request-log.ts";

async function toyWith(
  form: RequestLogForm,
  add: (api: Api) => void = () => undefined,
): Promise<{ toy: ToyApi; lines: Record<string, unknown>[] }> {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(JSON.parse(line)) });
  const toy = await startToyApi(add, { observe: createRequestLog(log, form) });
  onTestFinished(() => toy.close());
  return { toy, lines };
}

test("the access log has route, status, time, client and request id of each response, and nothing that was sent", async () => {
  const { toy, lines } = await toyWith("record");
  await ask(toy, "/v2/toys?secret=hunter2");
  await ask(toy, "/v2/nothing/hunter2");
  await ask(toy, "/v2/toys", { token: "hunter2" });
  await until("three are logged", () => lines.length === 3);
  const common = { level: 30, msg: "request", method: "GET", ms: expect.any(Number), request_id: "r-1" };
  expect(lines).toEqual([
    { ...common, route: "/v2/toys", status: expect.any(Number), client: "acme" },
    { ...common, route: "none", status: 404 },
    { ...common, route: "/v2/toys", status: 401 },
  ]);
  expect(JSON.stringify(lines)).not.toContain("hunter2");
});

test("on a terminal a request is one line, without its query", async () => {
  const { toy, lines } = await toyWith("line");
  await ask(toy, `/v2/toys/${"a".repeat(200)}?secret=hunter2`, { token: null });
  await until("it is logged", () => lines.length === 1);
  expect(lines[0]?.msg).toMatch(/^GET \/v2\/toys\/a{91}\.\.\. \d{3} [\d.]+ ms$/);
});

test("a probe is logged if it fails, and a caller that did not wait for its response has the status 0", async () => {
  let status = 200;
  let end: (() => void) | undefined;
  const { toy, lines } = await toyWith("record", (api) => {
    const open = { config: { scope: "public" }, schema: { hide: true } } as const;
    api.get("/readyz", open, async (_, reply) => reply.code(status).send({}));
    api.get("/never", open, async () => {
      await new Promise<void>((resolve) => (end = resolve));
    });
  });
  await ask(toy, "/readyz");
  status = 503;
  await ask(toy, "/readyz");
  const leaving = new AbortController();
  const left = fetch(`${toy.url}/never`, { signal: leaving.signal }).catch(() => undefined);
  await until("it is asked", () => end !== undefined);
  leaving.abort();
  await left;
  await until("both are logged", () => lines.length === 2);
  end?.();
  expect(lines).toMatchObject([
    { route: "/readyz", status: 503 },
    { route: "/never", status: 0 },
  ]);
});
