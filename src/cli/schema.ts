/** `parbook schema`: writes migrations/schema.sql, the readable result of all migrations, and the indexes of docs/schema.md. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import type { Queryable } from "../postgres/database.ts";
import { describeIndexes, dumpSchema } from "../postgres/schema-dump.ts";
import { openFoundation } from "../service/core.ts";
import { createLogger } from "../service/logger.ts";
import { addCommand, type CommandResult, commandConfig, setAction } from "./command.ts";

/** The same relative paths work from `src/` and `dist/`. */
const SCHEMA = fileURLToPath(new URL("../../migrations/schema.sql", import.meta.url));
const DOCUMENT = fileURLToPath(new URL("../../docs/schema.md", import.meta.url));
/** The rest of the document is written. */
const WRITTEN = "<!-- From here on written by `npm run schema` from the comments of the migrations. -->\n";

const HEAD = `-- What the migrations make, written by \`npm run schema\` from a new database: to be read, never to be applied.
-- A comment stands above what it describes; that of a primary key or an index says which queries need it. "service"
-- stands for the role that the service connects as, and each grant for everything that it may do.
--
-- The ledger: an account is one owner's balance of one asset. Every change of it is a posting, and the postings of a
-- journal sum to zero in each asset. Each batch is a link of the hash chain of its slot. posting, transfer and execution
-- are only added to: a row carries the batch that added it. profile, market, market_head, external_transfer, legal_hold,
-- conversion, orders, customer_volume and webhook_disabling change: a row carries its version and the batch (slot, batch) that
-- wrote it, which has its digest. So does configuration_write, from when a batch has sealed it. An account carries its version, which its last posting made. No other table is part of the chain.
--
-- Ids are UUIDs of version 7 (RFC 9562), made by the application: 48 bits of milliseconds, so that their order is that of
-- creation, as far as clocks agree; and unique in the ledger by random bits. They are even: their last bit is 0. The odd id
-- beside one is the same with the last bit 1. The operator may have chosen the ids of customers and profiles. UUIDs of
-- version 8 are made of something else, as their columns say. Executions are numbered.
--
-- Tables that grow with transfers and orders have no foreign keys to each other, on purpose: rows of different profiles
-- could be in different databases (docs/decisions/0002-tables-that-can-be-distributed.md). verify follows what they refer to:
-- rows to batches, journals to records, executions to orders, accounts to postings, claims to records.
--
-- Nothing that is part of the chain is ever removed, nor are customers and claims. Removed are: events and access denials
-- that are old, book changes, secrets and signing keys that have ended, rates that were replaced, cancels that are done, and
-- rows of pending_order and booked_order when their order goes on.
--
-- verify: \`parbook verify\`, which recomputes all this and names what does not fit. catalogue: catalogue.json, the assets
-- and markets that the operator adds. bootstrap file: customers, clients and profiles that are made when the service starts.
-- sandbox: an installation for trying things out, where the API makes deposits. slot: one of 64 seats of writers. operator:
-- who runs the parbook command on the machine. engine: the process that matches the orders of a market. lot: the smallest
-- step of a base amount.
-- docs/schema.md has diagrams, docs/glossary.md the words.

`;

export function addSchema(program: Command): void {
  const schema = addCommand(program, "schema", {
    summary: "write migrations/schema.sql and the indexes of docs/schema.md from a freshly migrated database",
    examples: ["schema", "schema --check"],
  }).option("--check", "write nothing; exit code 1 if a file is out of date");
  setAction(schema, ({ check }: { check?: true }) => (check === true ? checkSchema() : writeSchema()));
}

interface GeneratedFile {
  readonly path: string;
  readonly found: string;
  readonly wanted: string;
}

async function writeSchema(): Promise<CommandResult> {
  const files = await generate();
  for (const { path, wanted } of files) await writeFile(path, wanted);
  return { json: { files: files.map(({ path }) => path) }, prose: files.map(({ path }) => `wrote ${path}`) };
}

async function checkSchema(): Promise<CommandResult> {
  const outdated = (await generate())
    .filter(({ found, wanted }) => found !== wanted)
    .map(({ path, found, wanted }) => ({ file: path, first_different_line: firstDifference(found, wanted) }));
  return {
    json: { up_to_date: outdated.length === 0, outdated },
    prose:
      outdated.length === 0
        ? ["up to date"]
        : outdated.map(
            ({ file, first_different_line: line }) => `${file} is out of date from line ${line} on: run npm run schema`,
          ),
    failed: outdated.length > 0,
  };
}

/** 1-based. */
function firstDifference(found: string, wanted: string): number {
  const other = wanted.split("\n");
  const lines = found.split("\n");
  const index = lines.findIndex((line, i) => line !== other[i]);
  return (index === -1 ? lines.length : index) + 1;
}

/** Always uses a temporary embedded server, never the configured database. */
async function generate(): Promise<GeneratedFile[]> {
  const config = commandConfig();
  const dataDir = await mkdtemp(join(tmpdir(), "parbook-schema-"));
  try {
    const fresh = { ...config, mode: "sandbox", databaseUrl: undefined, migrateUrl: undefined, dataDir } as const;
    const foundation = await openFoundation(fresh, "serve", createLogger(config, 2));
    try {
      return [await schemaFile(foundation.database), await documentFile(foundation.database)];
    } finally {
      await foundation.close();
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function schemaFile(database: Queryable): Promise<GeneratedFile> {
  const [role] = await database.rows<{ name: string }>("select current_user as name");
  const wanted = HEAD + (await dumpSchema(database, role?.name ?? ""));
  return { path: SCHEMA, found: await readFile(SCHEMA, "utf8").catch(() => ""), wanted };
}

async function documentFile(database: Queryable): Promise<GeneratedFile> {
  const found = await readFile(DOCUMENT, "utf8");
  const [before] = found.split(WRITTEN);
  return { path: DOCUMENT, found, wanted: `${before}${WRITTEN}${await describeIndexes(database)}\n` };
}
