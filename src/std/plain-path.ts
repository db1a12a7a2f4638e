/** A path from the top that needs no quoting where PostgreSQL runs a shell command, in which % has a meaning, too. */
export const isPlainPath = (path: string): boolean => /^\/[A-Za-z0-9/._-]+$/.test(path);
