import { expect, onTestFinished, test, vi } from "vitest";
import { createLogger, printableFields, printableLine, shownError } from "./logger.ts";

test("a line has time, level and fields, without secrets, and what is below the level is not written", () => {
  const lines: string[] = [];
  const write = vi.spyOn(process.stderr, "write").mockImplementation((line) => lines.push(String(line)) > 0);
  onTestFinished(() => write.mockRestore());
  const log = createLogger({ logLevel: "warn" }, 2);
  log.info("not written");
  const secret = "hunter2";
  const secrets = { authorization: secret, client_secret: secret, secret, access_token: secret, password: secret };
  log.warn({ sent: { ...secrets, private_jwk: secret, scope: "*" } }, "a request");
  const error = Object.assign(new Error("away"), { client: { password: secret } });
  log.error({ error, err: error }, "it failed\u001b[2J");
  expect(lines.map((line) => line.endsWith("\n"))).toEqual([true, true]);
  const shown = { type: "Error", message: "away", stack: error.stack };
  const common = { time: expect.stringMatching(/^20\d\d-.*\.\d{3}Z$/), pid: process.pid, hostname: expect.any(String) };
  const redacted = Object.fromEntries([...Object.keys(secrets), "private_jwk"].map((name) => [name, "[redacted]"]));
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { ...common, level: 40, sent: { ...redacted, scope: "*" }, msg: "a request" },
    { ...common, level: 50, error: shown, err: shown, msg: "it failed\u001b[2J" },
  ]);
  for (const hidden of ["hunter2", "\u001b"]) expect(lines.join("")).not.toContain(hidden);
});

test("an error with an attached connection is logged without secrets", () => {
  const cause = Object.assign(new Error("terminating connection"), {
    code: "57P01",
    constraint: "claim_pkey",
    detail: "Key (ref_id)=(abc) already exists.",
    client: { secretKey: 42, password: "hidden" },
  });
  const shown = JSON.stringify(shownError(new Error("the database cannot be reached", { cause })));
  expect(JSON.parse(shown)).toEqual({
    type: "Error",
    message: "the database cannot be reached",
    stack: expect.stringContaining("the database cannot be reached"),
    cause: {
      ...{ type: "Error", message: "terminating connection", stack: cause.stack },
      ...{ code: "57P01", constraint: "claim_pkey" },
    },
  });
});

test("a thrown non-error is logged by its type only", () => {
  expect(shownError({ secret: "hidden" })).toBe("object");
});

test("an aggregate error is logged with each of its errors", () => {
  expect(shownError(new AggregateError([new Error("one"), "two"], "both"))).toMatchObject({
    message: "both",
    errors: [{ message: "one" }, "string"],
  });
});

test("a log on a terminal has no control characters except line breaks in stacks", () => {
  const error = { message: "no\u001b[2J\nname", stack: "Error: no\u009b\n    at here" };
  const line = printableFields(`${JSON.stringify({ level: 30, msg: "a\nb\u202e", error })}\n`);
  expect(JSON.parse(line)).toEqual({
    level: 30,
    msg: "a\\nb\\u202e",
    error: { message: "no\\u001b[2J\\nname", stack: "Error: no\\u009b\n    at here" },
  });
});

test("JSON log lines escape control characters and keep their values", () => {
  const fields = { level: 30, name: "a\u009b\u202e\n", msg: "b\u007f\u2028" };
  const line = printableLine(`${JSON.stringify(fields)}\n`);
  expect(line).toMatch(/^[ -~]+\n$/);
  expect(JSON.parse(line)).toEqual(fields);
});
