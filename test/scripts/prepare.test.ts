/** A checkout is built when something of it has changed, in a small one of its own with the compiler of this one. */
import { execFileSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
let checkout: string;
beforeAll(async () => {
  checkout = await mkdtemp(join(tmpdir(), "parbook-checkout-"));
  await mkdir(join(checkout, "src", "folder"), { recursive: true });
  for (const file of ["scripts/prepare.mjs", "scripts/lock.mjs", "package-lock.json"])
    await cp(join(ROOT, file), join(checkout, file), { recursive: true });
  await symlink(join(ROOT, "node_modules"), join(checkout, "node_modules"));
  await writeFile(
    join(checkout, "tsconfig.build.json"),
    JSON.stringify({
      compilerOptions: {
        rootDir: "src",
        module: "nodenext",
        target: "es2022",
        lib: ["es5"],
        skipLibCheck: true,
        types: [],
      },
      include: ["src"],
    }),
  );
  await writeFile(join(checkout, "package.json"), `{"type":"module"}`);
  await writeFile(source(), "export const value = 1;\n");
  await writeFile(join(checkout, "src", "some.test.ts"), "");
});
afterAll(() => rm(checkout, { recursive: true }));

const source = () => join(checkout, "src", "folder", "value.ts");

/** What it says; nothing if there is nothing to do. */
function prepare(): string {
  const code = `import("./scripts/prepare.mjs").then(({ prepare }) => prepare())`;
  return `${execFileSync("sh", ["-c", '"$0" -e "$1" 2>&1', process.execPath, code], { cwd: checkout })}`;
}
const built = () => readFile(join(checkout, "dist", "folder", "value.js"), "utf8");

test("it is built once, and again when a source has another text, even of the same length", async () => {
  expect(prepare()).toBe("Building ...\n");
  expect(await built()).toBe("export const value = 1;\n");
  expect(prepare()).toBe("");
  await writeFile(source(), "export const value = 2;\n");
  expect(prepare()).toBe("Building ...\n");
  expect(await built()).toBe("export const value = 2;\n");
});

test("also when a source is new or gone, or the settings or the lockfile have changed, but not for a test", async () => {
  const other = join(checkout, "src", "other.ts");
  await writeFile(other, "export const other = 1;\n");
  expect(prepare()).toBe("Building ...\n");
  await rm(other);
  expect(prepare()).toBe("Building ...\n");
  for (const file of ["tsconfig.build.json", "package-lock.json"]) {
    const path = join(checkout, file);
    const { mtimeMs } = await stat(path);
    await utimes(path, new Date(), new Date(mtimeMs + 5_000));
    expect([file, prepare()]).toEqual([file, "Building ...\n"]);
  }
  await writeFile(join(checkout, "src", "some.test.ts"), "void 0;\n");
  expect(prepare()).toBe("");
});
