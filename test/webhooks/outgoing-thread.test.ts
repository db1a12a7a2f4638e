/** Of the built program: what is posted from a thread of its own. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { OutgoingThread } from "../../src/web/outgoing-requests/outgoing-thread.ts";
import { OK, rawReceiver, receiver, SANDBOX, useReceivers } from "../support/http/outgoing.ts";
import { until } from "../support/until.ts";

useReceivers();

const BUILT = "../../dist/web/outgoing-requests/outgoing-thread.js";
const { OutgoingThread: Thread } = (await import(BUILT)) as { OutgoingThread: typeof OutgoingThread };
const NOT_SENT = { kind: "unanswered", reason: "cancelled", detail: "the service did not finish it" };

const open = (options: ConstructorParameters<typeof OutgoingThread>[2] = {}, timeoutMs = 15_000) => {
  const ended: Error[] = [];
  const thread = new Thread(SANDBOX, (error) => void ended.push(error), options);
  const post = async (url: string, signal?: AbortSignal) => {
    const message = { url, headers: { "webhook-id": "1" }, body: "{}", timeoutMs, ...(signal && { signal }) };
    const { ms: _ms, ...outcome } = await thread.post(message);
    return outcome.kind === "answered" ? { ...outcome, answer: outcome.answer.toString() } : outcome;
  };
  return { post, ended };
};

test("many at once are answered, each with its own answer", async () => {
  const { port, received } = await receiver((request, response) => void response.end(request.url));
  const { post, ended } = open();
  const paths = Array.from({ length: 50 }, (_, i) => `/${i}`);
  const answers = await Promise.all(paths.map((path) => post(`http://127.0.0.1:${port}${path}`)));
  expect(answers).toEqual(paths.map((path) => ({ ...OK, answer: path })));
  expect(received.map(({ body }) => body)).toEqual(paths.map(() => "{}"));
  expect(ended).toEqual([]);
});

test("it does not keep a command from ending", async () => {
  const { port } = await receiver((_request, response) => void response.end("done"));
  const [program, module] = ["programs/one-post.mjs", BUILT].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  );
  const args = [program, module, JSON.stringify(SANDBOX), `http://127.0.0.1:${port}/`] as string[];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 15_000 });
  expect(stdout).toBe("answered\n");
});

test("what is no longer wanted ends, with its connection", async () => {
  const { url, connections } = await rawReceiver(() => undefined);
  const cancel = new AbortController();
  const pending = open().post(url, cancel.signal);
  await until("it has connected", () => connections.length === 1);
  cancel.abort();
  expect(await pending).toEqual(NOT_SENT);
  await until(
    "the connection has ended",
    () => connections[0]?.readableEnded === true || connections[0]?.destroyed === true,
  );
});

test("what was no longer wanted before is not sent", async () => {
  const { url, connections } = await rawReceiver(() => undefined);
  expect(await open({}, 300).post(url, AbortSignal.abort())).toEqual(NOT_SENT);
  expect(connections).toEqual([]);
});

test("the policy holds in the thread", async () => {
  expect(await open().post("http://10.0.0.1/")).toMatchObject({ kind: "unanswered", reason: "url_not_allowed" });
});

test("a thread that is stuck is terminated: what it had has failed, and another one goes on", async () => {
  const { port } = await receiver((_request, response) => void response.end("done"));
  const main = new URL("programs/stuck-thread.mjs", import.meta.url);
  // What it had does not wait for its own time to be up.
  const { post, ended } = open({ main, heartbeatMs: 300 }, 300_000);
  const url = `http://127.0.0.1:${port}/`;
  expect(await post(url)).toEqual({ ...OK, answer: "done" });
  expect(await Promise.all([post(`${url}stuck`), post(url)])).toEqual([NOT_SENT, NOT_SENT]);
  expect(ended.map(({ message }) => message)).toEqual(["it was stuck: it has not answered 10 heartbeats"]);
  // Not at once: what ended it may be there again.
  expect(await post(url)).toEqual(NOT_SENT);
  await until("another one posts", async () => (await post(url)).kind === "answered");
  expect(ended).toHaveLength(1);
});
