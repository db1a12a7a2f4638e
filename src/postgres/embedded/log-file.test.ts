import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { until } from "../../../test/support/until.ts";
import { readTail, rotate, sizeOf, startRotation, writingTo } from "./log-file.ts";

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

test("a log is looked at again and again until that is ended, and what was rotated is its owner's alone", async () => {
  const path = freshPath();
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const end = startRotation(path, 100, 60_000);
  for (const text of ["a", "b"]) {
    writeFileSync(path, text.repeat(101), { mode: 0o600 });
    vi.advanceTimersByTime(60_000);
    await until("it is rotated", async () => (await sizeOf(path)) === 0);
    expect(readFileSync(`${path}.1`, "utf8")).toBe(text.repeat(101));
  }
  expect(statSync(`${path}.1`).mode & 0o777).toBe(0o600);
  end();
  expect(vi.getTimerCount()).toBe(0);
});

test("a small log is kept, and a missing one counts as empty", async () => {
  const path = freshPath();
  await rotate(path, 100);
  expect(await sizeOf(path)).toBe(0);
  writeFileSync(path, "x".repeat(100));
  await rotate(path, 100);
  expect(await sizeOf(path)).toBe(100);
  expect(existsSync(`${path}.1`)).toBe(false);
});

test("the tail is at most the last four new lines, as one line", async () => {
  const path = freshPath();
  writeFileSync(path, "old\n");
  const from = await sizeOf(path);
  writeFileSync(path, "old\n1\n2\n");
  expect(await readTail(path, from)).toBe("1 / 2");
  writeFileSync(path, "old\n1\n2\n\n3\n4\n5\n");
  expect(await readTail(path, from)).toBe("2 / 3 / 4 / 5");
  writeFileSync(path, `old\n${"long ago\n".repeat(2_000)}6\n7\n8\n9\n`);
  expect(await readTail(path, from)).toBe("6 / 7 / 8 / 9");
});
