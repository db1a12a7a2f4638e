/**
 * `npm start`: `parbook start` in this process. The script in package.json uses `exec`, so that signals from npm reach this
 * process and npm waits for its orderly stop. Where the shell has no `exec` (Windows), use `node bin/parbook.mjs start`.
 */
process.argv.splice(2, 0, "start");
await import("../bin/parbook.mjs");
