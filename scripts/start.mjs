/** `npm start` is `parbook start` in this same process, so that signals and the exit code go straight through. */
process.argv.splice(2, 0, "start");
await import("../bin/parbook.mjs");
