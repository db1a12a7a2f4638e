/** What is examined of this machine: settings, files and programs. */
import { X509Certificate } from "node:crypto";
import { stat, statfs } from "node:fs/promises";
import { formatInstant, type Instant } from "../../std/clock.ts";
import { type LastVerify, readLastVerify } from "../../verify/last-verify.ts";
import type { Config } from "../config/config.ts";
import { findServiceProcess } from "../data-directory.ts";
import { connectionsWithin, filesFor, openFilesLimit } from "../open-files.ts";
import { readTls } from "../tls.ts";
import type { Examination } from "./examine-database.ts";
import { type Finding, finding, present } from "./finding.ts";

export interface ExaminedNode {
  readonly config: Config;
  readonly now: Instant;
}

type OfNode = Examination<ExaminedNode>;

const DAY_MS = 86_400_000;

/** Wherever Parbook runs. */
export const EXAMINATIONS_OF_MACHINE: readonly OfNode[] = [
  {
    subject: "version of Node.js",
    covers: ["node-old"],
    find: ({ now }) => judgeNodeVersion(process.versions.node, now),
  },
  {
    subject: "user",
    covers: ["runs-as-root"],
    find: ({ config }) => judgeUser(process.getuid?.(), config),
  },
  {
    subject: "last verify",
    covers: ["verify-failed", "verify-old", "no-checkpoint"],
    hides: true,
    find: async ({ config, now }) => judgeLastVerify(await readLastVerify(config), config.dataDir, now),
  },
  { subject: "disk", covers: ["disk"], find: findFullDisk },
  { subject: "files with secrets", covers: ["secret-files"], find: findExposedSecrets },
];

/** What the settings of a service in production leave open. */
export const EXAMINATIONS_OF_SERVICE: readonly OfNode[] = [
  {
    subject: "settings",
    covers: ["example-address", "metrics", "rate-limits", "no-proxy"],
    find: ({ config }) => judgeSettings(config),
  },
  { subject: "certificate", covers: ["certificate-ends"], find: findEndingCertificate },
];

/** A start says it itself, when it bounds its connections. */
export const EXAMINATIONS_OF_LIMITS: readonly OfNode[] = [
  { subject: "limit of open files", covers: ["open-files"], find: findFewFiles },
];

/** https://nodejs.org/en/about/previous-releases; odd versions have no long-term support. */
const MAINTAINED_UNTIL: Readonly<Record<string, string>> = {
  "20": "2026-04-30",
  "22": "2027-04-30",
  "24": "2028-04-30",
};

export function judgeNodeVersion(version: string, now: Instant): Finding[] {
  const major = version.split(".")[0] ?? "";
  const until = MAINTAINED_UNTIL[major];
  const fix = "run an even version that is maintained";
  if (Number(major) % 2 === 1) return [finding("node-old", `Node.js ${version} has no long-term support`, fix)];
  const isOver = until !== undefined && now >= Date.parse(until);
  return present(isOver && finding("node-old", `Node.js ${version} is not maintained since ${until}`, fix));
}

/** As root the embedded database runs as another user, who is not ours alone. */
export function judgeUser(uid: number | undefined, { databaseUrl }: Pick<Config, "databaseUrl">): Finding[] {
  const isRoot = uid === 0 && databaseUrl === undefined;
  return present(
    isRoot && finding("runs-as-root", "Parbook runs as root", "run it as a user of its own (docs/settings.md)"),
  );
}

export function judgeSettings({ metricsPort, rateLimits, trustedProxies, tlsCert, ...addresses }: Config): Finding[] {
  const { baseUrl, authUrl } = addresses;
  return present(
    ...Object.entries({ PARBOOK_BASE_URL: baseUrl, PARBOOK_AUTH_URL: authUrl }).map(
      ([name, url]) =>
        isExample(url) && finding("example-address", `${name} is ${url}`, "set it to the address that callers use"),
    ),
    rateLimits === "off" && finding("rate-limits", "rate limits are off", "remove PARBOOK_RATE_LIMITS"),
    metricsPort === undefined &&
      finding("metrics", "PARBOOK_METRICS_PORT is not set", "set it, and load ops/alerts.yml (docs/runbook.md)"),
    tlsCert === undefined &&
      trustedProxies.length === 0 &&
      finding(
        "no-proxy",
        "neither own TLS nor a trusted proxy is set",
        "set PARBOOK_TRUSTED_PROXIES, or PARBOOK_TLS_CERT",
      ),
  );
}

/** RFC 2606: names that belong to nobody. Our own files have them where an operator's belong. */
const isExample = (url: string | undefined): boolean =>
  url !== undefined && /(?:^|\.)(?:example(?:\.(?:com|net|org))?|invalid)$/.test(new URL(url).hostname);

const OLDEST_VERIFY_MS = 2 * DAY_MS;

const OLDEST_CHECKPOINT_MS = 7 * DAY_MS;

export function judgeLastVerify(last: LastVerify | undefined, dataDir: string, now: Instant): Finding[] {
  const fix = "run parbook verify every day (docs/checkpoints.md)";
  if (last === undefined)
    return [finding("verify-old", `parbook verify never ran on this database with PARBOOK_DATA_DIR ${dataDir}`, fix)];
  const { finishedAt, sound, checkpointAt } = last;
  if (!sound) {
    const failed = `parbook verify of ${formatInstant(finishedAt)} found differences`;
    return [finding("verify-failed", failed, 'parbook verify; then docs/runbook.md, "ParbookVerifyFailed"')];
  }
  const compared = checkpointAt === undefined ? "no checkpoint" : `the checkpoint of ${formatInstant(checkpointAt)}`;
  const isUnchecked = checkpointAt === undefined || checkpointAt < now - OLDEST_CHECKPOINT_MS;
  return present(
    finishedAt < now - OLDEST_VERIFY_MS &&
      finding("verify-old", `parbook verify last ran on ${formatInstant(finishedAt)}`, fix),
    isUnchecked &&
      finding(
        "no-checkpoint",
        `the last parbook verify compared ${compared}`,
        "write one every day, and give it to verify (docs/checkpoints.md)",
      ),
  );
}

/** As the alert ParbookDiskFull. */
const LEAST_FREE = 0.1;

async function findFullDisk({ config: { dataDir, walArchive } }: ExaminedNode): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const path of [dataDir, walArchive]) {
    const space = path === undefined ? undefined : await statfs(path).catch(() => undefined);
    if (space === undefined || space.bavail >= LEAST_FREE * space.blocks) continue;
    const percent = Math.floor((100 * space.bavail) / space.blocks);
    found.push(
      finding("disk", `${percent} % of the disk of ${path} is free`, "enlarge it, or remove what is not Parbook's"),
    );
  }
  return found;
}

/** Rights that nobody else may have: the group may read, because the operator has chosen it. */
const RIGHTS_OF_OTHERS = 0o027;

async function findExposedSecrets({ config }: ExaminedNode): Promise<Finding[]> {
  const { bootstrap, tlsKey, walArchive } = config;
  const found: Finding[] = [];
  for (const path of [bootstrap, tlsKey, walArchive]) {
    const stats = path === undefined ? undefined : await stat(path).catch(() => undefined);
    if (path === undefined || stats === undefined || (stats.mode & RIGHTS_OF_OTHERS) === 0) continue;
    const mode = (stats.mode & 0o777).toString(8);
    found.push(finding("secret-files", `${path} has mode ${mode}`, `chmod ${stats.isDirectory() ? 700 : 600} ${path}`));
  }
  return found;
}

/** As the alert ParbookCertificateEnds. */
const SHORTEST_VALIDITY_MS = 7 * DAY_MS;

async function findEndingCertificate({ config, now }: ExaminedNode): Promise<Finding[]> {
  // One that cannot be used is a wrong setting.
  const tls = await readTls(config, now).catch(() => undefined);
  if (tls === undefined) return [];
  const end = Date.parse(new X509Certificate(tls.cert).validTo) as Instant;
  const isNear = end < now + SHORTEST_VALIDITY_MS;
  return present(isNear && finding("certificate-ends", `PARBOOK_TLS_CERT ends on ${formatInstant(end)}`, "renew it"));
}

/** The service's limit where it runs, else that of this command, which the service would have if started likewise. */
async function findFewFiles({ config }: ExaminedNode): Promise<Finding[]> {
  const pid = await findServiceProcess(config.dataDir);
  const limit = await openFilesLimit(`/proc/${pid ?? "self"}/limits`);
  return judgeOpenFiles(limit, config, pid === undefined ? NOT_RUNNING : `the service (process ${pid})`);
}

const NOT_RUNNING = "no service runs here; one that is started from this shell";

export function judgeOpenFiles(
  limit: number,
  { maxConnections, roles }: Pick<Config, "maxConnections" | "roles">,
  who = "the service",
): Finding[] {
  const servers = roles.has("auth") ? 2 : 1;
  const most = connectionsWithin(limit, servers, maxConnections);
  if (most === maxConnections) return [];
  const what = `${who} may open ${limit} files, so each server takes ${most} connections, not the ${maxConnections} of PARBOOK_MAX_CONNECTIONS`;
  return [finding("open-files", what, `set LimitNOFILE=${filesFor(servers, maxConnections)} in its unit (ulimit -n)`)];
}
