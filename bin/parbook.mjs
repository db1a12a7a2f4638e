#!/usr/bin/env node
/** The command line. In a checkout it first installs and builds what is missing, and says so on standard error. */
import { prepare } from "../scripts/prepare.mjs";

await prepare();
process.setSourceMapsEnabled(true);
const { main } = await import("../dist/cli/parbook.js");
process.exitCode = await main(process.argv.slice(2));
