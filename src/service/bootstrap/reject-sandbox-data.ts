/**
 * Keeps sandbox data out of production: its client secrets were printed, and its balances are not backed by money. And keeps
 * sandboxes off production's database: they would add such data.
 */
import { access } from "node:fs/promises";
import type { Queryable } from "../../postgres/database.ts";
import type { Config } from "../config/config.ts";
import { StartupError } from "../startup-error.ts";
import type { BootstrapFile } from "./bootstrap-file.ts";
import { DEMO_CLIENT, demoFile } from "./demo-file.ts";

/** Generated secrets have 43 characters. */
const SHORTEST_SECRET = 20;

/** Secrets used in our documentation. */
const PUBLISHED: ReadonlySet<string> = new Set(["correct horse battery staple"]);

export async function rejectSandboxData(dataDir: string, bootstrap: BootstrapFile | undefined): Promise<void> {
  const path = demoFile(dataDir);
  const found = await access(path).then(
    () => true,
    () => false,
  );
  if (found) throw new StartupError(`${path} is the demo of a sandbox: production needs its own data directory`);
  const lines = (bootstrap?.customers ?? []).flatMap(({ clients = [] }) => clients.flatMap(clientErrors));
  if (lines.length > 0) throw new StartupError(...lines);
}

type BootstrapClient = NonNullable<BootstrapFile["customers"][number]["clients"]>[number];

function clientErrors({ client_id: clientId, client_secret: secret }: BootstrapClient): string[] {
  const client = `the client ${JSON.stringify(clientId)} of the bootstrap file`;
  if (DEMO_CLIENT.test(clientId)) return [`${client} belongs to a sandbox demo`];
  if (PUBLISHED.has(secret)) return [`${client} has a secret published in the documentation`];
  if (secret.length >= SHORTEST_SECRET) return [];
  return [`${client} has a secret of fewer than ${SHORTEST_SECRET} characters, which is guessable`];
}

const OF_ANOTHER_MODE = {
  sandbox: "the database is production's: set PARBOOK_MODE=production, or give the sandbox a database of its own",
  production: "the database was a sandbox's, with money that nobody paid in: production needs its own database",
} as const satisfies Record<Config["mode"], string>;

/** The first start decides for good which mode a database has. @throws StartupError when it has the other one */
export async function keepMode(database: Queryable, mode: Config["mode"]): Promise<void> {
  await database.rows("insert into service_mode (mode) values ($1) on conflict do nothing", [mode]);
  await rejectOtherMode(database, mode);
}

/** @throws StartupError when the database has the other mode; one that was never started on has none */
export async function rejectOtherMode(database: Queryable, mode: Config["mode"]): Promise<void> {
  const [kept] = await database.rows<{ mode: Config["mode"] }>("select mode from service_mode");
  if (kept !== undefined && kept.mode !== mode) throw new StartupError(OF_ANOTHER_MODE[mode]);
}

/** Recognises a sandbox database by its live demo clients. */
export async function rejectDemoClients(database: Queryable): Promise<void> {
  const rows = await database.rows<{ client_id: string }>(
    "select client_id from client where disabled_at is null and client_id ~ $1 order by client_id limit 10",
    [DEMO_CLIENT.source],
  );
  if (rows.length === 0) return;
  const names = rows.map(({ client_id }) => client_id).join(", ");
  throw new StartupError(`the database contains the demo of a sandbox (${names}): production needs its own database`);
}
