/** Whether an absolute path needs no quoting in PostgreSQL's shell commands, in which % is special too. */
export const isPlainPath = (path: string): boolean => /^\/[A-Za-z0-9/._-]+$/.test(path);
