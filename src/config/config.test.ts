import { resolve } from "node:path";
import { expect, test } from "vitest";
import { readConfig, WrongSettings } from "./config.ts";

function linesOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment);
  } catch (error) {
    if (error instanceof WrongSettings) return error.lines;
    throw error;
  }
  return [];
}

test("without settings it is a sandbox on loopback with an embedded database", () => {
  expect(readConfig({ HOME: "/root", PATH: "/bin" })).toEqual({
    mode: "sandbox",
    host: "127.0.0.1",
    port: 8080,
    authPort: 8081,
    baseUrl: undefined,
    authUrl: undefined,
    dataDir: resolve("data"),
    databaseUrl: undefined,
    migrateUrl: undefined,
    bootstrap: undefined,
    roles: new Set(["api", "auth", "engine", "worker"]),
    settlementDelayMs: 0,
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
    PARBOOK_DATA_DIR: "/var/lib/parbook",
    PARBOOK_DATABASE_URL: "postgres://parbook@db/parbook",
    PARBOOK_MIGRATE_URL: "postgresql://owner@db/parbook",
    PARBOOK_BOOTSTRAP: "/etc/parbook.json",
    PARBOOK_ROLES: "api, engine",
    PARBOOK_SETTLEMENT_DELAY_MS: "250",
    PARBOOK_LOG_LEVEL: "",
  });
  expect(config).toEqual({
    mode: "production",
    host: "::1",
    port: 0,
    authPort: 0,
    baseUrl: "https://api.example.com",
    authUrl: "https://auth.example.com",
    dataDir: "/var/lib/parbook",
    databaseUrl: "postgres://parbook@db/parbook",
    migrateUrl: "postgresql://owner@db/parbook",
    bootstrap: "/etc/parbook.json",
    roles: new Set(["api", "engine"]),
    settlementDelayMs: 250,
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
    PARBOOK_ROLES: "api,cook",
    PARBOOK_SETTLEMENT_DELAY_MS: "-1",
    PARBOOK_LOG_LEVEL: "loud",
    PARBOOK_DATABSE_URL: "postgres://parbook@db/parbook",
  });
  expect(lines).toEqual([
    'PARBOOK_MODE "prod" is not one of sandbox, production',
    'PARBOOK_PORT "65536" is not a whole number from 0 to 65535',
    'PARBOOK_AUTH_PORT "80a" is not a whole number from 0 to 65535',
    'PARBOOK_BASE_URL "api.example.com" is not an address that begins with http:// or https://',
    'PARBOOK_AUTH_URL "ftp://auth.example.com" is not an address that begins with http:// or https://',
    "PARBOOK_DATABASE_URL is not an address that begins with postgres:// or postgresql://",
    'PARBOOK_ROLES "api,cook" is not a list of api, auth, engine, worker',
    'PARBOOK_SETTLEMENT_DELAY_MS "-1" is not a whole number from 0 to 2592000000',
    'PARBOOK_LOG_LEVEL "loud" is not one of trace, debug, info, warn, error, fatal, silent',
    "PARBOOK_DATABSE_URL is not a setting of Parbook",
  ]);
});

test("settings that contradict each other are wrong", () => {
  expect(linesOf({ PARBOOK_PORT: "9000", PARBOOK_AUTH_PORT: "9000" })).toEqual([
    "PARBOOK_PORT and PARBOOK_AUTH_PORT are both 9000: they are two servers",
  ]);
  expect(linesOf({ PARBOOK_MIGRATE_URL: "postgres://owner@db/parbook" })).toEqual([
    "PARBOOK_MIGRATE_URL is set without PARBOOK_DATABASE_URL: the embedded database migrates itself",
  ]);
});
