/** Rows that other processes hold, without a database, and commands that need them. */
import { accountKey, type ProfileId } from "../../src/ledger/accounts.ts";
import type { Key } from "../../src/ledger/tables.ts";
import { TAKE_TURN } from "../../src/ledger/writer/customer-turns.ts";
import { type AnyCommand, PendingCommand } from "../../src/ledger/writer/pending-command.ts";
import { USD } from "../../src/money/asset.ts";
import type { Database } from "../../src/postgres/database.ts";
import { withResolvers } from "../../src/std/with-resolvers.ts";

/**
 * A database in which every row is held until the test calls what was `asked` for it, and with `holdTurns` every customer's turn
 * until it calls what is in `answerTurn`.
 */
export function heldRows({ holdTurns = false } = {}) {
  const asked: (() => void)[] = [];
  const answerTurn: (() => void)[] = [];
  const rows = async (text: string) => {
    const list = text.includes("for update") ? asked : text === TAKE_TURN && holdTurns ? answerTurn : undefined;
    if (list === undefined) return [];
    const { promise, resolve } = withResolvers<void>();
    list.push(resolve);
    await promise;
    return [];
  };
  const transaction = async (work: (inside: { rows: typeof rows }) => Promise<void>) => work({ rows });
  return { asked, answerTurn, database: { transaction } as unknown as Database };
}

export const rowOf = (name: string): Key => accountKey(name as ProfileId, USD);

/** One that needs these rows. */
export function pendingFor(queueKey: string, dependsOn: readonly Key[]): PendingCommand {
  const command = { queueKey, dependsOn } as unknown as AnyCommand;
  return new PendingCommand(command, 0 as never, { resolve: () => {}, reject: () => {}, onComplete: () => {} });
}

export const pendingOf = (queueKey: string, ...names: string[]): PendingCommand =>
  pendingFor(queueKey, names.map(rowOf));
