/**
 * `npm start` is `parbook start` in this same process. The script in package.json says `exec`, so that the shell which
 * npm starts becomes this process: otherwise the shell alone would receive the signal that npm passes on, npm would
 * report the end while the service still runs, and nobody would wait for its orderly stop. Where the shell knows no
 * `exec` (Windows), `node bin/parbook.mjs start` is the same.
 */
process.argv.splice(2, 0, "start");
await import("../bin/parbook.mjs");
