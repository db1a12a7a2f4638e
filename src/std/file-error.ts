/** Errors of the file system as an operator needs them: with the path, and with the reason in words. */
import { getSystemErrorMap } from "node:util";

/**
 * Gives an error of `work` the path that it is about. Node names the path when a file cannot be opened, and leaves it out
 * when one that is open cannot be written, as on a full disk.
 */
export async function naming<Value>(path: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    const systemError = error as NodeJS.ErrnoException;
    if (typeof systemError?.syscall === "string") systemError.path ??= path;
    throw error;
  }
}

/** What went wrong with which file, in one line. Undefined for other errors. */
export function fileErrorText(error: unknown): string | undefined {
  const { code, path, syscall, errno } = (error ?? {}) as NodeJS.ErrnoException;
  if (code === undefined || path === undefined) return undefined;
  const [, reason] = (errno !== undefined && getSystemErrorMap().get(errno)) || [];
  return `${path} cannot be used${reason === undefined ? "" : `: ${reason}`} (${syscall}: ${code})`;
}
