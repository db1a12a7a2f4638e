/** File system errors for operators: with the path and the reason in words. */
import { getSystemErrorMap } from "node:util";

/**
 * Adds the path to errors of `work`. Node omits it for errors on open files, as on a full disk.
 */
export async function withPath<Value>(path: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    const systemError = error as NodeJS.ErrnoException;
    if (typeof systemError?.syscall === "string") systemError.path ??= path;
    throw error;
  }
}

/** A file that is there, and must not be used. */
export class UnfitFile extends Error {
  override readonly name = "UnfitFile";

  /** @param why what it is, in words */
  constructor(path: string, why: string) {
    super(`${path} cannot be used: ${why}`);
  }
}

/** @returns one line with path and reason; undefined for other errors */
export function fileErrorText(error: unknown): string | undefined {
  if (error instanceof UnfitFile) return error.message;
  const { code, path, syscall, errno } = (error ?? {}) as NodeJS.ErrnoException;
  if (code === undefined || path === undefined) return undefined;
  const [, reason] = (errno !== undefined && getSystemErrorMap().get(errno)) || [];
  return `${path} cannot be used${reason === undefined ? "" : `: ${reason}`} (${syscall}: ${code})`;
}
