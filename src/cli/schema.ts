/** `parbook schema`: writes migrations/schema.sql, the readable result of all migrations. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { dumpSchema } from "../postgres/schema-dump.ts";
import { openFoundation } from "../service/core.ts";
import { createLogger } from "../service/logger.ts";
import { addCommand, type CommandResult, commandConfig, setAction } from "./command.ts";

/** The same relative path works from `src/` and `dist/`. */
const FILE = fileURLToPath(new URL("../../migrations/schema.sql", import.meta.url));

const HEAD = `-- What the migrations make, written by \`npm run schema\` from a new database: to be read, never to be applied.
-- A comment stands above what it describes; that of a primary key or an index says which queries need it. "service"
-- stands for the role that the service connects as, and each grant for everything that it may do.
--
-- The ledger: an account is one owner's balance of one asset. Every change of it is a posting, and the postings of a
-- journal sum to zero in each asset. A row that changes carries its version in seq, and the batch (slot, batch) that wrote
-- it; a row that is only added carries the batch that added it. Each batch is a link of a hash chain.
-- docs/schema.md has diagrams, docs/glossary.md the words.

`;

export function addSchema(program: Command): void {
  const schema = addCommand(program, "schema", {
    summary: "write migrations/schema.sql from a freshly migrated database",
    examples: ["schema", "schema --check"],
  }).option("--check", "write nothing; exit code 1 if the file is out of date");
  setAction(schema, ({ check }: { check?: true }) => (check === true ? checkSchema() : writeSchema()));
}

async function writeSchema(): Promise<CommandResult> {
  await writeFile(FILE, HEAD + (await schemaOfNewDatabase()));
  return { json: { file: FILE }, prose: [`wrote ${FILE}`] };
}

async function checkSchema(): Promise<CommandResult> {
  const wanted = HEAD + (await schemaOfNewDatabase());
  const found = await readFile(FILE, "utf8").catch(() => "");
  if (found === wanted) return { json: { file: FILE, up_to_date: true }, prose: [`${FILE} is up to date`] };
  const line = firstDifference(found, wanted);
  return {
    json: { file: FILE, up_to_date: false, first_different_line: line },
    prose: [`${FILE} is out of date from line ${line} on: run npm run schema`],
    failed: true,
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
async function schemaOfNewDatabase(): Promise<string> {
  const config = commandConfig();
  const dataDir = await mkdtemp(join(tmpdir(), "parbook-schema-"));
  try {
    const fresh = { ...config, mode: "sandbox", databaseUrl: undefined, migrateUrl: undefined, dataDir } as const;
    const foundation = await openFoundation(fresh, "serve", createLogger(config, 2));
    try {
      const [role] = await foundation.database.rows<{ name: string }>("select current_user as name");
      return await dumpSchema(foundation.database, role?.name ?? "");
    } finally {
      await foundation.close();
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}
