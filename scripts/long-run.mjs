/**
 * Runs a test of many steps and shows how far it is. The test is a process group of its own, which Ctrl-C does not reach: a file
 * asks it to end after its step (`test/support/long-run.ts`). A second Ctrl-C, or another signal, ends it at once.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { prepare, ROOT } from "./prepare.mjs";

const LOOK_EVERY_MS = 200;
const ERASE_BAR = "\r\u001b[K";

/**
 * @param unit Of the steps, such as "rounds".
 * @param goOn The command that does what is left, given how many steps were done.
 */
export async function runLong({ what, unit, total, args, goOn }) {
  await prepare({ tools: true });
  const { Progress } = await import("../dist/cli/progress.js");
  const { DUPLICATE_SIGNAL_MS } = await import("../dist/cli/interruption.js");
  const place = mkdtempSync(join(tmpdir(), "parbook-long-run-"));
  const child = spawn(process.execPath, [join(ROOT, "node_modules/vitest/vitest.mjs"), "run", ...args], {
    cwd: ROOT,
    detached: true,
    env: { ...process.env, LONG_RUN: place },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "close");
  const progress = new Progress({ what, unit, total });
  for (const name of ["stdout", "stderr"]) {
    child[name].on("data", (text) => {
      if (process.stderr.isTTY) process.stderr.write(ERASE_BAR);
      process[name].write(text);
    });
  }
  let done = 0;
  const looking = setInterval(() => {
    const now = statSync(join(place, "done"), { throwIfNoEntry: false })?.size ?? 0;
    if (now > done) progress.add(now - done);
    done = now;
  }, LOOK_EVERY_MS);

  let askedAt;
  const end = () => process.kill(-child.pid, "SIGTERM");
  process.on("SIGINT", () => {
    if (askedAt === undefined) {
      askedAt = performance.now();
      writeFileSync(join(place, "stop"), "");
      process.stderr.write("\nending after this step; Ctrl-C again ends at once\n");
    } else if (performance.now() - askedAt >= DUPLICATE_SIGNAL_MS) end();
  });
  process.on("SIGTERM", end).on("SIGHUP", end);

  const [exitCode] = await ended;
  clearInterval(looking);
  done = statSync(join(place, "done"), { throwIfNoEntry: false })?.size ?? 0;
  progress.end();
  rmSync(place, { recursive: true, force: true });
  process.exitCode = exitCode ?? 1;
  if (askedAt === undefined || exitCode !== 0) return;
  process.stderr.write(`interrupted after ${done} of ${total} ${unit}. Go on with: ${goOn(done)}\n`);
  process.exitCode = 130;
}
