/** The environment of this process, for `readConfig` only. */
export const environment: Readonly<Record<string, string | undefined>> = process.env;
