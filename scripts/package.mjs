/**
 * `npm run package`: builds, then packs what users install into parbook-<version>.tgz in the working directory. Alone,
 * `npm pack` would not build, because no scripts run here (.npmrc).
 */
import { spawnSync } from "node:child_process";
import { prepare, ROOT } from "./prepare.mjs";

await prepare();
const { status } = spawnSync("npm", ["pack", ROOT, ...process.argv.slice(2)], {
  stdio: "inherit",
  shell: process.platform === "win32",
});
process.exitCode = status ?? 1;
