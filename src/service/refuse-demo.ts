/**
 * What a sandbox leaves behind has no place in production: its clients' secrets were printed for everybody to see, and
 * nobody has paid its money in.
 */
import { access } from "node:fs/promises";
import type { Queryable } from "../postgres/database.ts";
import type { BootstrapFile } from "./bootstrap-file.ts";
import { StartupError } from "./core.ts";
import { DEMO_CLIENT, demoFile } from "./demo-file.ts";

/** Those that we make have more than twice as many characters. */
const SHORTEST_SECRET = 20;

/** Secrets that stand in our own documents. */
const PUBLISHED: ReadonlySet<string> = new Set(["correct horse battery staple"]);

export async function refuseDemo(dataDir: string, bootstrap: BootstrapFile | undefined): Promise<void> {
  const path = demoFile(dataDir);
  const found = await access(path).then(
    () => true,
    () => false,
  );
  if (found) throw new StartupError(`${path} is a sandbox's demo: production starts on a data directory of its own`);
  const lines = (bootstrap?.customers ?? []).flatMap(({ clients = [] }) => clients.flatMap(wrongsOf));
  if (lines.length > 0) throw new StartupError(...lines);
}

type BootstrapClient = NonNullable<BootstrapFile["customers"][number]["clients"]>[number];

function wrongsOf({ client_id: clientId, client_secret: secret }: BootstrapClient): string[] {
  const client = `the client ${JSON.stringify(clientId)} of the bootstrap file`;
  if (DEMO_CLIENT.test(clientId)) return [`${client} is a sandbox's demo`];
  if (PUBLISHED.has(secret)) return [`${client} has a secret that stands in the documents`];
  if (secret.length >= SHORTEST_SECRET) return [];
  return [`${client} has a secret of fewer than ${SHORTEST_SECRET} characters, which can be guessed`];
}

/** A database that a sandbox has served, found by its live demo clients. */
export async function refuseDemoClients(database: Queryable): Promise<void> {
  const rows = await database.rows<{ client_id: string }>(
    "select client_id from client where disabled_at is null and client_id ~ $1 order by client_id limit 10",
    [DEMO_CLIENT.source],
  );
  if (rows.length === 0) return;
  const names = rows.map(({ client_id }) => client_id).join(", ");
  throw new StartupError(`the database has a sandbox's demo in it (${names}): production starts on one of its own`);
}
