/** The objects of events, each as it was in the event's version. */
import { type Conversion, conversionTable } from "../conversions/conversion.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import { type Profile, profileTable } from "../customers/profiles/profiles.ts";
import { type WebhookDisabling, webhookDisablingTable } from "../customers/webhooks/disablings/disablings.ts";
import { type Execution, executionTable } from "../exchange/execution.ts";
import { type MarketState, marketTable } from "../exchange/market-state.ts";
import { type Order, orderTable } from "../exchange/order.ts";
import { storedValue } from "../ledger/columns.ts";
import { type AnyRecordTable, type AnyStateTable, columnsOf, type SqlRecord } from "../ledger/tables.ts";
import type { Queryable } from "../postgres/database.ts";
import { must } from "../std/assert.ts";
import type { Uuid } from "../std/id.ts";
import { externalTransferTable } from "../transfers/external-transfer.ts";
import type { TransferRecord, Transfers } from "../transfers/transfers.ts";
import type { Entry } from "./event-rows.ts";
import { type ObjectType, objectTypeOf } from "./event-types.ts";
import type { RecentTransfers } from "./recent-transfers.ts";
import { readObjects } from "./store.ts";

export type EventObject =
  | { readonly type: "transfer"; readonly value: TransferRecord }
  | { readonly type: "execution"; readonly value: Execution }
  | { readonly type: "conversion"; readonly value: Conversion }
  | { readonly type: "order"; readonly value: Order }
  | { readonly type: "profile"; readonly value: ShownProfile }
  | { readonly type: "market"; readonly value: Pick<MarketState, "code" | "status"> }
  | { readonly type: "webhook"; readonly value: WebhookDisabling };

/** What its customer sees of a profile. */
export type ShownProfile = Omit<Profile, "incomingCount" | "lastDeactivation">;

interface Parts {
  readonly database: Queryable;
  readonly transfers: Pick<Transfers, "findRecords">;
  readonly recentTransfers: Pick<RecentTransfers, "find">;
}

/** The object of each of these events of one customer, in order. */
export async function objectsOf(
  { database, transfers, recentTransfers }: Parts,
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
  const ids = idsOf("transfer") as Uuid[];
  const found = ids.length === 0 ? [] : await transfers.findRecords(customerId, ids, (id) => recentTransfers.find(id));
  const records = new Map(found.map((record) => [record.id as string, record]));
  const executions = await read("execution", executionTable);
  const conversions = await read("conversion", conversionTable);
  const orders = await read("order", orderTable);
  const profiles = await read("profile", profileTable);
  const objectOf: Readonly<Record<ObjectType, (entry: Entry) => EventObject>> = {
    transfer: (entry) => ({ type: "transfer", value: transferAt(objectIn(records, entry), entry) }),
    execution: (entry) => ({ type: "execution", value: executionTable.read(objectIn(executions, entry)) }),
    conversion: (entry) => ({
      type: "conversion",
      value: conversionTable.read(asOf(conversionTable, objectIn(conversions, entry), entry)),
    }),
    order: (entry) => ({ type: "order", value: orderTable.read(asOf(orderTable, objectIn(orders, entry), entry)) }),
    profile: (entry) => ({
      type: "profile",
      value: profileTable.read(asOf(profileTable, objectIn(profiles, entry), entry)),
    }),
    market: (entry) => ({
      type: "market",
      value: marketTable.read(asOf(marketTable, { code: entry.objectId }, entry)),
    }),
    webhook: (entry) => ({
      type: "webhook",
      value: webhookDisablingTable.read(
        asOf(webhookDisablingTable, { customer_id: customerId, id: entry.objectId }, entry),
      ),
    }),
  };
  return entries.map((entry) => objectOf[objectTypeOf(entry.type)](entry));
}

function objectIn<Row>(rows: ReadonlyMap<string, Row>, { objectId }: Entry): Row {
  return must(rows.get(objectId), "an event has its object");
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
  for (const { name, type } of table.changing) before[name] = storedValue(type, state[name] ?? null);
  return before;
}
