import { execFile } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

/** Tells of every module that is loaded. */
const LOADER = `
import { writeSync } from "node:fs";
export function load(url, context, next) {
  writeSync(2, url + "\\n");
  return next(url, context);
}`;
const dataUrl = (text: string): string => `data:text/javascript,${encodeURIComponent(text)}`;
const REGISTER = dataUrl(`import { register } from "node:module"; register(${JSON.stringify(dataUrl(LOADER))});`);

test("a command does not wait for what only servers need", async () => {
  const program = pathToFileURL(join(import.meta.dirname, "../../dist/cli/parbook.js"));
  const build = `const { buildProgram } = await import("${program}"); console.log(buildProgram().commands.length);`;
  const args = ["--import", REGISTER, "--input-type=module", "--eval", build];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
  expect(Number(stdout)).toBeGreaterThan(20);
  const loaded = stderr.split("\n").filter((url) => url.includes("/node_modules/"));
  expect(loaded.some((url) => url.includes("/commander/"))).toBe(true);
  expect(loaded.filter((url) => /node_modules\/(?:fastify|@fastify|ws|prom-client|typebox|ajv)\//.test(url))).toEqual(
    [],
  );
});
