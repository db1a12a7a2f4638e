import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findPackage, prepareBinaries } from "./binaries.ts";
import { EmbeddedError } from "./embedded-error.ts";

const NOBODY = { uid: 65534, gid: 65534 };
const asRoot = test.skipIf(process.getuid?.() !== 0);

function freshDirectory(mode: number): string {
  const directory = mkdtempSync(join(tmpdir(), "parbook-binaries-"));
  chmodSync(directory, mode);
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** The package as npm unpacks it, without links, where only root can enter; and without what these tests need not copy. */
function privatePackage(): string {
  const folder = join(freshDirectory(0o700), "package");
  const left = /\.a$|\/lib\/postgresql|\/share\/.*(extension|tsearch_data|timezone$)/;
  cpSync(findPackage(), folder, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => !left.test(path) && !lstatSync(path).isSymbolicLink(),
  });
  return folder;
}

test("a platform without binaries is pointed to an external database", () => {
  for (const [platform, arch] of [
    ["win32", "x64"],
    ["linux", "mips"],
  ] as const) {
    expect(() => findPackage(platform, arch)).toThrow(EmbeddedError);
    expect(() => findPackage(platform, arch)).toThrow("PARBOOK_DATABASE_URL");
  }
});

test("programs that run in place are used in place", async () => {
  const folder = privatePackage();
  const binaries = await prepareBinaries(folder, undefined, []);
  expect(binaries).toEqual({
    initdb: join(folder, "native/bin/initdb"),
    postgres: join(folder, "native/bin/postgres"),
    major: 18,
  });
});

test("a program that cannot run anywhere gives a one-line error", async () => {
  const folder = privatePackage();
  rmSync(join(folder, "native/bin/postgres"));
  const attempt = prepareBinaries(folder, undefined, [freshDirectory(0o755)]);
  await expect(attempt).rejects.toThrow(/^the embedded PostgreSQL cannot run on this machine .*ENOENT.*DATABASE_URL/);
});

asRoot("where the user cannot enter, starts at once agree on one copy, and later ones find it", async () => {
  const folder = privatePackage();
  const place = freshDirectory(0o755);
  const starts = await Promise.all([1, 2, 3].map(() => prepareBinaries(folder, NOBODY, [place])));
  expect(new Set(starts.map(({ postgres }) => postgres)).size).toBe(1);
  const [copy] = readdirSync(place);
  expect(readdirSync(place)).toHaveLength(1);
  expect(starts[0]?.postgres).toBe(join(place, String(copy), "bin/postgres"));
  expect(lstatSync(join(place, String(copy)))).toMatchObject({ uid: 0 });

  const made = lstatSync(join(place, String(copy))).ino;
  await prepareBinaries(folder, NOBODY, [place]);
  expect(lstatSync(join(place, String(copy))).ino).toBe(made);
});

asRoot("a copy out of which something was swept is made again", async () => {
  const folder = privatePackage();
  const place = freshDirectory(0o755);
  const { postgres } = await prepareBinaries(folder, NOBODY, [place]);
  const swept = join(postgres, "../../share/postgresql/timezonesets/Default");
  rmSync(swept);
  await prepareBinaries(folder, NOBODY, [place]);
  expect(existsSync(swept)).toBe(true);
  expect(readdirSync(place)).toHaveLength(1);
});

asRoot("a copy that another user could have planted is not run", async () => {
  const folder = privatePackage();
  const place = freshDirectory(0o755);
  const { postgres } = await prepareBinaries(folder, NOBODY, [place]);
  const copy = join(postgres, "../..");
  for (const plant of [() => chownSync(copy, 1234, 1234), () => chmodSync(copy, 0o777)]) {
    const planted = lstatSync(copy).ino;
    plant();
    expect((await prepareBinaries(folder, NOBODY, [place])).postgres).toBe(postgres);
    expect(lstatSync(copy).ino).not.toBe(planted);
    expect(lstatSync(copy).uid).toBe(0);
  }
});

asRoot("where others have a copy each user makes its own, and one that it cannot replace stops nobody", async () => {
  const folder = privatePackage();
  for (const directory of [folder, join(folder, ".."), join(folder, "native")]) chmodSync(directory, 0o755);
  // The real one finds no libraries in a process that is root beside the user.
  writeFileSync(join(folder, "native/bin/postgres"), "#!/bin/sh\necho 'postgres (PostgreSQL) 18.4'\n");
  const shared = freshDirectory(0o1777);
  const another = freshDirectory(0o1777);
  const [one, other] = [await preparedBy(1_234, folder, [shared]), await preparedBy(1_235, folder, [shared])];
  expect(new Set([one, other]).size).toBe(2);
  expect(readdirSync(shared)).toHaveLength(2);
  chownSync(join(other, "../.."), 1_234, 1_234);
  expect((await preparedBy(1_235, folder, [shared, another])).startsWith(another)).toBe(true);
  expect([readdirSync(shared).length, readdirSync(another).length]).toEqual([2, 1]);
});

/** The program that a user runs who may not write to the package. */
async function preparedBy(uid: number, folder: string, places: readonly string[]): Promise<string> {
  process.seteuid?.(uid);
  try {
    return (await prepareBinaries(folder, undefined, places)).postgres;
  } finally {
    process.seteuid?.(0);
  }
}

asRoot("a place that takes no copy is passed over", async () => {
  const folder = privatePackage();
  const closed = join(freshDirectory(0o700), "closed");
  mkdirSync(closed);
  const open = freshDirectory(0o755);
  const { postgres } = await prepareBinaries(folder, NOBODY, ["/does/not/exist", closed, open]);
  expect(postgres.startsWith(open)).toBe(true);
  expect(readdirSync(closed)).toEqual([]);
});

asRoot("what was installed with a strict umask is opened in the copy", async () => {
  const folder = privatePackage();
  for (const file of ["bin/postgres", "lib/libicuuc.so.60.2"]) chmodSync(join(folder, "native", file), 0o700);
  chmodSync(join(folder, "native/lib"), 0o700);
  expect((await prepareBinaries(folder, NOBODY, [freshDirectory(0o755)])).major).toBe(18);
});
