/** The rows that a command depends on, as they will be after changes that are decided but not yet added to a batch. */

import { type Account, accountKey, accountTable, applyEntry, emptyAccount } from "../ledger/accounts.ts";
import type { Changes, State } from "../ledger/decision.ts";
import type { StateRow, StateTable } from "../ledger/tables.ts";
import { assert } from "../std/assert.ts";

/**
 * For a command of several parts, each of which is decided on what the parts before it leave. Follows balances only: parts
 * that change other rows, or house accounts, are not for it.
 */
export class BalancesSoFar implements State {
  readonly #before: State;
  readonly #accounts = new Map<string, Account>();

  constructor(before: State) {
    this.#before = before;
  }

  get<Row extends StateRow>(table: StateTable<Row>, key: string): Row | undefined {
    const account = isAccountTable(table) ? this.#accounts.get(key) : undefined;
    return (account as Row | undefined) ?? this.#before.get(table, key);
  }

  apply({ journals = [], states = [] }: Changes): void {
    assert(states.length === 0, "a part of a command changes balances only");
    for (const { entries } of journals) {
      for (const entry of entries) {
        const { key } = accountKey(entry.owner, entry.asset);
        const account = this.get(accountTable, key) ?? emptyAccount(entry.owner, entry.asset, 0);
        this.#accounts.set(key, applyEntry(account, entry));
      }
    }
  }
}

const isAccountTable = (table: { readonly name: string }): boolean => table.name === accountTable.name;
