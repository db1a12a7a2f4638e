import { afterEach, expect, test } from "vitest";
import { ask, COMMON_HEADERS, problem, startToyApi, type ToyApi } from "../../../test/support/http/toy-api.ts";
import { until } from "../../../test/support/until.ts";
import { healthRoutes } from "./health.ts";

let toy: ToyApi;
afterEach(() => toy.close());

const JSON_ANSWER = { ...COMMON_HEADERS, "content-type": "application/json; charset=utf-8", "x-request-id": "r-1" };

test("a process that serves is alive, and ready when all checks hold", async () => {
  toy = await startToyApi((api) => healthRoutes(api, { database: async () => true, migrations: async () => true }));
  const alive = await ask(toy, "/healthz", { token: null });
  expect(alive).toEqual({ status: 200, headers: JSON_ANSWER, body: { status: "alive" } });
  const ready = await ask(toy, "/readyz", { token: null });
  expect(ready).toEqual({ status: 200, headers: JSON_ANSWER, body: { status: "ready" } });
});

test("readiness names every check that does not hold, one that throws included", async () => {
  toy = await startToyApi((api) =>
    healthRoutes(api, {
      database: async () => {
        throw new Error("away");
      },
      lane: async () => true,
      migrations: async () => false,
      clock: async () => "it is an hour ahead",
    }),
  );
  expect(await ask(toy, "/readyz", { token: null })).toEqual(
    problem(503, "Service Unavailable", "not ready: database, migrations, clock (it is an hour ahead)", {
      headers: { "retry-after": "1" },
    }),
  );
  expect((await ask(toy, "/healthz")).status).toBe(200);
});

test("a flood that asks whether it is ready looks once at a time, and the next one looks again", async () => {
  const looks: ((holds: boolean) => void)[] = [];
  const database = () => new Promise<boolean>((resolve) => looks.push(resolve));
  toy = await startToyApi((api) => healthRoutes(api, { database }));
  const arrived: string[] = [];
  toy.api.server.on("request", ({ url }) => arrived.push(url ?? ""));
  const flood = Array.from({ length: 20 }, () => ask(toy, "/readyz", { token: null }));
  await until("all of them have come", () => arrived.length === 20);
  expect(looks).toHaveLength(1);
  looks[0]?.(false);
  for (const { status } of await Promise.all(flood)) expect(status).toBe(503);
  const next = ask(toy, "/readyz", { token: null });
  await until("it is looked at again", () => looks.length === 2);
  looks[1]?.(true);
  expect((await next).status).toBe(200);
});
