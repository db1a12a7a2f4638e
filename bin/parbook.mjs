#!/usr/bin/env node
/**
 * The command line. In a checkout it first installs and builds what is missing, and says so on standard error.
 *
 * `npm start` runs it by `exec`, so that signals from npm reach this process and npm waits for its orderly stop. Where the
 * shell has no `exec` (Windows), use `node bin/parbook.mjs start`.
 */
import { prepare } from "../scripts/prepare.mjs";

await prepare();
process.setSourceMapsEnabled(true);
const { main } = await import("../dist/cli/parbook.js");
process.exitCode = await main(process.argv.slice(2));
