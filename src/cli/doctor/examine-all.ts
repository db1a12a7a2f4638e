/** Everything that `parbook doctor` examines, in the state in which it is: nothing is changed, and nothing is required. */

import { loadCatalogue } from "../../catalogue/catalogue.ts";
import { rejectOwnCatalogue } from "../../catalogue/fill-catalogue.ts";
import { type Customers, findOwners } from "../../customers/customers.ts";
import { DatabaseComparedClock } from "../../ledger/compared-clock.ts";
import { readDatabaseTime } from "../../ledger/writer/lane-connection.ts";
import { Database } from "../../postgres/database.ts";
import { pendingMigrations, SchemaError } from "../../postgres/migrations.ts";
import { type BootstrapFile, readBootstrapFile } from "../../service/bootstrap/bootstrap-file.ts";
import { checkBootstrap } from "../../service/bootstrap/check-bootstrap.ts";
import { rejectDemoClients, rejectOtherMode, rejectSandboxData } from "../../service/bootstrap/reject-sandbox-data.ts";
import { readCatalogue } from "../../service/catalogue-file.ts";
import type { Config } from "../../service/config/config.ts";
import { readDialectFile } from "../../service/dialect-file.ts";
import {
  EXAMINATIONS_OF_LEDGER,
  EXAMINATIONS_OF_SERVER,
  type Examined,
  examine,
  REQUIRED_EXAMINATIONS,
} from "../../service/doctor/examine-database.ts";
import {
  EXAMINATIONS_OF_LIMITS,
  EXAMINATIONS_OF_MACHINE,
  EXAMINATIONS_OF_SERVICE,
} from "../../service/doctor/examine-node.ts";
import { accept, type Finding, type FindingName, finding, sortFindings } from "../../service/doctor/finding.ts";
import { readServerSettings } from "../../service/doctor/server-settings.ts";
import { type ProvidedDatabase, provideDatabase } from "../../service/provide-database.ts";
import { readTls, requireTls } from "../../service/tls.ts";
import { systemClock } from "../../std/clock.ts";
import { failureOf } from "../failure.ts";

export interface Report extends Examined {
  readonly mode: Config["mode"];
  /** As the server names it; undefined if it could not be asked. */
  readonly postgres: string | undefined;
}

const NOTHING: Examined = { findings: [], sound: [] };

/** @param readSettings throws InvalidSettings */
export async function examineAll(readSettings: () => Config): Promise<Report> {
  let config: Config;
  try {
    config = readSettings();
  } catch (error) {
    // Without settings it is not known where the database is.
    return { mode: "production", postgres: undefined, findings: failed("settings", error, CORRECT), sound: [] };
  }
  const about = { config, now: systemClock.now() };
  const isProduction = config.mode === "production";
  const { bootstrap, ...mode } = isProduction ? await examineProduction(config) : { ...SANDBOX, bootstrap: undefined };
  const { postgres, ...ofDatabase } = await examineDatabase(config, bootstrap);
  const service = isProduction
    ? await examine([...EXAMINATIONS_OF_SERVICE, ...EXAMINATIONS_OF_LIMITS], about)
    : NOTHING;
  const parts = [mode, ofDatabase, await examine(EXAMINATIONS_OF_MACHINE, about), service];
  const found = parts.flatMap((part) => part.findings);
  const findings = sortFindings(accept(found, config.accepted));
  const sound = parts.flatMap((part) => part.sound);
  // One part may have found what another did not.
  return { mode: config.mode, postgres, findings, sound: soundOf(sound, found) };
}

const CORRECT = "correct it";

/** Of a sandbox the rest of its settings is not judged. */
const SANDBOX: Examined = {
  findings: [
    finding("sandbox-mode", "the mode is sandbox", "PARBOOK_MODE=production, on a new database and data directory"),
  ],
  sound: [],
};

/** Without the database. The same functions as at start. */
async function examineProduction(
  config: Config,
): Promise<Examined & { readonly bootstrap?: BootstrapFile | undefined }> {
  const { bootstrap, dialect, dataDir } = config;
  const file =
    bootstrap === undefined ? undefined : await attempt("settings", CORRECT, () => readBootstrapFile(bootstrap));
  const findings = [
    await attempt("settings", CORRECT, async () => requireTls(config)),
    await attempt("settings", CORRECT, () => readTls(config)),
    await attempt("settings", CORRECT, () => readCatalogue(config)),
    // Whether Parbook has its words is seen only once everything is built.
    dialect === undefined ? undefined : await attempt("settings", CORRECT, () => readDialectFile(dialect)),
    file,
    await attempt("sandbox-data", OTHER_PLACE, () => rejectSandboxData(dataDir, file?.value)),
  ].flatMap((one) => one?.findings ?? []);
  return { findings, sound: soundOf(["settings", "sandbox-mode", "sandbox-data"], findings), bootstrap: file?.value };
}

const OTHER_PLACE = "use another database and data directory, and secrets of your own";

const soundOf = (covered: readonly FindingName[], findings: readonly Finding[]): FindingName[] =>
  covered.filter((name) => findings.every((one) => one.name !== name));

interface Attempt<Value> {
  readonly value: Value | undefined;
  readonly findings: readonly Finding[];
}

async function attempt<Value>(name: FindingName, fix: string, work: () => Promise<Value>): Promise<Attempt<Value>> {
  try {
    return { value: await work(), findings: [] };
  } catch (error) {
    return { value: undefined, findings: failed(name, error, fix) };
  }
}

const failed = (name: FindingName, error: unknown, fix: string): Finding[] =>
  linesOf(error).map((line) => finding(name, line, fix));

/** Without the heading of settings that are not valid. */
const linesOf = (error: unknown): readonly string[] =>
  (error as { readonly lines?: readonly string[] }).lines ?? failureOf(error).lines;

type OfDatabase = Examined & Pick<Report, "postgres">;

async function examineDatabase(config: Config, bootstrap: BootstrapFile | undefined): Promise<OfDatabase> {
  let provided: ProvidedDatabase | undefined;
  let database: Database | undefined;
  try {
    provided = await provideDatabase(config, "command", () => undefined);
    database = new Database({ connection: provided.service, maxConnections: 1, onIdleError: () => undefined });
    if (provided.kind === "external") await database.checkSessionsAreNotShared();
    return await examineReached(database, config, bootstrap);
  } catch (error) {
    const fix = "see the reason, and run it again";
    return { postgres: undefined, findings: failed("database-away", error, fix), sound: [] };
  } finally {
    await database?.close();
    await provided?.close();
  }
}

async function examineReached(
  database: Database,
  config: Config,
  bootstrap: BootstrapFile | undefined,
): Promise<OfDatabase> {
  const now = systemClock.now();
  const settings = await readServerSettings(database);
  const about = { database, settings, config, now };
  const server = await examine([...REQUIRED_EXAMINATIONS, ...EXAMINATIONS_OF_SERVER], about);
  const schema = await findSchema(database, config);
  const isMigrated = schema.length === 0;
  const ledger = isMigrated ? await examine(EXAMINATIONS_OF_LEDGER, about) : NOTHING;
  const forProduction = isMigrated && config.mode === "production" ? await findKept(database, config) : [];
  const inBootstrap =
    isMigrated && bootstrap !== undefined ? await findInBootstrap(database, bootstrap, config.mode) : [];
  const clock = await findClockDifference(database, config);
  const own = [...schema, ...clock, ...forProduction, ...inBootstrap];
  return {
    postgres: settings.server_version,
    findings: [...own, ...server.findings, ...ledger.findings],
    sound: [...soundOf(["database-away", "schema", "clock", "clock-drift"], own), ...server.sound, ...ledger.sound],
  };
}

/** What the database keeps of earlier starts. */
async function findKept(database: Database, { catalogue }: Config): Promise<Finding[]> {
  const mode = await attempt("sandbox-data", OTHER_PLACE, () => rejectOtherMode(database, "production"));
  const demo = await attempt("sandbox-data", OTHER_PLACE, () => rejectDemoClients(database));
  const isOwn = catalogue === undefined;
  const own = isOwn ? await attempt("settings", CORRECT, () => rejectOwnCatalogue(database)) : undefined;
  return [...mode.findings, ...demo.findings, ...(own?.findings ?? [])];
}

async function findInBootstrap(database: Database, file: BootstrapFile, mode: Config["mode"]): Promise<Finding[]> {
  const catalogue = await loadCatalogue(database);
  try {
    const customers: Pick<Customers, "ownersOf"> = { ownersOf: (named) => findOwners(database, named) };
    return [
      ...(await attempt("settings", CORRECT, () => checkBootstrap({ customers, catalogue, mode }, file))).findings,
    ];
  } finally {
    catalogue.close();
  }
}

async function findSchema(database: Database, { databaseUrl }: Config): Promise<Finding[]> {
  try {
    const pending = await pendingMigrations(database);
    if (pending.length === 0) return [];
    const fix = databaseUrl === undefined ? "parbook start migrates it" : "PARBOOK_MIGRATE_URL=... parbook migrate";
    return [finding("schema", `the database lacks ${pending.join(", ")}`, fix)];
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    return [finding("schema", error.message, "see docs/upgrade.md")];
  }
}

async function findClockDifference(database: Database, { clockToleranceMs }: Config): Promise<Finding[]> {
  const clock = new DatabaseComparedClock(systemClock, { toleranceMs: clockToleranceMs });
  await clock.measure(() => readDatabaseTime(database));
  const { fault, aheadMs } = clock;
  const fix = "let both machines follow one time server (timedatectl)";
  if (fault !== undefined) return [finding("clock", fault, fix)];
  if (Math.abs(aheadMs) <= clockToleranceMs / 2) return [];
  const side = aheadMs > 0 ? "ahead of" : "behind";
  return [finding("clock-drift", `this clock is ${Math.abs(aheadMs)} ms ${side} the database's`, fix)];
}
