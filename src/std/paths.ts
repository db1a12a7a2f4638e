import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";

/** Whether one directory is inside another, or the same, whatever links lead to either. Neither has to exist. */
export async function isInside(inner: string, outer: string): Promise<boolean> {
  const [below, above] = await Promise.all([realPath(resolve(inner)), realPath(resolve(outer))]);
  return `${below}${sep}`.startsWith(above.endsWith(sep) ? above : `${above}${sep}`);
}

/** Of what does not exist yet: that of the directory that it will be made in. */
async function realPath(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || dirname(path) === path) throw error;
    return join(await realPath(dirname(path)), basename(path));
  }
}

/** Whether an absolute path needs no quoting in PostgreSQL's shell commands, in which % is special too. */
export const isPlainPath = (path: string): boolean => /^\/[A-Za-z0-9/._-]+$/.test(path);
