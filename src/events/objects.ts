/** The objects of events, each as it was in the event's version. */
import { type Conversion, conversionTable } from "../conversions/conversion.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import { type Profile, profileTable } from "../customers/profiles/profiles.ts";
import { type Execution, executionTable } from "../exchange/execution.ts";
import { type MarketState, marketTable } from "../exchange/market-state.ts";
import { type Order, orderTable } from "../exchange/order.ts";
import { type AnyRecordTable, type AnyStateTable, columnsOf, type SqlRecord } from "../ledger/tables.ts";
import type { Queryable } from "../postgres/database.ts";
import { must } from "../std/assert.ts";
import type { Uuid } from "../std/id.ts";
import { externalTransferTable } from "../transfers/external-transfer.ts";
import type { TransferRecord, Transfers } from "../transfers/transfers.ts";
import type { Entry } from "./event-rows.ts";
import { type ObjectType, objectTypeOf } from "./event-types.ts";
import type { State } from "./facts.ts";
import { readObjects } from "./store.ts";

export type EventObject =
  | { readonly type: "transfer"; readonly value: TransferRecord }
  | { readonly type: "execution"; readonly value: Execution }
  | { readonly type: "conversion"; readonly value: Conversion }
  | { readonly type: "order"; readonly value: Order }
  | { readonly type: "profile"; readonly value: ShownProfile }
  | { readonly type: "market"; readonly value: Pick<MarketState, "code" | "status"> };

/** What its customer sees of a profile. */
export type ShownProfile = Omit<Profile, "incomingCount" | "lastDeactivation">;

interface Parts {
  readonly database: Queryable;
  readonly transfers: Pick<Transfers, "findRecords">;
}

/** The object of each of these events of one customer, in order. */
export async function objectsOf(
  { database, transfers }: Parts,
  customerId: CustomerId,
  entries: readonly Entry[],
): Promise<EventObject[]> {
  const idsOf = (wanted: ObjectType): string[] => {
    const own = entries.filter(({ type }) => objectTypeOf(type) === wanted);
    return [...new Set(own.map(({ objectId }) => objectId))];
  };
  const read = async (wanted: ObjectType, table: AnyRecordTable | AnyStateTable): Promise<Map<string, SqlRecord>> => {
    const ids = idsOf(wanted);
    if (ids.length === 0) return new Map();
    const type = must(
      table.columns.find(({ name }) => name === "id"),
      "it has an id",
    ).type;
    const rows = await readObjects(
      database,
      { name: table.name, columns: columnsOf(table), idType: type },
      customerId,
      ids,
    );
    return new Map(rows.map((row) => [row.id as string, row]));
  };
  const records = await listRecords(transfers, customerId, idsOf("transfer") as Uuid[]);
  const executions = await read("execution", executionTable);
  const conversions = await read("conversion", conversionTable);
  const orders = await read("order", orderTable);
  const profiles = await read("profile", profileTable);
  const objectOf: Readonly<Record<ObjectType, (entry: Entry) => EventObject>> = {
    transfer: (entry) => ({ type: "transfer", value: transferAt(found(records, entry), entry) }),
    execution: (entry) => ({ type: "execution", value: executionTable.read(found(executions, entry)) }),
    conversion: (entry) => ({
      type: "conversion",
      value: conversionTable.read(asOf(conversionTable, found(conversions, entry), entry)),
    }),
    order: (entry) => ({ type: "order", value: orderTable.read(asOf(orderTable, found(orders, entry), entry)) }),
    profile: (entry) => ({
      type: "profile",
      value: profileTable.read(asOf(profileTable, found(profiles, entry), entry)),
    }),
    market: (entry) => ({
      type: "market",
      value: marketTable.read(asOf(marketTable, { code: entry.objectId }, entry)),
    }),
  };
  return entries.map((entry) => objectOf[objectTypeOf(entry.type)](entry));
}

function found<Row>(rows: ReadonlyMap<string, Row>, { objectId }: Entry): Row {
  return must(rows.get(objectId), "an event has its object");
}

async function listRecords(
  transfers: Pick<Transfers, "findRecords">,
  customerId: CustomerId,
  ids: readonly Uuid[],
): Promise<Map<string, TransferRecord>> {
  if (ids.length === 0) return new Map();
  const records = await transfers.findRecords(customerId, ids);
  return new Map(records.map((record) => [record.id, record]));
}

/** A deposit or a withdrawal that has steps, as far as it was in the event's version. */
function transferAt(record: TransferRecord, entry: Entry): TransferRecord {
  if (entry.version === undefined) return record;
  const key = { customer_id: record.customerId, id: record.id };
  return { ...record, steps: externalTransferTable.read(asOf(externalTransferTable, key, entry)) };
}

/** A row as it was in a version: what is overwritten comes from the event. */
function asOf(table: AnyStateTable, row: SqlRecord, { version, state = {} }: Entry): SqlRecord {
  const before: Record<string, unknown> = { ...row, version: version?.toString() };
  for (const { name, type } of table.changing) before[name] = storedValue(type, state, name);
  return before;
}

/** As the driver returns it. */
function storedValue(type: string, state: State, name: string): unknown {
  const text = state[name];
  if (text === undefined) return null;
  if (type === "timestamptz") return Date.parse(text);
  return type === "boolean" ? text === "true" : text;
}
