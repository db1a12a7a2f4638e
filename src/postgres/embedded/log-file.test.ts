import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readTail, rotate, sizeOf, writingTo } from "./log-file.ts";

function freshPath(): string {
  const directory = mkdtempSync(join(tmpdir(), "parbook-log-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return join(directory, "postgres.log");
}

test("an oversized log is rotated, and its writer continues in the emptied file", async () => {
  const path = freshPath();
  const server = writingTo(path, (log) =>
    spawn("sh", ["-c", 'printf "%s" "$1"; read line; printf "%s" "$line"', "sh", "x".repeat(101)], {
      stdio: ["pipe", log, log],
    }),
  );
  await expect.poll(() => sizeOf(path), { timeout: 20_000 }).toBe(101);
  await rotate(path, 100);
  expect(await sizeOf(path)).toBe(0);
  server.stdin?.end("new\n");
  await once(server, "close");
  expect(readFileSync(path, "utf8")).toBe("new");
  expect(readFileSync(`${path}.1`, "utf8")).toBe("x".repeat(101));
});

test("a small log is kept, and a missing one counts as empty", async () => {
  const path = freshPath();
  await rotate(path, 100);
  expect(await sizeOf(path)).toBe(0);
  writeFileSync(path, "x".repeat(100));
  await rotate(path, 100);
  expect(await sizeOf(path)).toBe(100);
});

test("the tail is at most the last four new lines, as one line", async () => {
  const path = freshPath();
  writeFileSync(path, "old\n");
  const from = await sizeOf(path);
  writeFileSync(path, "old\n1\n2\n");
  expect(await readTail(path, from)).toBe("1 / 2");
  writeFileSync(path, "old\n1\n2\n\n3\n4\n5\n");
  expect(await readTail(path, from)).toBe("2 / 3 / 4 / 5");
});
