/** The tables of the simulated PostgreSQL: rows as the driver returns them, and their constraints. */
import pg from "pg";
import { must } from "../../../src/std/assert.ts";

/** `numeric` and `bigint` as text, `timestamptz` as an instant, `bytea` as a buffer, `jsonb` parsed, `json` as text. */
export type Row = Readonly<Record<string, unknown>>;

/** The columns of each table's primary key, and the name of its constraint where it is not the usual one. */
const PRIMARY_KEYS: Readonly<Record<string, readonly string[]>> = {
  account: ["owner_id", "asset"],
  batch: ["slot", "n"],
  booked_order: ["market", "id"],
  claim: ["customer_id", "kind", "ref_id"],
  configuration_write: ["id"],
  conversion: ["profile_id", "id"],
  execution: ["profile_id", "id"],
  external_transfer: ["customer_id", "id"],
  fee_agreement: ["customer_id", "market"],
  lease: ["name"],
  legal_hold: ["profile_id", "id"],
  market: ["code"],
  market_head: ["market"],
  order_cancel: ["profile_id", "order_id"],
  orders: ["profile_id", "id"],
  pending_order: ["market", "id"],
  posting: ["owner_id", "asset", "version"],
  profile: ["id"],
  customer_volume: ["customer_id", "day", "market"],
  event: ["customer_id", "first_number"],
  event_cut: ["cut"],
  transfer: ["customer_id", "id"],
  webhook_disabling: ["customer_id", "id"],
};

interface UniqueIndex {
  readonly constraint: string;
  readonly columns: readonly string[];
  readonly isIn: (row: Row) => boolean;
}

/** Of tables whose rows never change. */
const UNIQUE_INDEXES: Readonly<Record<string, readonly UniqueIndex[]>> = {
  transfer: [
    {
      constraint: "transfer_ref_id_already_used",
      columns: ["customer_id", "ref_id"],
      isIn: ({ ref_id }) => ref_id !== null,
    },
    {
      constraint: "chain_transaction_already_deposited",
      columns: ["digits", "crypto_tx_index"],
      isIn: ({ crypto_tx_hash, from_profile_id }) => crypto_tx_hash !== null && from_profile_id === null,
    },
  ],
};

/** What a row has in the unique indexes of its table, the primary key aside. */
export function uniqueEntries(table: string, row: Row): { readonly constraint: string; readonly entry: string }[] {
  const indexes = (UNIQUE_INDEXES[table] ?? []).filter(({ isIn }) => isIn(row));
  return indexes.map(({ constraint, columns }) => ({ constraint, entry: entryOf(constraint, columns, row) }));
}

/** What an index has in place of a column. */
const EXPRESSIONS: Readonly<Record<string, (row: Row) => unknown>> = {
  digits: ({ crypto_tx_hash }) => String(crypto_tx_hash).replace(/^0x/, ""),
};

function entryOf(constraint: string, columns: readonly string[], row: Row): string {
  const textOf = (column: string): unknown => row[column] ?? EXPRESSIONS[column]?.(row) ?? null;
  return `${constraint} ${columns.map((column) => String(textOf(column))).join("/")}`;
}

export const TABLE_NAMES = Object.keys(PRIMARY_KEYS);

export function primaryKey(table: string): readonly string[] {
  return must(PRIMARY_KEYS[table], `the simulated database has a table ${table}`);
}

export function keyOfRow(table: string, row: Row): string {
  return primaryKey(table)
    .map((column) => String(row[column]))
    .join("/");
}

/** Of a row, these columns. */
export function pick(row: Row, columns: string): Row {
  return Object.fromEntries(columns.split(", ").map((column) => [column, row[column] ?? null]));
}

/** A row that a transaction writes; undefined when it deletes the row. */
export interface Write {
  readonly table: string;
  readonly key: string;
  readonly row: Row | undefined;
  /** By the database's clock; its commit may be a while later. */
  readonly writtenAt: number;
}

export class Tables {
  readonly #tables = new Map<string, Map<string, Row>>(TABLE_NAMES.map((name) => [name, new Map()]));
  /** The rows that unique indexes have. */
  readonly #entries = new Map<string, Row>();

  get(table: string, key: string): Row | undefined {
    return this.#of(table).get(key);
  }

  rows(table: string): Row[] {
    return [...this.#of(table).values()];
  }

  apply({ table, key, row }: Pick<Write, "table" | "key" | "row">): void {
    if (row === undefined) this.#of(table).delete(key);
    else {
      this.#of(table).set(key, row);
      for (const { entry } of uniqueEntries(table, row)) this.#entries.set(entry, row);
    }
  }

  /** The row that a unique index has with these values. */
  withEntry(entry: string): Row | undefined {
    return this.#entries.get(entry);
  }

  /** The row that a unique index has with the values that `values` has in its columns. */
  find(table: string, constraint: string, values: Row): Row | undefined {
    const index = must(
      UNIQUE_INDEXES[table]?.find((each) => each.constraint === constraint),
      `the simulated database has an index ${constraint}`,
    );
    return this.#entries.get(entryOf(constraint, index.columns, values));
  }

  #of(table: string): Map<string, Row> {
    return must(this.#tables.get(table), `the simulated database has a table ${table}`);
  }
}

/** An error as PostgreSQL sends it. */
export function serverFault(code: string, message: string, constraint?: string): Error {
  const error = new pg.DatabaseError(message, message.length, "error");
  error.code = code;
  if (constraint !== undefined) error.constraint = constraint;
  return error;
}

export function uniqueViolation(constraint: string): Error {
  return serverFault("23505", `duplicate key value violates unique constraint "${constraint}"`, constraint);
}

type Check = readonly [constraint: string, holds: (row: Row) => boolean];

const amount = (value: unknown): number => Math.sign(Number(value));

/** The versions that an external transfer can have with each status. */
const STEPS: Readonly<Record<string, readonly string[]>> = {
  ...{ requested: ["1"], approved: ["2"], sent: ["3"] },
  ...{ completed: ["2", "4"], failed: ["2", "4"], cancelled: ["2", "3"] },
};

/** In the order in which PostgreSQL checks them: by name. */
const CHECKS: Readonly<Record<string, readonly Check[]>> = {
  account: [
    ["coin_and_custodian_of_house", (row) => row.house !== null || (row.coin === null && row.custodian === null)],
    ["house_has_one_part", (row) => row.house === null || (amount(row.trading) === 0 && amount(row.pending) === 0)],
    ["house_has_sign", (row) => (row.house === null) === (row.may_be_negative === null)],
    [
      "last_deactivation_of_profile",
      (row) => Number(row.last_deactivation) === 0 || (Number(row.last_deactivation) > 0 && row.house === null),
    ],
    ["not_overdrawn", (row) => amount(row.available) >= 0 || row.may_be_negative === true],
    ["owner_is_house", (row) => (row.house !== null) === String(row.owner_id) >= "ffffffff"],
    ["pending_not_negative", (row) => amount(row.pending) >= 0],
    ["trading_not_negative", (row) => amount(row.trading) >= 0],
    ["version_not_negative", (row) => amount(row.version) >= 0],
  ],
  batch: [
    ["chain_broken", (row) => row.predecessor === 1 || row.n === "0"],
    ["clock_ahead", (row) => row.not_ahead !== false],
    ["claims_already_made", (row) => row.claims_made === row.claims_expected],
    ["rows_changed_meanwhile", (row) => row.rows_found === row.rows_expected],
    ["too_late", (row) => row.in_time === true],
    [
      "void_decides_nothing",
      ({ void: isVoid, not_ahead: notAhead, changes, callers }) =>
        isVoid === true ? [notAhead, changes, callers].every((value) => (value ?? null) === null) : notAhead !== null,
    ],
  ],
  conversion: [
    ["cancelled_has_time", (row) => (row.status === "CANCELLED") === (row.cancelled_at !== null)],
    ["closed_in_second_version", ({ version, status }) => version === (status === "CREATED" ? "1" : "2")],
    ["settled_has_time", (row) => (row.status === "SETTLED") === (row.settled_at !== null)],
  ],
  execution: [
    ["commission_of_taker_only", ({ commission, id }) => amount(commission) === 0 || BigInt(String(id)) % 2n === 1n],
    ["rebate_of_maker_only", ({ rebate, id }) => amount(rebate) === 0 || BigInt(String(id)) % 2n === 0n],
  ],
  external_transfer: [
    [
      "failed_or_cancelled_has_reason",
      (row) => ["failed", "cancelled"].includes(String(row.status)) === (row.reason !== null),
    ],
    ["index_of_transaction", (row) => row.crypto_tx_index === null || row.crypto_tx_hash !== null],
    [
      "transaction_since_sent",
      (row) => row.crypto_tx_hash === null || ["sent", "completed", "failed"].includes(String(row.status)),
    ],
    [
      "version_is_the_number_of_steps",
      ({ status, version }) => (STEPS[String(status)] ?? []).includes(String(version)),
    ],
  ],
  legal_hold: [
    [
      "placed_and_then_lifted",
      ({ version, lifted_at, lifted_by }) =>
        version === (lifted_at === null ? "1" : "2") && (lifted_at === null) === (lifted_by === null),
    ],
  ],
  orders: [
    [
      "closed_has_time_and_holds_nothing",
      (row) => {
        const isClosed = ["FILLED", "CANCELLED", "REJECTED", "EXPIRED"].includes(String(row.status));
        return (row.closed_at !== null) === isClosed && (!isClosed || amount(row.held) === 0);
      },
    ],
    [
      "filled_in_full",
      ({ status, filled, base_amount: base }) =>
        status !== "FILLED" || (amount(filled) > 0 && (base === null || Number(filled) === Number(base))),
    ],
    ["open_has_its_place", (row) => row.status !== "OPEN" || (row.sequence !== null && row.priority !== null)],
    ["rejected_has_filled_nothing", ({ status, filled }) => status !== "REJECTED" || amount(filled) === 0],
    ["submitted_was_taken", (row) => row.status !== "SUBMITTED" || row.sequence !== null],
    ["triggered_only_at_stop_price", (row) => row.is_triggered === false || row.stop_price !== null],
  ],
  posting: [
    ["not_overdrawn", (row) => amount(row.available) >= 0 || String(row.owner_id) >= "ffffffff"],
    ["pending_not_negative", (row) => amount(row.pending) >= 0],
    ["trading_not_negative", (row) => amount(row.trading) >= 0],
  ],
  profile: [
    [
      "inactive_since_last_deactivation",
      (row) => {
        const last = Number(row.last_deactivation);
        return last >= 0 && last <= Number(row.version) && (row.status === "ACTIVE" || last > 0);
      },
    ],
    ["incoming_count_not_negative", (row) => amount(row.incoming_count) >= 0],
  ],
  transfer: [
    [
      "sides_fit_type",
      ({ type, from_profile_id: from, to_profile_id: to }) => {
        if (!/_(?:DEPOSIT|WITHDRAWAL)$/.test(String(type))) return from !== null && to !== null;
        const isDeposit = String(type).endsWith("_DEPOSIT");
        return (from === null) === isDeposit && (to === null) === !isDeposit;
      },
    ],
  ],
};

/** Throws as PostgreSQL does when the row violates a CHECK constraint. */
export function checkRow(table: string, row: Row): void {
  for (const [constraint, holds] of CHECKS[table] ?? []) {
    if (holds(row)) continue;
    const message = `new row for relation "${table}" violates check constraint "${constraint}"`;
    throw serverFault("23514", message, constraint);
  }
}
