import { request } from "node:http";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask, problem, startToyApi, type ToyApi } from "../../test/support/toy-api.ts";

let toy: ToyApi;
beforeAll(async () => {
  toy = await startToyApi();
});
afterAll(() => toy.close());

const TOY = { to_profile_id: "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00", amount: "1", asset: "USD" };

/** Sends headers in pairs, so that one can be there twice, and answers status and body. */
function send(headers: readonly string[]): Promise<{ status: number | undefined; body: string }> {
  return new Promise((resolve, reject) => {
    const asking = request(`${toy.url}/v2/toys`, { headers: headers as string[] }, (answer) => {
      let body = "";
      answer.on("data", (chunk: Buffer) => {
        body += chunk.toString();
      });
      answer.on("end", () => resolve({ status: answer.statusCode, body }));
    });
    asking.on("error", reject);
    asking.end();
  });
}

test("a header that could mean two things when it is there twice is 400", async () => {
  const sound = ["Host", "a", "Authorization", "Bearer good", "X-Request-Id", "r-1"];
  expect((await send(sound)).status).toBe(200);
  for (const [name, value] of [
    ["host", "b"],
    ["authorization", "Bearer other"],
    ["content-type", "application/json"],
  ] as const) {
    const more = name === "content-type" ? [name, value, name, value] : [name, value];
    const { status, body } = await send([...sound, ...more]);
    expect([status, JSON.parse(body)]).toEqual([
      400,
      problem(400, "Bad Request", `the header ${name} is there more than once`).body,
    ]);
  }
});

test("an expectation that nobody knows is ignored, and answered as the request is", async () => {
  const told = await new Promise<string>((resolve) => {
    const socket = connect(Number(new URL(toy.url).port), "127.0.0.1", () =>
      socket.end("GET /v2/toys HTTP/1.1\r\nHost: a\r\nExpect: miracles\r\nX-Request-Id: r-1\r\n\r\n"),
    );
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString();
    });
    socket.on("close", () => resolve(text));
  });
  expect(told).toMatch(/^HTTP\/1\.1 401 /);
  expect(told).toContain("x-request-id: r-1");
});

test("a body that is said to be coded is 415, whether it is or not, but after its token", async () => {
  const detail = "the body has a Content-Encoding, but a body is application/json as it is";
  const coded = { method: "POST", headers: { "content-encoding": "gzip" }, json: TOY };
  expect(await ask(toy, "/v2/toys/default", coded)).toEqual(problem(415, "Unsupported Media Type", detail));
  expect((await ask(toy, "/v2/toys/default", { ...coded, token: null })).status).toBe(401);
  const zipped = { ...coded, json: gzipSync(JSON.stringify(TOY)).toString("latin1") };
  expect((await ask(toy, "/v2/toys/default", zipped)).status).toBe(415);
  const plain = { ...coded, headers: { "content-encoding": "identity" } };
  expect((await ask(toy, "/v2/toys/default", plain)).status).toBe(200);
});
