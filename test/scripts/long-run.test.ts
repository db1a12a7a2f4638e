/** Long runs by hand, in a pseudo-terminal: `npm run simulate` and `npm run storm` are run by the same script. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { until } from "../support/until.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const CTRL_C = "\x03";
const BUSY_S = 90;

test("a long run shows a bar; Ctrl-C ends it after its step, and it says how to go on", {
  timeout: 180_000,
}, async () => {
  const { PATH = "", HOME = "" } = process.env;
  const command = [process.execPath, "scripts/simulate.mjs", "--seeds", "5000", "--from", "1001"];
  const child = spawn("python3", ["test/service/terminal.py", ...command], { cwd: ROOT, env: { PATH, HOME } });
  onTestFinished(() => void child.kill("SIGKILL"));
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    text += piece;
  });
  const said = (): string => stripVTControlCharacters(text);
  const ended = once(child, "close");
  await until("some seeds are done", () => /simulating: [1-9]\d* of 5,000 seeds, \d+ a second/.test(said()), BUSY_S);
  child.stdin.write(CTRL_C);
  const [exitCode] = await ended;
  expect(exitCode, said()).toBe(130);
  const [, done = "", from, seeds] =
    /interrupted after (\d+) of 5000 seeds\. Go on with: npm run simulate -- --from (\d+) --seeds (\d+)/.exec(said()) ??
    [];
  expect(Number(done)).toBeGreaterThan(0);
  expect([Number(from), Number(seeds)]).toEqual([1001 + Number(done), 5000 - Number(done)]);
});
