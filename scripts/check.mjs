/**
 * `npm run check`: all static checks. Every check runs, even after failures; the output of failed ones is shown, followed
 * by a summary.
 */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { prepare, ROOT } from "./prepare.mjs";

const CHECKS = [
  { name: "format", command: ["biome", "format", "."] },
  { name: "lint", command: ["biome", "lint", "--error-on-warnings", "."] },
  { name: "types", command: ["tsc", "--noEmit", "-p", "."] },
  { name: "import table", command: ["depcruise", "--config", ".dependency-cruiser.mjs", "src", "test"], also: sawAll },
  { name: "dead code", command: ["knip", "--no-progress"] },
  { name: "supply chain", command: ["node", "scripts/supply-chain.mjs"] },
  {
    name: "supply chain of the client generators",
    command: ["node", "scripts/supply-chain.mjs", "test/openapi/clients"],
  },
  {
    name: "supply chain of the other versions of Node",
    command: ["node", "scripts/supply-chain.mjs", "test/other-nodes"],
  },
];

await prepare({ tools: true, build: false });
const results = CHECKS.map(run);
const failed = results.filter((result) => !result.passed).length;
console.log(
  results.map(({ name, passed, seconds }) => `${passed ? "ok    " : "FAILED"}  ${name} (${seconds} s)`).join("\n"),
);
console.log(`${results.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

function run({ name, command: [tool, ...args], also }) {
  const started = performance.now();
  const program = tool === "node" ? tool : join(ROOT, "node_modules", ".bin", tool);
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    shell: process.platform === "win32",
  });
  const objection = status === 0 ? also?.(stdout) : `${stdout}${stderr}`;
  if (objection !== undefined) console.log(`--- ${name}: ${[tool, ...args].join(" ")}\n${objection}`);
  return { name, passed: objection === undefined, seconds: ((performance.now() - started) / 1000).toFixed(1) };
}

/**
 * dependency-cruiser succeeds even if it cannot parse the sources, as with an unsupported TypeScript version. So check that it
 * saw at least as many modules as src/ has files.
 */
function sawAll(report) {
  const seen = Number(/\((\d+) modules/.exec(report)?.[1] ?? 0);
  const files = readdirSync(join(ROOT, "src"), { recursive: true }).filter((name) => name.endsWith(".ts")).length;
  return seen >= files ? undefined : `Only ${seen} modules were checked, but src/ has ${files} files.`;
}
