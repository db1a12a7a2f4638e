/**
 * Settings from the environment, as one frozen, validated object. Nothing else reads `process.env`. All errors are
 * reported together, before anything is started.
 */
import { resolve } from "node:path";
import { getHeapStatistics } from "node:v8";
import { nearestName } from "../../std/nearest-name.ts";
import type { Network } from "../../std/network.ts";
import { isPlainPath } from "../../std/paths.ts";
import { DEFAULT_RATES, type RequestRates } from "../../web/limits/rates.ts";
import type { OutgoingPolicy } from "../../web/outgoing-requests/outgoing-policy.ts";
import { acceptedFindings } from "./accepted-findings.ts";
import { databaseAddress, publicAddress } from "./address-settings.ts";
import { type CleartextLink, transportContradictions, withoutTls } from "./cleartext-settings.ts";
import { encryptionKeys } from "./key-settings.ts";
import { networkList, rateLimits } from "./limit-settings.ts";
import { InvalidValue, type Setting } from "./setting.ts";
import { outgoingPolicy, webhookPorts } from "./webhook-settings.ts";

export const ROLES = ["api", "auth", "engine", "worker"] as const;
/** What a process does: serve the API, issue tokens, match orders, settle conversions. */
export type Role = (typeof ROLES)[number];

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

export interface Config {
  readonly mode: "sandbox" | "production";
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly authPort: number;
  /** The public URLs, if they differ from the listening addresses. Without a trailing slash. */
  readonly baseUrl: string | undefined;
  readonly authUrl: string | undefined;
  /** `/metrics` has its own address. Without a port it is not served. */
  readonly metricsHost: string;
  readonly metricsPort: number | undefined;
  readonly dataDir: string;
  /** The WAL archive of the embedded PostgreSQL. Undefined: no archiving. */
  readonly walArchive: string | undefined;
  /** With the service's role. Undefined: the embedded PostgreSQL. */
  readonly databaseUrl: string | undefined;
  /** With the owner of the tables. */
  readonly migrateUrl: string | undefined;
  /** A file. Undefined in sandbox mode: a demo file, created in the data directory. */
  readonly bootstrap: string | undefined;
  /** A file with the assets and markets. Undefined: our own catalogue.json. */
  readonly catalogue: string | undefined;
  /** A stablecoin of a sandbox's own, with a market against USD. */
  readonly coin: string | undefined;
  /** A file with the words of another brand. Undefined: our own. */
  readonly dialect: string | undefined;
  readonly roles: ReadonlySet<Role>;
  readonly settlementDelayMs: number;
  /** How long events are listed. */
  readonly eventsKeptMs: number;
  /** The maximum difference between the clocks of this process and the database. */
  readonly clockToleranceMs: number;
  /** Requests per second. Default in sandbox mode: "off". */
  readonly rateLimits: RequestRates | "off";
  /** The proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly Network[];
  /** Per server. */
  readonly maxConnections: number;
  /** Of rows that the ledger keeps in memory, in bytes. */
  readonly cacheBytes: number;
  /** Whether the sandbox has a market maker to trade with. */
  readonly sandboxMaker: boolean;
  /** PEM files: both or neither. */
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
  /** The links that may be unencrypted in production. */
  readonly withoutTls: ReadonlySet<CleartextLink>;
  /** What `parbook doctor` finds and the operator accepts, by name. */
  readonly accepted: ReadonlySet<string>;
  readonly signingKeys: {
    /** 256 bits each: the first encrypts, all decrypt. Empty: signing keys are stored in clear. */
    readonly encryptionKeys: readonly Uint8Array[];
    readonly replacedAfterMs: number;
  };
  /** Where webhooks may be posted to. */
  readonly webhookPolicy: OutgoingPolicy;
  readonly logLevel: (typeof LOG_LEVELS)[number];
}

const MIB = 2 ** 20;
/** What V8 lets the heap grow to; `--max-old-space-size` changes it. */
const HEAP_BYTES = getHeapStatistics().heap_size_limit;
/** On a small machine a quarter of the heap. */
const DEFAULT_CACHE_MB = Math.max(32, Math.min(512, Math.floor(HEAP_BYTES / 4 / MIB)));

const HEADING = "Invalid settings; nothing was started:";

/** All errors in the settings, one line per setting. */
export class InvalidSettings extends Error {
  override readonly name = "InvalidSettings";
  readonly heading = HEADING;
  readonly lines: readonly string[];

  constructor(lines: readonly string[]) {
    super([HEADING, ...lines.map((line) => `  ${line}`)].join("\n"));
    this.lines = lines;
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the settings. An empty value counts as unset.
 * @throws InvalidSettings
 */
export function readConfig(environment: Environment): Config {
  const lines: string[] = [];
  const known = new Set<string>();
  const get = <Value>(name: string, setting: Setting<Value>): Value => {
    known.add(name);
    const text = environment[name];
    if (text === undefined || text === "") return setting.absent;
    const value = setting.read(text);
    if (!(value instanceof InvalidValue)) return value;
    lines.push([name, ...shown(name, text), value.rule].join(" "));
    return setting.absent;
  };
  const mode = get("PARBOOK_MODE", oneOf(["sandbox", "production"], "sandbox"));
  const bootstrap = get("PARBOOK_BOOTSTRAP", file);
  // A bootstrap file replaces the demo.
  const hasDemo = mode === "sandbox" && bootstrap === undefined;
  const config: Config = {
    mode,
    host: get("PARBOOK_HOST", { absent: "127.0.0.1", read: (text) => text }),
    port: get("PARBOOK_PORT", wholeNumber(8080, 0, 65_535)),
    authPort: get("PARBOOK_AUTH_PORT", wholeNumber(8081, 0, 65_535)),
    baseUrl: get("PARBOOK_BASE_URL", publicAddress),
    authUrl: get("PARBOOK_AUTH_URL", publicAddress),
    metricsHost: get("PARBOOK_METRICS_HOST", { absent: "127.0.0.1", read: (text) => text }),
    metricsPort: get("PARBOOK_METRICS_PORT", { absent: undefined, read: wholeNumber(0, 0, 65_535).read }),
    dataDir: get("PARBOOK_DATA_DIR", { absent: resolve("data"), read: (text) => resolve(text) }),
    walArchive: get("PARBOOK_WAL_ARCHIVE", walArchive),
    databaseUrl: get("PARBOOK_DATABASE_URL", databaseAddress),
    migrateUrl: get("PARBOOK_MIGRATE_URL", databaseAddress),
    bootstrap,
    catalogue: get("PARBOOK_CATALOGUE", file),
    coin: get("PARBOOK_COIN", coin),
    dialect: get("PARBOOK_DIALECT", file),
    roles: get("PARBOOK_ROLES", { absent: new Set(ROLES), read: readRoles }),
    settlementDelayMs: get("PARBOOK_SETTLEMENT_DELAY_MS", wholeNumber(0, 0, 30 * 24 * 60 * 60 * 1_000)),
    eventsKeptMs: get("PARBOOK_EVENT_DAYS", wholeNumber(400, 1, 36_500)) * 86_400_000,
    clockToleranceMs: get("PARBOOK_CLOCK_TOLERANCE_MS", wholeNumber(2_000, 100, 60_000)),
    rateLimits: get("PARBOOK_RATE_LIMITS", rateLimits) ?? (mode === "production" ? DEFAULT_RATES : "off"),
    trustedProxies: get("PARBOOK_TRUSTED_PROXIES", networkList),
    maxConnections: get("PARBOOK_MAX_CONNECTIONS", wholeNumber(10_000, 1, 1_000_000)),
    cacheBytes: get("PARBOOK_CACHE_MB", wholeNumber(DEFAULT_CACHE_MB, 32, 1_000_000)) * MIB,
    sandboxMaker: get("PARBOOK_SANDBOX_MAKER", oneOf(["on", "off"], hasDemo ? "on" : "off")) === "on",
    tlsCert: get("PARBOOK_TLS_CERT", file),
    tlsKey: get("PARBOOK_TLS_KEY", file),
    withoutTls: get("PARBOOK_WITHOUT_TLS", withoutTls),
    accepted: get("PARBOOK_ACCEPT", acceptedFindings),
    signingKeys: {
      encryptionKeys: get("PARBOOK_KEY_ENCRYPTION_KEY", encryptionKeys),
      replacedAfterMs: get("PARBOOK_SIGNING_KEY_DAYS", wholeNumber(90, 1, 3_650)) * 86_400_000,
    },
    webhookPolicy: outgoingPolicy(
      mode,
      get("PARBOOK_WEBHOOK_PORTS", webhookPorts),
      get("PARBOOK_WEBHOOK_NETWORKS", networkList),
      get("PARBOOK_WEBHOOK_REFUSED_NETWORKS", networkList),
    ),
    logLevel: get("PARBOOK_LOG_LEVEL", oneOf(LOG_LEVELS, "info")),
  };
  lines.push(...contradictions(config), ...unknownSettings(environment, known));
  if (mode === "production" && environment.NODE_TLS_REJECT_UNAUTHORIZED === "0") {
    lines.push("NODE_TLS_REJECT_UNAUTHORIZED is 0, so no certificate would be verified: unset it");
  }
  if (lines.length > 0) throw new InvalidSettings(lines);
  return Object.freeze(config);
}

function contradictions(config: Config): string[] {
  const lines: string[] = [];
  if (config.migrateUrl !== undefined && config.databaseUrl === undefined) {
    lines.push("PARBOOK_MIGRATE_URL is set without PARBOOK_DATABASE_URL: the embedded database migrates itself");
  }
  if (config.walArchive !== undefined && config.databaseUrl !== undefined) {
    lines.push("PARBOOK_WAL_ARCHIVE applies to the embedded database only, but PARBOOK_DATABASE_URL is set");
  }
  if (`${config.walArchive}/`.startsWith(`${config.dataDir}/`)) {
    lines.push("PARBOOK_WAL_ARCHIVE is inside PARBOOK_DATA_DIR: a loss of the one would be a loss of both");
  }
  const mostMib = Math.floor(HEAP_BYTES / 2 / MIB);
  if (config.cacheBytes > mostMib * MIB) {
    lines.push(
      `PARBOOK_CACHE_MB is more than half of the heap, ${mostMib}: let it grow, as with NODE_OPTIONS=--max-old-space-size=${Math.ceil((2 * config.cacheBytes) / MIB)}`,
    );
  }
  const ports = {
    PARBOOK_PORT: config.port,
    PARBOOK_AUTH_PORT: config.authPort,
    PARBOOK_METRICS_PORT: config.metricsPort,
  };
  for (const [i, [name, port]] of Object.entries(ports).entries()) {
    const other = Object.entries(ports).find(
      ([, same], j) => j > i && port !== 0 && port !== undefined && same === port,
    );
    if (other !== undefined) lines.push(`${name} and ${other[0]} are both ${port}, but each server needs its own port`);
  }
  if (config.mode === "production" && config.sandboxMaker) {
    lines.push("PARBOOK_SANDBOX_MAKER is on in production: the market maker trades with unfunded deposits");
  }
  if (config.mode === "production" && config.coin !== undefined) {
    lines.push("PARBOOK_COIN (--coin) is for a sandbox: in production list the coin in PARBOOK_CATALOGUE");
  }
  return [...lines, ...transportContradictions(config)];
}

/** An unknown setting is an error: it is probably misspelt, and ignoring it could be harmful. */
function unknownSettings(environment: Environment, known: ReadonlySet<string>): string[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith("PARBOOK_") && !known.has(name))
    .map((name) => {
      const meant = nearestName(name, [...known]);
      return `${name} is not a setting of Parbook${meant === undefined ? "" : `: did you mean ${meant}?`}`;
    });
}

/** The value, unless it may contain a password or key. */
function shown(name: string, text: string): string[] {
  return /DATABASE|MIGRATE|ENCRYPTION/.test(name) || text.includes("@") ? [] : [JSON.stringify(text.slice(0, 100))];
}

/** Becomes part of a shell command of PostgreSQL, so it must not need quoting. */
const walArchive: Setting<string | undefined> = {
  absent: undefined,
  read: (text) =>
    isPlainPath(resolve(text))
      ? resolve(text)
      : new InvalidValue("is not a directory whose path has only letters, digits and ._-/"),
};

/** Its market has a code of at most 16 characters, which ends in USD. */
export const isCoinCode = (text: string): boolean => /^[A-Z0-9]{2,13}$/.test(text);

const coin: Setting<string | undefined> = {
  absent: undefined,
  read: (text) =>
    isCoinCode(text) ? text : new InvalidValue("is not a code of 2 to 13 capitals or digits, such as ACMEUSD"),
};

const file: Setting<string | undefined> = { absent: undefined, read: (text) => resolve(text) };

function oneOf<const Value extends string>(values: readonly Value[], absent: Value): Setting<Value> {
  const read = (text: string): Value | InvalidValue =>
    values.find((value) => value === text) ?? new InvalidValue(`is not one of ${values.join(", ")}`);
  return { absent, read };
}

function wholeNumber(absent: number, least: number, most: number): Setting<number> {
  const read = (text: string): number | InvalidValue => {
    const number = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN;
    return number >= least && number <= most
      ? number
      : new InvalidValue(`is not a whole number from ${least} to ${most}`);
  };
  return { absent, read };
}

function readRoles(text: string): ReadonlySet<Role> | InvalidValue {
  const names = text.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !ROLES.includes(name as Role));
  return unknown === undefined ? new Set(names as Role[]) : new InvalidValue(`is not a list of ${ROLES.join(", ")}`);
}
