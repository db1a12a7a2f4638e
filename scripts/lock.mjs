/**
 * A lock between processes, also of different containers that share a folder: a directory that its holder touches
 * every second. A holder that was killed stops touching it, and after ten seconds the next one may take it away.
 */
import { existsSync, mkdirSync, renameSync, rmdirSync, rmSync, statSync, utimesSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const TOUCH_MS = 1_000;
const ABANDONED_MS = 10_000;
const RETRY_MS = 100;

/** Runs the work while no other process holds the lock. */
export async function holdingLock(path, work) {
  while (!take(path)) {
    removeAbandoned(path);
    await pause(RETRY_MS);
  }
  const touching = setInterval(() => touch(path), TOUCH_MS);
  const release = () => rmSync(path, { recursive: true, force: true });
  process.once("exit", release);
  try {
    return await work();
  } finally {
    clearInterval(touching);
    process.removeListener("exit", release);
    release();
  }
}

function take(path) {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  }
}

/** A holder that was itself suspended may find the lock gone. It ends its work: stopping half-way would be worse. */
function touch(path) {
  const now = new Date();
  if (existsSync(path)) utimesSync(path, now, now);
}

function removeAbandoned(path) {
  try {
    if (Date.now() - statSync(path).mtimeMs < ABANDONED_MS) return;
    // Renamed first: of several that wait only one succeeds, so nobody removes the lock that another just took.
    const aside = `${path}.${process.pid}`;
    renameSync(path, aside);
    rmdirSync(aside);
  } catch (error) {
    // Its holder was done in the meantime, or another who waits was faster.
    if (error.code !== "ENOENT") throw error;
  }
}
