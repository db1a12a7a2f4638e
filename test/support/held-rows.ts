/** Rows that other processes hold, without a database, and commands that need them. */
import { accountKey, type ProfileId } from "../../src/ledger/accounts.ts";
import type { Key } from "../../src/ledger/tables.ts";
import { type AnyCommand, PendingCommand } from "../../src/ledger/writer/pending-command.ts";
import { USD } from "../../src/money/asset.ts";
import type { Database } from "../../src/postgres/database.ts";
import { withResolvers } from "../../src/std/with-resolvers.ts";

/** A database in which every row is held until the test calls what was `asked` for it. */
export function heldRows() {
  const asked: (() => void)[] = [];
  const rows = async (text: string) => {
    if (!text.includes("for update")) return [];
    const { promise, resolve } = withResolvers<void>();
    asked.push(resolve);
    await promise;
    return [];
  };
  const transaction = async (work: (inside: { rows: typeof rows }) => Promise<void>) => work({ rows });
  return { asked, database: { transaction } as unknown as Database };
}

export const rowOf = (name: string): Key => accountKey(name as ProfileId, USD);

/** One that needs these rows. */
export function pendingFor(queueKey: string, dependsOn: readonly Key[]): PendingCommand {
  const command = { queueKey, dependsOn } as unknown as AnyCommand;
  return new PendingCommand(command, 0 as never, { resolve: () => {}, reject: () => {}, onComplete: () => {} });
}

export const pendingOf = (queueKey: string, ...names: string[]): PendingCommand =>
  pendingFor(queueKey, names.map(rowOf));
