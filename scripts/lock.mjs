/**
 * A lock between processes, even in different containers that share a directory. The lock is a directory that its holder
 * touches every second; one not touched for ten seconds is considered abandoned.
 */
import { existsSync, mkdirSync, renameSync, rmdirSync, rmSync, statSync, utimesSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const TOUCH_MS = 1_000;
const ABANDONED_MS = 10_000;
const RETRY_MS = 100;

/** Runs `work` while holding the lock. */
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

/** A holder that was suspended may have lost the lock. It finishes anyway: stopping half-way would be worse. */
function touch(path) {
  const now = new Date();
  if (existsSync(path)) utimesSync(path, now, now);
}

function removeAbandoned(path) {
  try {
    if (Date.now() - statSync(path).mtimeMs < ABANDONED_MS) return;
    // Rename first: only one waiting process succeeds, so a newly taken lock is never removed.
    const aside = `${path}.${process.pid}`;
    renameSync(path, aside);
    rmdirSync(aside);
  } catch (error) {
    // The lock was released, or another process removed it.
    if (error.code !== "ENOENT") throw error;
  }
}
