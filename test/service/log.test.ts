/** A log whose reader is gone, comes back, or does not read: each in a process that writes a log and does no more. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { must } from "../../src/std/assert.ts";

const WRITER = fileURLToPath(new URL("log-writer.mjs", import.meta.url));
const LINES = 300;
const place = mkdtempSync(join(tmpdir(), "parbook-log-"));
const report = join(place, "dropped");
const back = join(place, "back");
afterAll(() => rmSync(place, { recursive: true, force: true }));

interface Written {
  readonly lines: number;
  readonly dropped: number;
}

const written = (): Written => JSON.parse(readFileSync(report, "utf8"));

/** The numbers of the lines that a reader of `<command> <named pipe>` gets, and what the writer says of them. */
async function readThrough(command: string, ...args: unknown[]): Promise<Written & { readonly read: number[] }> {
  const pipe = join(place, "pipe");
  rmSync(report, { force: true });
  execFileSync("mkfifo", [pipe]);
  const reader = spawn("sh", ["-c", command.replaceAll("PIPE", pipe)], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  reader.stdout.setEncoding("utf8").on("data", (piece: string) => {
    text += piece;
  });
  const writer = spawn("sh", ["-c", `exec "$@" >${pipe}`, "sh", ...argumentsOf(1, ...args)], { stdio: "inherit" });
  const [[code]] = await Promise.all([once(writer, "exit"), once(reader, "close")]);
  rmSync(pipe);
  expect(code).toBe(0);
  const read = text.split("\n").flatMap((line) => /"i":([0-9]+)/.exec(line)?.[1] ?? []);
  return { read: read.map(Number), ...written() };
}

const argumentsOf = (output: 1 | 2, ...args: unknown[]): string[] =>
  [process.execPath, WRITER, output, report, LINES, ...args].map(String);

test.each([1, 2] as const)("log lines on output %i without a reader are counted, and stop nothing", async (output) => {
  const [program, ...args] = argumentsOf(output, 1);
  const child = spawn(must(program, "Node"), args, { stdio: ["ignore", "pipe", "pipe"] });
  child.stdio[output]?.destroy();
  expect(await once(child, "exit")).toEqual([0, null]);
  expect(written()).toEqual({ lines: LINES, dropped: LINES });
});

test("when the reader returns, so do the lines", async () => {
  const returns = `until [ -e ${report} ]; do sleep 0.1; done; exec 3<PIPE; touch ${back}; cat <&3`;
  const { read, lines, dropped } = await readThrough(`head -n 5 PIPE; ${returns}`, 1, back);
  expect(read.slice(0, 5)).toEqual([0, 1, 2, 3, 4]);
  expect(read.slice(-LINES)).toEqual(Array.from({ length: LINES }, (_, i) => lines - LINES + i));
  // What the pipe still held when its reader went is lost without anybody's knowing.
  expect(dropped).toBeGreaterThan(0);
  expect(read.length + dropped).toBeLessThanOrEqual(lines);
});

test("a stalled log reader delays nothing: beyond 1 MiB lines are dropped, and the buffer is delivered once it reads", async () => {
  const { read, dropped } = await readThrough(
    `exec 3<PIPE; until [ -s ${report} ]; do sleep 0.1; done; cat <&3`,
    10_000,
  );
  expect(dropped).toBeGreaterThan(0);
  expect(read.length + dropped).toBe(LINES);
  expect(read).toEqual(read.map((_, i) => i));
});
