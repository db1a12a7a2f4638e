/** The environment of this process, as it is handed to `readConfig`: nowhere else is it read. */
export const environment: Readonly<Record<string, string | undefined>> = process.env;
