import { createRequire } from "node:module";

/** Of package.json, which is as far above `src/` as above `dist/`. */
export const { version: PROGRAM_VERSION } = createRequire(import.meta.url)("../../package.json") as {
  readonly version: string;
};
