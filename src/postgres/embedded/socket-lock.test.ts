import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { takeSocketLock } from "./socket-lock.ts";

function freshDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "parbook-lock-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

const isHeld = (answer: object): boolean => "release" in answer;

async function take(directory: string) {
  const answer = await takeSocketLock(directory, "service");
  if (!("release" in answer)) throw new Error(`held by ${answer.heldBy}`);
  onTestFinished(() => answer.release());
  return answer;
}

test("a second process learns which process holds the directory", async () => {
  const directory = freshDirectory();
  await take(directory);
  expect(await takeSocketLock(directory, "service")).toEqual({ heldBy: String(process.pid), purpose: "service" });
});

test("a released lock can be retaken, and only the last file remains", async () => {
  const directory = freshDirectory();
  for (let round = 0; round < 3; round += 1) (await take(directory)).release();
  expect(readdirSync(directory)).toEqual(["holder.3"]);
});

test("of many concurrent attempts exactly one takes the lock, despite stale files", async () => {
  const directory = freshDirectory();
  for (let round = 0; round < 20; round += 1) {
    const answers = await Promise.all(Array.from({ length: 12 }, () => takeSocketLock(directory, "service")));
    expect(answers.filter(isHeld)).toHaveLength(1);
    for (const answer of answers) if ("release" in answer) answer.release();
  }
});

test("a killed process holds no lock", async () => {
  const directory = freshDirectory();
  const listen = `require("node:net").createServer().listen(${JSON.stringify(join(directory, "holder.7"))}, () => console.log())`;
  const holder = spawn(process.execPath, ["-e", listen]);
  await once(holder.stdout, "data");
  expect(await takeSocketLock(directory, "service")).toHaveProperty("heldBy");
  holder.kill("SIGKILL");
  await once(holder, "close");
  await take(directory);
  expect(readdirSync(directory)).toEqual(["holder.8"]);
});

test("a suspended holder keeps its lock", async () => {
  const directory = freshDirectory();
  const path = JSON.stringify(join(directory, "holder.1"));
  const busy = `require("node:net").createServer().listen(${path}, () => { console.log(); })`;
  const holder = spawn(process.execPath, ["-e", busy]);
  onTestFinished(() => void holder.kill("SIGKILL"));
  await once(holder.stdout, "data");
  holder.kill("SIGSTOP");
  expect(await takeSocketLock(directory, "service")).toEqual({ heldBy: "unknown", purpose: "service" });
});

test("other files are ignored", async () => {
  const directory = freshDirectory();
  writeFileSync(join(directory, "holder.txt"), "");
  await take(directory);
  expect(readdirSync(directory).sort()).toEqual(["holder.1", "holder.txt"]);
});
