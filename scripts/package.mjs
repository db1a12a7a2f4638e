/**
 * `npm run package`: builds, then packs what users install into parbook-<version>.tgz in the working directory. Alone,
 * `npm pack` would not build, because no scripts run here (.npmrc).
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { holdingLock } from "./lock.mjs";
import { prepare, ROOT } from "./prepare.mjs";

/** As npm packs the lockfile, which it leaves out under its own name: with it production gets the packages tested here. */
const PACKED_LOCKFILE = join(ROOT, "npm-shrinkwrap.json");

await prepare();
await holdingLock(join(ROOT, ".prepare.lock"), async () => {
  copyFileSync(join(ROOT, "package-lock.json"), PACKED_LOCKFILE);
  try {
    const shell = process.platform === "win32";
    const npm = spawn("npm", ["pack", ROOT, ...process.argv.slice(2)], { stdio: "inherit", shell });
    const [status] = await once(npm, "close");
    process.exitCode = status ?? 1;
  } finally {
    rmSync(PACKED_LOCKFILE);
  }
});
