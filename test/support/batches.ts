/** Batches made by hand, for tests of what the lane builds of them. */
import {
  type Account,
  accountKey,
  accountTable,
  emptyAccount,
  entry,
  type Journal,
  journal,
  type Owner,
} from "../../src/ledger/accounts.ts";
import type { Caller } from "../../src/ledger/caller.ts";
import { accept, type Changes, type Claim } from "../../src/ledger/decision.ts";
import type { Key } from "../../src/ledger/tables.ts";
import type { Batch } from "../../src/ledger/writer/batch.ts";
import { PendingCommand } from "../../src/ledger/writer/pending-command.ts";
import type { RowCache } from "../../src/ledger/writer/reading/row-cache.ts";
import { type Amount, amountOf, negative } from "../../src/money/amount.ts";
import { USD } from "../../src/money/asset.ts";
import type { Instant } from "../../src/std/clock.ts";
import { IdSource } from "../../src/std/id.ts";

const ids = new IdSource();
const ONE = amountOf("1");
export const ENGINE: Caller = { house: "engine" };

/** An account in USD, as a lane remembers it. */
export function rememberAccount(cache: RowCache, owner: Owner, available: string, version: bigint, at = 0): Account {
  const account = { ...emptyAccount(owner, USD, 1), available: amountOf(available), version, at: at as Instant };
  cache.set(accountTable, accountKey(owner, USD).key, account);
  return account;
}

export function move(from: Owner, to: Owner, amount: Amount = ONE): Journal {
  return journal(ids.next(), "transfer", [entry(from, USD, negative(amount)), entry(to, USD, amount)]);
}

/** Adds changes to a batch as the lane does: a command depends on every account that it changes, and on other rows. */
export function add(to: Batch, changes: Changes, caller: Caller = ENGINE, others: readonly Key[] = []): void {
  const entries = (changes.journals ?? []).flatMap((one) => one.entries);
  const dependsOn = [...others, ...entries.map(({ owner, asset }) => accountKey(owner, asset))];
  to.dependOn(dependsOn);
  to.add(changes, caller, dependsOn);
}

/** A command that waits in a lane, and is accepted without changes unless its rule says otherwise. */
export function commandOn(claims: readonly Claim[] = [], deadline = 0, more = {}): PendingCommand {
  const decide = () => accept("done", {});
  const command = { queueKey: "acme", caller: { house: "engine" }, dependsOn: [], claims, decide, ...more };
  const callbacks = { resolve: () => undefined, reject: () => undefined, onComplete: () => undefined };
  return new PendingCommand(command as never, deadline as Instant, callbacks);
}
