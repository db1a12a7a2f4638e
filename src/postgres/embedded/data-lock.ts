/**
 * Lets one living process at a time use a data directory.
 *
 * The lock is a unix socket that its holder listens on: the kernel closes it with the process, whatever ends that,
 * and anybody can find out by knocking. What a dead holder leaves is a file that nobody answers behind.
 *
 * Removing such a file and making a new one cannot be one step, so two starts might each remove the other's. Instead
 * every holder has a number: who finds that the highest one is dead claims the next, and whether it was the first to
 * do so is decided by link(2). The highest file is never removed, not even on release, so numbers only rise, and
 * a start that looked long ago sees after its claim that a higher number exists, and gives way.
 *
 * Unlike a process id this also tells two containers apart that share the directory.
 */
import { randomBytes } from "node:crypto";
import { link, readdir, rm } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { assert } from "../../std/assert.ts";

interface DataLock {
  release(): void;
}

/** Somebody lives. The process id is what it says itself, "unknown" when it does not answer in time. */
interface Holder {
  readonly heldBy: string;
}

const MAX_CLAIMS = 100;
const ANSWER_LIMIT_MS = 1_000;

/** `directory` has to be short enough for socket addresses, see `short-path.ts`. */
export async function takeDataLock(directory: string): Promise<DataLock | Holder> {
  const server = createServer((visitor) => visitor.on("error", () => {}).end(String(process.pid)));
  const newcomer = join(directory, `newcomer.${randomBytes(6).toString("hex")}`);
  // Listen before the claim: a number that is visible but does not answer yet would be taken for dead.
  await listen(server, newcomer);
  const holder = await claim(directory, newcomer).finally(() => rm(newcomer, { force: true }));
  if (holder === undefined) return { release: () => server.close() };
  server.close();
  return holder;
}

/** Undefined when the claim held, otherwise who was there before. */
async function claim(directory: string, newcomer: string): Promise<Holder | undefined> {
  for (let tries = 0; tries < MAX_CLAIMS; tries += 1) {
    const highest = Math.max(0, ...(await listNumbers(directory)));
    const heldBy = await knock(holderPath(directory, highest));
    if (heldBy !== undefined) return { heldBy };

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

const holderPath = (directory: string, number: number): string => join(directory, `holder.${number}`);
const HOLDER = /^holder\.([0-9]+)$/;

async function listNumbers(directory: string): Promise<number[]> {
  const names = await readdir(directory);
  return names.flatMap((name) => HOLDER.exec(name)?.[1] ?? []).map(Number);
}

async function removeHolders(directory: string, which: (number: number) => boolean, numbers: readonly number[]) {
  await Promise.all(numbers.filter(which).map((number) => rm(holderPath(directory, number), { force: true })));
}

/** Whether we were the first to make this link. */
async function linkFirst(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** What is said behind the door; undefined only when surely nobody listens there. */
export function knock(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let said = "";
    const done = (answer: string | undefined) => {
      socket.destroy();
      resolve(answer);
    };
    const socket = connect(path);
    socket.setEncoding("utf8").setTimeout(ANSWER_LIMIT_MS);
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
    // Open to all: whoever may enter the directory may ask who has it.
    server.listen({ path, readableAll: true, writableAll: true }, () => {
      server.off("error", reject);
      // The lock lives as long as the process, but is no reason for the process to live.
      server.unref();
      resolve();
    });
  });
}
