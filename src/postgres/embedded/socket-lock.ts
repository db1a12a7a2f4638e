/**
 * Locks a data directory for one living process.
 *
 * The lock is a Unix socket that the holder listens on. The kernel closes it with the process, and others test it by
 * connecting. A dead holder leaves a socket file that rejects connections.
 *
 * Replacing such a file is not atomic: two starts could each remove the other's. So holders are numbered. A process that
 * finds the highest number dead claims the next one by link(2), which only one can win. The highest file is never removed,
 * not even on release, so numbers only rise, and a slow claimant that finds a higher number afterwards gives up.
 *
 * Unlike a process id, this works between containers that share the directory.
 */
import { randomBytes } from "node:crypto";
import { link, readdir, rm } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { assert } from "../../std/assert.ts";

interface SocketLock {
  release(): void;
}

/** What a process holds the directory for: a `command` ends by itself. */
export type Purpose = "service" | "command";

/** Another process holds the lock: the process id it reports, or "unknown" if it does not respond. */
export interface Holder {
  readonly heldBy: string;
  readonly purpose: Purpose;
}

const MAX_CLAIMS = 100;
const PROBE_TIMEOUT_MS = 1_000;

/** @param directory Short enough for socket addresses, see `short-path.ts`. */
export async function takeSocketLock(directory: string, purpose: Purpose): Promise<SocketLock | Holder> {
  const said = purpose === "command" ? `${process.pid} ${purpose}` : `${process.pid}`;
  const server = createServer((client) => client.on("error", () => {}).end(said));
  const newcomer = join(directory, `newcomer.${randomBytes(6).toString("hex")}`);
  // Listen before the claim: a number without a listener would be considered dead.
  await listen(server, newcomer);
  const holder = await claim(directory, newcomer).finally(() => rm(newcomer, { force: true }));
  if (holder === undefined) return { release: () => server.close() };
  server.close();
  return holder;
}

/** @returns Undefined if claimed, otherwise the current holder. */
async function claim(directory: string, newcomer: string): Promise<Holder | undefined> {
  for (let tries = 0; tries < MAX_CLAIMS; tries += 1) {
    const highest = await highestNumber(directory);
    const holder = await askHolder(directory, highest);
    if (holder !== undefined) return holder;

    const own = highest + 1;
    if (!(await linkFirst(newcomer, holderPath(directory, own)))) continue;
    const numbers = await listNumbers(directory);
    if (numbers.every((number) => number <= own)) {
      await removeHolders(directory, (number) => number < own, numbers);
      return undefined;
    }
    await removeHolders(directory, (number) => number === own, numbers);
  }
  assert(false, "a data directory is claimed by a few starts at once, not by hundreds");
}

/** @returns Undefined if no living process holds the directory. */
export async function findHolder(directory: string): Promise<Holder | undefined> {
  return askHolder(directory, await highestNumber(directory));
}

async function askHolder(directory: string, number: number): Promise<Holder | undefined> {
  const said = await probe(holderPath(directory, number));
  if (said === undefined) return undefined;
  const [heldBy = said, purpose] = said.split(" ");
  return { heldBy, purpose: purpose === "command" ? purpose : "service" };
}

const highestNumber = async (directory: string): Promise<number> => Math.max(0, ...(await listNumbers(directory)));

const holderPath = (directory: string, number: number): string => join(directory, `holder.${number}`);
const HOLDER = /^holder\.([0-9]+)$/;

async function listNumbers(directory: string): Promise<number[]> {
  const names = await readdir(directory);
  return names.flatMap((name) => HOLDER.exec(name)?.[1] ?? []).map(Number);
}

async function removeHolders(directory: string, which: (number: number) => boolean, numbers: readonly number[]) {
  await Promise.all(numbers.filter(which).map((number) => rm(holderPath(directory, number), { force: true })));
}

/** @returns False if the link already exists. */
async function linkFirst(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** @returns What the listener sends, "unknown" if nothing; undefined only if certainly nobody listens. */
export function probe(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let said = "";
    const done = (answer: string | undefined) => {
      socket.destroy();
      resolve(answer);
    };
    const socket = connect(path);
    socket.setEncoding("utf8").setTimeout(PROBE_TIMEOUT_MS);
    socket.on("data", (text: string) => {
      said += text;
    });
    socket.on("timeout", () => done("unknown"));
    socket.on("end", () => done(said === "" ? "unknown" : said));
    socket.on("error", (error: NodeJS.ErrnoException) => {
      const dead = error.code === "ECONNREFUSED" || error.code === "ENOENT";
      done(dead ? undefined : "unknown");
    });
  });
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    // Access is controlled by the permissions of the directory.
    server.listen({ path, readableAll: true, writableAll: true }, () => {
      server.off("error", reject);
      // The lock must not keep the process alive.
      server.unref();
      resolve();
    });
  });
}
