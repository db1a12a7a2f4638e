import { errorCodes } from "fastify";
import { Type } from "typebox";
import { afterEach, expect, test } from "vitest";
import { ask, DEFAULT_PROFILE, GRANT, problem, startToyApi, type ToyApi } from "../../test/support/http/toy-api.ts";
import { Unavailable } from "../ledger/decision.ts";
import { DatabaseAway, OutcomeUnknown } from "../postgres/database.ts";
import { ClockFault } from "../std/clock.ts";
import { problemOf } from "./problems/rejection-problems.ts";
import type { Api } from "./server.ts";

let toy: ToyApi;
afterEach(() => toy.close());

const TOY = { to_profile_id: "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00", amount: "1", asset: "USD" };

/** A toy whose GET /throw throws this. */
async function startThrowing(thrown: unknown): Promise<void> {
  toy = await startToyApi((api) => {
    api.route({
      method: ["GET", "DELETE"],
      url: "/throw",
      config: { scope: "public" },
      schema: { hide: true },
      handler: async () => {
        throw thrown;
      },
    });
  });
}

test("an answer carries the request id of the caller when it is one, else a fresh one", async () => {
  toy = await startToyApi();
  const idOf = async (sent: string) =>
    (await ask(toy, "/v2/toys", { headers: { "x-request-id": sent } })).headers["x-request-id"];
  expect(await idOf("my-Id_1.2")).toBe("my-Id_1.2");
  expect(await idOf("a".repeat(64))).toBe("a".repeat(64));
  const fresh = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
  expect(await idOf("a".repeat(65))).toMatch(fresh);
  expect(await idOf("no spaces")).toMatch(fresh);
  expect(await idOf("")).toMatch(fresh);
});

test("a handler sees who calls, and what was sent as it was sent", async () => {
  toy = await startToyApi();
  expect((await ask(toy, "/v2/toys?open=false&limit=7")).body).toEqual({
    query: { open: false, order: "DESC", limit: 7 },
    customer: GRANT.customerId,
  });
  const made = await ask(toy, "/v2/toys/default", { method: "POST", json: { ...TOY, amount: "1.50" } });
  expect(made.body).toEqual({ params: { profile_id: DEFAULT_PROFILE }, body: { ...TOY, amount: "1.50" } });
});

test("an unknown path is 404 for every caller and every request", async () => {
  toy = await startToyApi();
  const expected = problem(404, "Not Found", "no such path");
  expect(await ask(toy, "/v2/nothing", { token: null })).toEqual(expected);
  expect(await ask(toy, "/v2/nothing", { method: "POST", headers: { "content-type": "text/plain" } })).toEqual(
    expected,
  );
});

test("another method of a known path is 405 and names the methods that there are", async () => {
  toy = await startToyApi();
  const detail = "DELETE is not allowed on this path: use GET, HEAD, PUT";
  expect(await ask(toy, "/v2/toys?limit=1", { method: "DELETE", token: null })).toEqual(
    problem(405, "Method Not Allowed", detail, { headers: { allow: "GET, HEAD, PUT" } }),
  );
  expect((await ask(toy, "/v2/toys/default", { method: "PATCH" })).headers.allow).toBe("DELETE, POST");
});

test("a path that is not a URL is 400, one with an endless part 414", async () => {
  toy = await startToyApi();
  const detail = "the path is not a valid URL: its percent-encoding is not UTF-8";
  expect(await ask(toy, "/v2/toys/%zz")).toEqual(problem(400, "Bad Request", detail));
  // Hexadecimal digits, but half of a surrogate pair.
  expect(await ask(toy, "/v2/toys/%ED%A0%80")).toEqual(problem(400, "Bad Request", detail));
  expect((await ask(toy, `/v2/toys/${"a".repeat(1_024)}`, { method: "DELETE" })).status).toBe(200);
  expect(await ask(toy, `/v2/toys/${"a".repeat(1_025)}`, { method: "DELETE" })).toEqual(
    problem(414, "URI Too Long", "a segment of the path is too long"),
  );
  const long = problem(414, "URI Too Long", "the path is too long");
  for (const rest of ["", "?limit=1"]) expect(await ask(toy, `/v2/${"%25".repeat(682)}${rest}`)).toEqual(long);
  expect((await ask(toy, `/v2/${"%25".repeat(681)}`)).status).toBe(404);
});

test("a body of 64 KiB is read, one byte more is 413", async () => {
  toy = await startToyApi();
  const bodyOf = (bytes: number) => JSON.stringify(TOY).padEnd(bytes, " ");
  expect((await ask(toy, "/v2/toys/default", { method: "POST", json: bodyOf(65_536) })).status).toBe(200);
  expect(await ask(toy, "/v2/toys/default", { method: "POST", json: bodyOf(65_537) })).toEqual(
    problem(413, "Content Too Large", "the body has more than 65536 bytes"),
  );
});

test("a body that is not said to be JSON is 415", async () => {
  toy = await startToyApi();
  const send = (body: string | Uint8Array, headers: Record<string, string>) =>
    fetch(`${toy.url}/v2/toys/default`, {
      method: "POST",
      body,
      headers: { authorization: "Bearer good", "x-request-id": "r-1", ...headers },
    });
  const plain = await send(JSON.stringify(TOY), { "content-type": "text/plain" });
  expect(await plain.json()).toEqual(
    problem(415, "Unsupported Media Type", 'the content type is "text/plain": send application/json').body,
  );
  const none = await send(new TextEncoder().encode(JSON.stringify(TOY)), {});
  expect(await none.json()).toEqual(
    problem(415, "Unsupported Media Type", "there is no content type: send application/json").body,
  );
  expect((await send(JSON.stringify(TOY), { "content-type": "application/json; charset=utf-8" })).status).toBe(200);
  const long = "application/json; a=".padEnd(256, "b");
  expect((await send(JSON.stringify(TOY), { "content-type": long })).status).toBe(200);
  expect(await (await send(JSON.stringify(TOY), { "content-type": `${long}b` })).json()).toEqual(
    problem(400, "Bad Request", "the header content-type has more than 256 characters").body,
  );
});

test("without room a write is rejected before its token and body are read, a read is not", async () => {
  let verified = 0;
  toy = await startToyApi(undefined, {
    rejectsWork: () => "the service is at capacity: too many requests are waiting",
    verify: async () => {
      verified += 1;
      return GRANT;
    },
  });
  const expected = problem(503, "Service Unavailable", "the service is at capacity: too many requests are waiting", {
    headers: { "retry-after": "1" },
  });
  expect(await ask(toy, "/v2/toys/default", { method: "POST", json: "{" })).toEqual(expected);
  expect(await ask(toy, "/v2/toys", { method: "PUT" })).toEqual(expected);
  expect(await ask(toy, "/v2/toys/default", { method: "DELETE" })).toEqual(expected);
  expect(verified).toBe(0);
  expect((await ask(toy, "/v2/toys")).status).toBe(200);
  expect(verified).toBe(1);
});

test("a bug is a 500 without details; the log has it under the request id", async () => {
  await startThrowing(new Error("the password is hunter2"));
  const detail = "internal error: quote the request_id when you report it";
  expect(await ask(toy, "/throw")).toEqual(problem(500, "Internal Server Error", detail));
  expect(toy.logged.at(-1)).toMatchObject({
    level: 50,
    request_id: "r-1",
    err: { message: "the password is hunter2" },
  });
});

test("what is thrown without being an error is a bug too", async () => {
  await startThrowing(null);
  expect((await ask(toy, "/throw")).status).toBe(500);
});

test("a fault of the lane, of the clock or of the database is a 503 to be tried again, and a bound is not logged", async () => {
  const headers = { "retry-after": "1" };
  for (const fault of [new Unavailable("it is not known yet"), new ClockFault("the clock of this node is wrong")]) {
    await startThrowing(fault);
    expect(await ask(toy, "/throw")).toEqual(problem(503, "Service Unavailable", fault.message, { headers }));
    const faults = toy.logged.filter(({ msg }) => msg === "request failed: fault");
    expect(faults).toHaveLength(fault instanceof ClockFault ? 1 : 0);
    await toy.close();
  }
  await startThrowing(new DatabaseAway("the database cannot be reached", { cause: new Error("10.0.0.7 rejected") }));
  const away = problem(503, "Service Unavailable", "the database cannot be reached", { headers });
  expect(await ask(toy, "/throw")).toEqual(away);
  expect(toy.logged.at(-1)).toMatchObject({ level: 40, request_id: "r-1" });
});

test("of a change whose outcome is unknown the 503 says so, of a read it does not", async () => {
  await startThrowing(new OutcomeUnknown(new Error("canceling wait for synchronous replication")));
  const of = (detail: string) => problem(503, "Service Unavailable", detail, { headers: { "retry-after": "1" } });
  expect(await ask(toy, "/throw")).toEqual(of("the database cannot be reached"));
  const unknown = "it is not known whether this was done: check the outcome before you retry";
  expect(await ask(toy, "/throw", { method: "DELETE" })).toEqual(of(unknown));
});

test("a problem of ours has an address, and its members stand in the order of RFC 9457", async () => {
  await startThrowing(problemOf({ code: "already_exists", field: "ref_id", existing: { id: "1" } }, { ref_id: "a" }));
  const answer = await ask(toy, "/throw");
  expect(answer).toEqual(
    problem(409, "Already Exists", 'ref_id "a" is already in use', {
      type: "http://toy.test/problems/already-exists",
      meta: { existing: { id: "1" } },
    }),
  );
  expect(Object.keys(answer.body as object)).toEqual(["type", "title", "status", "detail", "meta", "request_id"]);
});

test("a Rejection becomes its problem", async () => {
  await startThrowing(problemOf({ code: "profile_not_found", profileId: "p-1" }));
  expect(await ask(toy, "/throw")).toEqual(problem(404, "Not Found", "profile not found: p-1"));
});

test("every code with which the framework rejects a request is mapped explicitly", async () => {
  // Off here: the framework's own JSON parser, the method QUERY, 404 by error. The last one is about building, not asking.
  const off = [
    "EMPTY_JSON_BODY",
    "INVALID_JSON_BODY",
    "NOT_FOUND",
    "ROUTE_MISSING_CONTENT",
    "ROUTE_MISSING_CONTENT_TYPE",
    "INSTANCE_ALREADY_STARTED",
  ];
  const rejecting = Object.entries(errorCodes).filter(([, code]) => {
    const { statusCode } = new code() as { statusCode?: number };
    return statusCode !== undefined && statusCode !== 500;
  });
  expect(rejecting.length).toBeGreaterThan(8);
  let next: unknown;
  toy = await startToyApi((api: Api) => {
    api.get("/throw", { config: { scope: "public" }, schema: { hide: true } }, async () => {
      throw next;
    });
  });
  for (const [name, code] of rejecting) {
    if (name === "FST_ERR_VALIDATION" || off.some((end) => name.endsWith(end))) continue;
    next = new code();
    expect(`${name}: ${(await ask(toy, "/throw")).status}`).toBe(`${name}: ${new code().statusCode}`);
  }
});

test("an unmapped code of the framework is a 500", async () => {
  await startThrowing(Object.assign(new Error("new in the next release"), { code: "FST_ERR_NEW", statusCode: 400 }));
  expect((await ask(toy, "/throw")).status).toBe(500);
});

test("a route without a scope does not start", async () => {
  toy = await startToyApi();
  const { createApi } = await import("./server.ts");
  const api = await createApi({
    baseUrl: () => "",
    authUrl: () => "",
    log: toy.api.log,
    verify: async () => undefined,
    rejectsWork: () => undefined,
    defaultProfileOf: async () => "",
  });
  expect(() => api.get("/v2/open", { schema: { response: { 200: Type.Object({}) } } }, async () => ({}))).toThrow(
    "GET /v2/open declares its scope",
  );
});
