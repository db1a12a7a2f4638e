import { resolve } from "node:path";
import { getHeapStatistics } from "node:v8";
import { expect, test } from "vitest";
import { parseNetwork } from "../../std/network.ts";
import { ACCEPTABLE_FINDINGS } from "./accepted-findings.ts";
import { InvalidSettings, readConfig } from "./config.ts";

function linesOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment);
  } catch (error) {
    if (error instanceof InvalidSettings) return error.lines;
    throw error;
  }
  return [];
}

const DAY_MS = 86_400_000;
const MIB = 2 ** 20;
const HEAP_BYTES = getHeapStatistics().heap_size_limit;

test("without settings it is a sandbox on loopback with an embedded database", () => {
  expect(readConfig({ HOME: "/root", PATH: "/bin" })).toEqual({
    mode: "sandbox",
    host: "127.0.0.1",
    port: 8080,
    authPort: 8081,
    baseUrl: undefined,
    authUrl: undefined,
    metricsHost: "127.0.0.1",
    metricsPort: undefined,
    dataDir: resolve("data"),
    walArchive: undefined,
    databaseUrl: undefined,
    migrateUrl: undefined,
    bootstrap: undefined,
    catalogue: undefined,
    coin: undefined,
    dialect: undefined,
    roles: new Set(["api", "auth", "engine", "worker"]),
    settlementDelayMs: 0,
    eventsKeptMs: 400 * DAY_MS,
    clockToleranceMs: 2_000,
    rateLimits: "off",
    trustedProxies: [],
    maxConnections: 10_000,
    cacheBytes: Math.min(512 * MIB, Math.floor(HEAP_BYTES / 4 / MIB) * MIB),
    sandboxMaker: true,
    tlsCert: undefined,
    tlsKey: undefined,
    withoutTls: new Set(),
    accepted: new Set(),
    signingKeys: { encryptionKeys: [], replacedAfterMs: 90 * DAY_MS },
    webhookPolicy: {
      allowLoopback: true,
      allowCleartext: true,
      allowedPorts: "any",
      allowedNetworks: [],
      refusedNetworks: [],
    },
    logLevel: "info",
  });
});

test("every setting is read, an empty one counts as none, and the object cannot be changed", () => {
  const config = readConfig({
    PARBOOK_MODE: "production",
    PARBOOK_HOST: "::1",
    PARBOOK_PORT: "0",
    PARBOOK_AUTH_PORT: "0",
    PARBOOK_BASE_URL: "https://api.example.com/",
    PARBOOK_AUTH_URL: "https://auth.example.com",
    PARBOOK_METRICS_HOST: "10.0.0.2",
    PARBOOK_METRICS_PORT: "9464",
    PARBOOK_DATA_DIR: "/var/lib/parbook",
    PARBOOK_DATABASE_URL: "postgres://parbook@db/parbook?sslmode=verify-full",
    PARBOOK_MIGRATE_URL: "postgresql://owner@db/parbook?ssl=true",
    PARBOOK_BOOTSTRAP: "/etc/parbook.json",
    PARBOOK_CATALOGUE: "/etc/catalogue.json",
    PARBOOK_DIALECT: "/etc/words.json",
    PARBOOK_ROLES: "api, engine",
    PARBOOK_SETTLEMENT_DELAY_MS: "250",
    PARBOOK_EVENT_DAYS: "7",
    PARBOOK_CLOCK_TOLERANCE_MS: "500",
    PARBOOK_RATE_LIMITS: "token=0.5, rest=100",
    PARBOOK_TRUSTED_PROXIES: "10.0.0.7, 192.168.0.0/16,fd00::/8",
    PARBOOK_MAX_CONNECTIONS: "500",
    PARBOOK_CACHE_MB: "64",
    PARBOOK_SANDBOX_MAKER: "off",
    PARBOOK_TLS_CERT: "/etc/tls/parbook.crt",
    PARBOOK_TLS_KEY: "/etc/tls/parbook.key",
    PARBOOK_WITHOUT_TLS: "http, database",
    PARBOOK_ACCEPT: "fsync, no-standby",
    PARBOOK_KEY_ENCRYPTION_KEY: `${"A".repeat(43)}=,${"_".repeat(42)}8`,
    PARBOOK_SIGNING_KEY_DAYS: "30",
    PARBOOK_WEBHOOK_PORTS: "443, 8443",
    PARBOOK_WEBHOOK_NETWORKS: "10.1.0.0/16",
    PARBOOK_WEBHOOK_REFUSED_NETWORKS: "10.1.2.3, 2001:db8::/32",
    PARBOOK_LOG_LEVEL: "",
  });
  expect(config).toEqual({
    mode: "production",
    host: "::1",
    port: 0,
    authPort: 0,
    baseUrl: "https://api.example.com",
    authUrl: "https://auth.example.com",
    metricsHost: "10.0.0.2",
    metricsPort: 9464,
    dataDir: "/var/lib/parbook",
    databaseUrl: "postgres://parbook@db/parbook?sslmode=verify-full",
    migrateUrl: "postgresql://owner@db/parbook?ssl=true",
    bootstrap: "/etc/parbook.json",
    catalogue: "/etc/catalogue.json",
    coin: undefined,
    dialect: "/etc/words.json",
    roles: new Set(["api", "engine"]),
    settlementDelayMs: 250,
    eventsKeptMs: 7 * DAY_MS,
    clockToleranceMs: 500,
    rateLimits: { token: 0.5, order_book: 10, recent_executions: 10, rest: 100 },
    trustedProxies: ["10.0.0.7", "192.168.0.0/16", "fd00::/8"].map(parseNetwork),
    maxConnections: 500,
    cacheBytes: 64 * MIB,
    sandboxMaker: false,
    tlsCert: "/etc/tls/parbook.crt",
    tlsKey: "/etc/tls/parbook.key",
    withoutTls: new Set(["http", "database"]),
    accepted: new Set(["fsync", "no-standby"]),
    signingKeys: {
      encryptionKeys: [new Uint8Array(32), new Uint8Array(32).fill(255)],
      replacedAfterMs: 30 * DAY_MS,
    },
    webhookPolicy: {
      allowLoopback: false,
      allowCleartext: false,
      allowedPorts: [443, 8443],
      allowedNetworks: ["10.1.0.0/16"].map(parseNetwork),
      refusedNetworks: ["10.1.2.3", "2001:db8::/32"].map(parseNetwork),
    },
    logLevel: "info",
  });
  expect(Object.isFrozen(config)).toBe(true);
});

test("everything that is wrong is said at once, and no password with it", () => {
  const lines = linesOf({
    PARBOOK_MODE: "prod",
    PARBOOK_PORT: "65536",
    PARBOOK_AUTH_PORT: "80a",
    PARBOOK_BASE_URL: "api.example.com",
    PARBOOK_AUTH_URL: "ftp://auth.example.com",
    PARBOOK_DATABASE_URL: "mysql://parbook:hunter2@db/parbook",
    PARBOOK_MIGRATE_URL: "mysql://db/parbook?password=hunter2",
    PARBOOK_ROLES: "api,cook",
    PARBOOK_SETTLEMENT_DELAY_MS: "-1",
    PARBOOK_RATE_LIMITS: "rest=0",
    PARBOOK_TRUSTED_PROXIES: "10.0.0.0/33",
    PARBOOK_MAX_CONNECTIONS: "0",
    PARBOOK_CACHE_MB: "900000",
    PARBOOK_SANDBOX_MAKER: "yes",
    PARBOOK_TLS_KEY: "key.pem",
    PARBOOK_WITHOUT_TLS: "http,all",
    PARBOOK_ACCEPT: "role",
    PARBOOK_KEY_ENCRYPTION_KEY: "hunter2hunter2",
    PARBOOK_SIGNING_KEY_DAYS: "0",
    PARBOOK_WEBHOOK_PORTS: "443,0",
    PARBOOK_WEBHOOK_NETWORKS: "0.0.0.0/0",
    PARBOOK_LOG_LEVEL: "loud",
    PARBOOK_DATABSE_URL: "postgres://parbook@db/parbook",
  });
  expect(lines).toEqual([
    'PARBOOK_MODE "prod" is not one of sandbox, production',
    'PARBOOK_PORT "65536" is not a whole number from 0 to 65535',
    'PARBOOK_AUTH_PORT "80a" is not a whole number from 0 to 65535',
    'PARBOOK_BASE_URL "api.example.com" is not a URL that begins with http:// or https://',
    'PARBOOK_AUTH_URL "ftp://auth.example.com" is not a URL that begins with http:// or https://',
    "PARBOOK_DATABASE_URL is not a URL that begins with postgres:// or postgresql://",
    "PARBOOK_MIGRATE_URL is not a URL that begins with postgres:// or postgresql://",
    'PARBOOK_ROLES "api,cook" is not a list of api, auth, engine, worker',
    'PARBOOK_SETTLEMENT_DELAY_MS "-1" is not a whole number from 0 to 2592000000',
    'PARBOOK_RATE_LIMITS "rest=0" is not on, off, or rates per second from 0.01 to 100000 like "token=2,rest=100" of token, order_book, recent_executions, rest',
    'PARBOOK_TRUSTED_PROXIES "10.0.0.0/33" is not a list of IP addresses and networks like "10.0.0.7, 192.168.0.0/16, fd00::/8", with no bits beyond a prefix and no prefix of 0 bits',
    'PARBOOK_MAX_CONNECTIONS "0" is not a whole number from 1 to 1000000',
    'PARBOOK_SANDBOX_MAKER "yes" is not one of on, off',
    'PARBOOK_WITHOUT_TLS "http,all" is not a list of http, database',
    `PARBOOK_ACCEPT "role" is not a list of ${ACCEPTABLE_FINDINGS.join(", ")}`,
    "PARBOOK_KEY_ENCRYPTION_KEY is not 1 to 4 keys of 32 bytes each in base64, separated by commas (openssl rand -base64 32)",
    'PARBOOK_SIGNING_KEY_DAYS "0" is not a whole number from 1 to 3650',
    'PARBOOK_WEBHOOK_PORTS "443,0" is not a list of ports like "443, 8443"',
    'PARBOOK_WEBHOOK_NETWORKS "0.0.0.0/0" is not a list of IP addresses and networks like "10.0.0.7, 192.168.0.0/16, fd00::/8", with no bits beyond a prefix and no prefix of 0 bits',
    'PARBOOK_LOG_LEVEL "loud" is not one of trace, debug, info, warn, error, fatal, silent',
    `PARBOOK_CACHE_MB is more than half of the heap, ${Math.floor(HEAP_BYTES / 2 / MIB)}: let it grow, as with NODE_OPTIONS=--max-old-space-size=1800000`,
    "PARBOOK_TLS_CERT and PARBOOK_TLS_KEY belong together: set both or neither",
    "PARBOOK_DATABSE_URL is not a setting of Parbook: did you mean PARBOOK_DATABASE_URL?",
  ]);
});

test("the error names each setting that is wrong in a line of its own", () => {
  const wrong = { PARBOOK_MODE: "x".repeat(200), PARBOOK_PORT: "http" };
  expect(() => readConfig(wrong)).toThrow(
    expect.objectContaining({
      name: "InvalidSettings",
      message: [
        "Invalid settings; nothing was started:",
        `  PARBOOK_MODE "${"x".repeat(100)}" is not one of sandbox, production`,
        '  PARBOOK_PORT "http" is not a whole number from 0 to 65535',
      ].join("\n"),
    }),
  );
});

test("a number is taken from its least to its most, and has nothing but digits", () => {
  const port = (text: string) => readConfig({ PARBOOK_PORT: text }).port;
  expect([port("0"), port("65535")]).toEqual([0, 65_535]);
  for (const wrong of ["65536", "80a", "a80", "8 0", "1e3", "-1", "1".repeat(16)]) {
    expect(linesOf({ PARBOOK_PORT: wrong })).toHaveLength(1);
  }
});

test("an address loses every slash at its end", () => {
  expect(readConfig({ PARBOOK_BASE_URL: "https://api.example.com//" }).baseUrl).toBe("https://api.example.com");
});

test("there may be four encryption keys, and each of them has 32 bytes", () => {
  const key = `${"A".repeat(43)}=`;
  const keys = (list: readonly string[]) => ({ PARBOOK_KEY_ENCRYPTION_KEY: list.join(", ") });
  const read = readConfig(keys([key, key, key, key])).signingKeys.encryptionKeys;
  expect(read).toEqual([1, 2, 3, 4].map(() => new Uint8Array(32)));
  const wrong =
    "PARBOOK_KEY_ENCRYPTION_KEY is not 1 to 4 keys of 32 bytes each in base64, separated by commas (openssl rand -base64 32)";
  for (const list of [[key, key, key, key, key], [key, "hunter2"], ["hunter2", key], [key.slice(1)], [`${key}A`]]) {
    expect(linesOf(keys(list))).toEqual([wrong]);
  }
});

test("rates are limited in production and not in a sandbox, unless it is said otherwise", () => {
  const usual = { token: 1, order_book: 10, recent_executions: 10, rest: 50 };
  const rates = (mode: string, text: string) =>
    readConfig({ PARBOOK_MODE: mode, PARBOOK_RATE_LIMITS: text }).rateLimits;
  expect(rates("sandbox", "")).toBe("off");
  expect(rates("sandbox", "on")).toEqual(usual);
  expect(rates("production", "")).toEqual(usual);
  expect(rates("production", "off")).toBe("off");
  expect(rates("production", "order_book=20.25")).toEqual({ ...usual, order_book: 20.25 });
  expect(rates("production", "rest=100000,token=0.01")).toEqual({ ...usual, rest: 100_000, token: 0.01 });
  for (const wrong of [
    "rest",
    "rest=",
    "rest=-1",
    "rest=1e3",
    "rest=1,rest=2",
    "all=1",
    "rest=100001",
    "=1",
    "nobody=1",
    "a rest=1",
    "rest=1 a",
    "on,off",
    ",",
  ]) {
    expect(linesOf({ PARBOOK_RATE_LIMITS: wrong })).toHaveLength(1);
  }
});

test("a trusted proxy is an address or a network, and never every address", () => {
  for (const wrong of [
    "proxy",
    "10.0.0.0/0",
    "::/0",
    "10.0.0.7, ::/0",
    "10.0.0.0/",
    "10.0.0.0/8/8",
    "fd00::/129",
    "10.0.0.1,",
    "fe80::1%eth0",
    "192.168.3.4/16",
  ]) {
    expect(linesOf({ PARBOOK_TRUSTED_PROXIES: wrong })).toHaveLength(1);
  }
});

test("settings that contradict each other are wrong", () => {
  expect(linesOf({ PARBOOK_PORT: "9000", PARBOOK_AUTH_PORT: "9000" })).toEqual([
    "PARBOOK_PORT and PARBOOK_AUTH_PORT are both 9000, but each server needs its own port",
  ]);
  expect(linesOf({ PARBOOK_MIGRATE_URL: "postgres://owner@db/parbook" })).toEqual([
    "PARBOOK_MIGRATE_URL is set without PARBOOK_DATABASE_URL: the embedded database migrates itself",
  ]);
  const dataDir = "/var/lib/parbook";
  const archive = (path: string, more = {}) =>
    linesOf({ PARBOOK_DATA_DIR: dataDir, PARBOOK_WAL_ARCHIVE: path, ...more });
  expect(archive(`${dataDir}-wal`)).toEqual([]);
  for (const inside of [dataDir, `${dataDir}/`, `${dataDir}/postgres/wal`]) {
    expect(archive(inside)).toEqual([
      "PARBOOK_WAL_ARCHIVE is inside PARBOOK_DATA_DIR: a loss of the one would be a loss of both",
    ]);
  }
  expect(archive("/mnt/wal", { PARBOOK_DATABASE_URL: "postgres://parbook@localhost/parbook" })).toEqual([
    "PARBOOK_WAL_ARCHIVE applies to the embedded database only, but PARBOOK_DATABASE_URL is set",
  ]);
  expect(archive("/mnt/wal;reboot")).toEqual([
    'PARBOOK_WAL_ARCHIVE "/mnt/wal;reboot" is not a directory whose path has only letters, digits and ._-/',
  ]);
  expect(linesOf({ PARBOOK_MODE: "production", PARBOOK_SANDBOX_MAKER: "on" })).toEqual([
    "PARBOOK_SANDBOX_MAKER is on in production: the market maker trades with unfunded deposits",
  ]);
});

test("the market maker comes with the demo's customers, unless it is said", () => {
  const maker = (environment: Record<string, string>): boolean => readConfig(environment).sandboxMaker;
  const bootstrap = { PARBOOK_BOOTSTRAP: "/etc/parbook.json" };
  expect(maker({})).toBe(true);
  expect(maker({ PARBOOK_SANDBOX_MAKER: "off" })).toBe(false);
  expect(maker(bootstrap)).toBe(false);
  expect(maker({ ...bootstrap, PARBOOK_SANDBOX_MAKER: "on" })).toBe(true);
  expect(maker({ PARBOOK_MODE: "production" })).toBe(false);
});

test("production verifies certificates", () => {
  const lines = (mode: string, value: string) =>
    linesOf({
      PARBOOK_MODE: mode,
      PARBOOK_DATABASE_URL: "postgres:///parbook?host=/run",
      NODE_TLS_REJECT_UNAUTHORIZED: value,
    });
  expect(lines("production", "0")).toEqual([
    "NODE_TLS_REJECT_UNAUTHORIZED is 0, so no certificate would be verified: unset it",
  ]);
  expect([lines("production", "1"), lines("sandbox", "0")]).toEqual([[], []]);
});

test("production's database is on this machine or verified by TLS, unless PARBOOK_WITHOUT_TLS says otherwise", () => {
  const lines = (url: string, more: Record<string, string> = {}) =>
    linesOf({ PARBOOK_MODE: "production", PARBOOK_DATABASE_URL: url, ...more });
  const rejected =
    "PARBOOK_DATABASE_URL does not make the driver verify who it talks to: add ?sslmode=verify-full, name localhost or a socket's directory if the database is on this machine, or set PARBOOK_WITHOUT_TLS=database if the network itself is secure";
  const unverified = [
    ...["", "?sslmode=disable", "?sslmode=prefer", "?sslmode=allow", "?sslmode=require", "?sslmode=verify-ca"],
    ...["?sslmode=no-verify", "?sslmode=VERIFY-FULL", "?ssl=false", "?ssl=1", "?ssl=true&sslmode=disable"],
    ...["?uselibpqcompat=true&sslmode=prefer", "?uselibpqcompat=true&sslmode=require", "?host="],
  ];
  for (const query of unverified) {
    expect(lines(`postgres://parbook:secret@db/parbook${query}`), query).toEqual([rejected]);
  }
  const remote = ["localhost/parbook?host=db", "localhost.example.com/parbook", "127.example.com/parbook"];
  for (const host of remote) expect(lines(`postgres://parbook@${host}`), host).toEqual([rejected]);
  expect(lines("postgres:///parbook")).toEqual([rejected]);
  for (const query of ["?sslmode=verify-full", "?ssl=false&uselibpqcompat=true&sslmode=verify-full"]) {
    expect(lines(`postgres://parbook@db/parbook${query}`), query).toEqual([]);
  }
  const local = ["localhost", "127.0.0.1:5433", "127.10.20.30", "[::1]", "%2Frun%2Fpostgresql"];
  for (const host of local) expect(lines(`postgres://parbook@${host}/parbook`)).toEqual([]);
  expect(lines("postgres://parbook@localhost/parbook?host=/run/postgresql")).toEqual([]);
  expect(lines("postgres://parbook@db/parbook", { PARBOOK_WITHOUT_TLS: "database" })).toEqual([]);
  expect(lines("postgres://parbook@db/parbook", { PARBOOK_WITHOUT_TLS: "http" })).toEqual([rejected]);
  const migrates = { PARBOOK_MIGRATE_URL: "postgres://owner@db/parbook" };
  expect(lines("postgres://parbook@db/parbook?sslmode=verify-full", migrates)).toEqual([
    rejected.replace("DATABASE", "MIGRATE"),
  ]);
  expect(linesOf({ PARBOOK_DATABASE_URL: "postgres://parbook@db/parbook" })).toEqual([]);
});

test("an address of the database gives each parameter once, and has no fragment", () => {
  for (const name of ["PARBOOK_DATABASE_URL", "PARBOOK_MIGRATE_URL"]) {
    const lines = (query: string) =>
      linesOf({ PARBOOK_DATABASE_URL: "postgres://a@db/x", [name]: `postgres://parbook:hunter2@db/parbook${query}` });
    const twice = `${name} gives the parameter sslmode more than once`;
    expect(lines("?sslmode=verify-full&application_name=a&sslmode=disable")).toEqual([twice]);
    expect(lines("?sslmode=verify-full&sslm%6Fde=verify-full")).toEqual([twice]);
    expect(lines("?host=localhost&host=db")).toEqual([`${name} gives the parameter host more than once`]);
    expect(lines("#?sslmode=verify-full")).toEqual([`${name} has a fragment: write # as %23`]);
  }
});

test("a public address is a host and perhaps a port and a path, and what else it has is not shown", () => {
  const rule = "is not just a host and perhaps a port and a path: it has a user, query, fragment or space";
  for (const name of ["PARBOOK_BASE_URL", "PARBOOK_AUTH_URL"]) {
    const lines = (text: string) => linesOf({ [name]: text });
    for (const rest of ["/x?y", "/?", "/#z", "#", "/a b", "/ "]) {
      expect(lines(`https://localhost:26080${rest}`)).toEqual([`${name} "https://localhost:26080${rest}" ${rule}`]);
    }
    expect(lines("https://user:pw@localhost:26080/x?y#z")).toEqual([`${name} ${rule}`]);
    expect(lines("https://@localhost")).toEqual([`${name} ${rule}`]);
    expect(lines("https://localhost:26080/parbook/")).toEqual([]);
  }
});

test("a coin of one's own is a code that fits its market's, and is for sandboxes", () => {
  expect(readConfig({ PARBOOK_COIN: "ACMEUSD" }).coin).toBe("ACMEUSD");
  for (const wrong of ["acmeusd", "A", "A".repeat(14), "A-B"]) {
    expect(() => readConfig({ PARBOOK_COIN: wrong })).toThrow(
      `PARBOOK_COIN "${wrong}" is not a code of 2 to 13 capitals or digits, such as ACMEUSD`,
    );
  }
  expect(() => readConfig({ PARBOOK_COIN: "ACMEUSD", PARBOOK_MODE: "production" })).toThrow(
    "PARBOOK_COIN (--coin) is for a sandbox: in production list the coin in PARBOOK_CATALOGUE",
  );
});
