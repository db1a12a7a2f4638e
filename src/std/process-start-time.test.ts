import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { must } from "./assert.ts";
import { processStart } from "./process-start-time.ts";

test("a process is distinguished from any other that has or had its id", async () => {
  const child = spawn("sleep", ["60"]);
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child, "spawn");
  const pid = must(child.pid, "it was spawned");
  const [own, other] = [await processStart(process.pid), await processStart(pid)];
  expect(own).toBe(await processStart(process.pid));
  expect(other).toMatch(/\S/);
  expect(other).not.toBe(own);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(await processStart(pid)).toBeUndefined();
});
