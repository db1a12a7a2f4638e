import { expect, test } from "vitest";
import { done } from "../../std/result.ts";
import { readForm } from "./form.ts";
import { rejectToken } from "./token-error.ts";

const read = (name: string, value: string) =>
  readForm("application/x-www-form-urlencoded", Buffer.from(new URLSearchParams({ [name]: value }).toString()));

test.each([
  ["grant_type", 100],
  ["client_id", 100],
  ["client_secret", 256],
  ["scope", 2_000],
])("%s has at most %d characters", async (name, most) => {
  expect(await read(name, "x".repeat(most))).toEqual(done(new Map([[name, "x".repeat(most)]])));
  const tooLong = rejectToken("invalid_request", `${name} is longer than ${most} characters`);
  expect(await read(name, "x".repeat(most + 1))).toEqual(tooLong);
});

const IN_PARTS = "multipart/form-data; boundary=b";
const ROUNDS = 40;

const formOf = (parts: number): Buffer => Buffer.from(`${"--b\r\n\r\n\r\n".repeat(parts)}--b--\r\n`);

/** The median of the microseconds that reading it takes, warm. */
async function costOf(body: Buffer): Promise<number> {
  const costs: number[] = [];
  for (let i = 0; i < 2 * ROUNDS; i += 1) {
    const before = process.cpuUsage();
    await readForm(IN_PARTS, body);
    const { user, system } = process.cpuUsage(before);
    if (i >= ROUNDS) costs.push(user + system);
  }
  return costs.sort((a, b) => a - b)[ROUNDS / 2] as number;
}

const tooMuch = rejectToken("invalid_request", "the form has too many or too long fields");

test("a form of 1,600 empty parts costs less than one of 20 parts", async () => {
  expect(await readForm(IN_PARTS, formOf(1_600))).toEqual(tooMuch);
  expect(await costOf(formOf(1_600))).toBeLessThan(await costOf(formOf(20)));
});

test("a form has 20 parts at most", async () => {
  const named = (_part: unknown, i: number) => `--b\r\nContent-Disposition: form-data; name="a${i}"\r\n\r\n${i}\r\n`;
  const fields = (count: number) => Buffer.from(`\r\n${Array.from({ length: count }, named).join("")}--b--\r\n`);
  const read = await readForm(IN_PARTS, fields(20));
  expect(read).toEqual({ kind: "done", value: new Map(Array.from({ length: 20 }, (_, i) => [`a${i}`, `${i}`])) });
  expect(await readForm(IN_PARTS, fields(21))).toEqual(tooMuch);
});

test("a name has 100 characters at most", async () => {
  expect(await read("x".repeat(100), "1")).toEqual(done(new Map([["x".repeat(100), "1"]])));
  expect(await read("x".repeat(101), "1")).toEqual(tooMuch);
});

test("parts without a name are no parameters", async () => {
  const part = "--b\r\nContent-Disposition: form-data\r\n\r\n1\r\n";
  expect(await readForm(IN_PARTS, Buffer.from(`${part}${part}--b--\r\n`))).toEqual(done(new Map()));
});
