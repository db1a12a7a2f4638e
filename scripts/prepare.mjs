/**
 * Makes a checkout ready to run: installs the dependencies, then compiles src/ to dist/, each only if something changed.
 * Checking takes milliseconds, without npm or the compiler.
 *
 * npm's own record in node_modules tells what is installed, and dist/.built holds a fingerprint of the compiled sources.
 * Both are written last, so a killed attempt is repeated. A lock serializes concurrent processes.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { holdingLock } from "./lock.mjs";

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

const BUILT = join(ROOT, "dist", ".built");
const [OLDEST_MAJOR, OLDEST_MINOR] = [20, 19];
const STOP_SIGNALS = ["SIGINT", "SIGTERM"];

/**
 * Installs and builds if needed. Progress goes to standard error: standard output belongs to the prepared program.
 *
 * @param tools Whether development dependencies are needed (a build always needs them).
 * @param build False leaves dist/ unchanged.
 */
export async function prepare({ tools = false, build = true } = {}) {
  rejectOldNode();
  // A package or image without sources is already built and installed.
  if (!existsSync(join(ROOT, "tsconfig.build.json"))) return rejectUnbuiltPackage();
  const isReady = () => isInstalled({ tools }) && (!build || isBuilt());
  if (isReady()) return;
  await holdingLock(join(ROOT, ".prepare.lock"), async () => {
    if (isReady()) return;
    if (!isInstalled({ tools: true })) await install();
    if (build) await compile();
  });
}

function rejectOldNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major > OLDEST_MAJOR || (major === OLDEST_MAJOR && minor >= OLDEST_MINOR)) return;
  say(`Parbook needs Node ${OLDEST_MAJOR}.${OLDEST_MINOR} or newer, and this is Node ${process.versions.node}.`);
  process.exit(2);
}

/** `npm pack` does not build: `npm run package` does. */
function rejectUnbuiltPackage() {
  if (existsSync(join(ROOT, "dist"))) return;
  say("This package of Parbook has no program in it: make it with npm run package, not npm pack.");
  process.exit(1);
}

/** Whether node_modules matches the lockfile on this platform. */
function isInstalled({ tools }) {
  const recordFile = join(ROOT, "node_modules", ".package-lock.json");
  if (!existsSync(recordFile)) return false;
  const installed = packagesIn(recordFile);
  const wanted = Object.entries(packagesIn(join(ROOT, "package-lock.json")));
  return Object.values(installed).every(fitsThisMachine) && wanted.every(isThereOrNotNeeded);

  // npm may skip optional packages of other platforms; requiring them would reinstall every time.
  function isThereOrNotNeeded([path, entry]) {
    const needed = path !== "" && !entry.optional && !entry.devOptional && (tools || !entry.dev);
    return !needed || (installed[path]?.version === entry.version && installed[path]?.integrity === entry.integrity);
  }
}

/** False for native packages of another platform. */
function fitsThisMachine({ os = [], cpu = [] }) {
  const admits = (list, name) =>
    list.length === 0 || list.includes(name) || (list[0].startsWith("!") && !list.includes(`!${name}`));
  return admits(os, process.platform) && admits(cpu, process.arch);
}

function packagesIn(lockfile) {
  return JSON.parse(readFileSync(lockfile, "utf8")).packages;
}

async function install() {
  say("Installing dependencies (npm ci) ...");
  // On Windows npm is a command file, which needs a shell. The arguments need no quoting.
  await run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--include=dev", "--include=optional"], {
    shell: process.platform === "win32",
  });
}

function isBuilt() {
  return existsSync(BUILT) && readFileSync(BUILT, "utf8") === fingerprint();
}

/** Compiles to a new directory and swaps it in, so that dist/ is always a complete build. */
async function compile() {
  say("Building ...");
  const sources = fingerprint();
  const fresh = join(ROOT, "dist.new");
  const former = join(ROOT, "dist.old");
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh);
  const compiler = join(ROOT, "node_modules", "typescript", "bin", "tsc");
  await run(process.execPath, [compiler, "-p", "tsconfig.build.json", "--outDir", fresh]);
  copyReferencePage(join(fresh, "swagger-ui"));
  writeFileSync(join(fresh, ".built"), sources);
  rmSync(former, { recursive: true, force: true });
  if (existsSync(join(ROOT, "dist"))) renameSync(join(ROOT, "dist"), former);
  renameSync(fresh, join(ROOT, "dist"));
  rmSync(former, { recursive: true, force: true });
}

/** What /docs needs of Swagger UI, and its licence. The package itself depends on one that reports its installations. */
function copyReferencePage(target) {
  const names = ["swagger-ui-bundle.js", "swagger-ui.css", "favicon-32x32.png"];
  const licences = ["LICENSE", "NOTICE", "swagger-ui-bundle.js.LICENSE.txt"];
  for (const name of [...names, ...licences])
    cpSync(join(ROOT, "node_modules", "swagger-ui-dist", name), join(target, name));
}

/** Hashes paths, sizes and modification times of sources, compiler settings and the lockfile. */
function fingerprint() {
  const hash = createHash("sha256");
  const settings = readdirSync(ROOT).filter((name) => /^tsconfig.*\.json$|^package-lock\.json$/.test(name));
  for (const path of [...settings.sort(), ...sourcesBelow("src")]) {
    const { size, mtimeMs } = statSync(join(ROOT, path));
    hash.update(`${path}\0${size}\0${mtimeMs}\n`);
  }
  return hash.digest("hex");
}

/** All files of the build, without tests. */
function sourcesBelow(folder) {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return sourcesBelow(path);
      return entry.name.endsWith(".test.ts") ? [] : [path];
    });
}

/** Runs a command silently. If it fails, prints its output and exits. */
async function run(command, args, options = {}) {
  const output = [];
  const child = spawn(command, args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"], ...options });
  child.stdout.on("data", (chunk) => output.push(chunk));
  child.stderr.on("data", (chunk) => output.push(chunk));
  // Whoever stops this process stops the command too: left alone, it would go on writing after the lock is free.
  const stop = (signal) => child.kill(signal);
  for (const signal of STOP_SIGNALS) process.on(signal, stop);
  const code = await new Promise((resolve, reject) => child.once("error", reject).once("close", resolve));
  for (const signal of STOP_SIGNALS) process.removeListener(signal, stop);
  if (code === 0) return;
  process.stderr.write(Buffer.concat(output));
  say(`Failed: ${[command, ...args].join(" ")}`);
  process.exit(1);
}

function say(line) {
  process.stderr.write(`${line}\n`);
}
