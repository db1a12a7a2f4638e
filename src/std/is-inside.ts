/** Whether one directory is inside another, whatever links lead to either. */
import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";

/** True for one and the same directory. Neither has to exist. */
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
