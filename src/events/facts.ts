/**
 * The facts that become events, as they follow from the batches: pure. A transfer is a fact for each customer that
 * has a side of it; a version of an object that changes is one or more, or none if nothing changed that its customer sees.
 * That a market was halted or resumed is a fact for each customer who had open orders on it.
 */
import type { CustomerId } from "../customers/customer-id.ts";
import { marketTable } from "../exchange/market-state.ts";
import type { ProfileId } from "../ledger/accounts.ts";
import type { RowChange } from "../ledger/change-history.ts";
import { siblingId } from "../std/id.ts";
import { type ExternalTransferStatus, isPaired, type RecordType } from "../transfers/transfers.ts";
import { type EventType, transferEventType } from "./event-types.ts";
import type { EventBatch, TransferSides } from "./publishing/event-batch.ts";

export interface Fact {
  readonly customerId: CustomerId;
  readonly type: EventType;
  /** Of a transfer: of the customer's record. Of a market: its code. */
  readonly objectId: string;
  /** Undefined for an object that never changes. */
  readonly version: bigint | undefined;
  readonly state: State | undefined;
}

/** What the columns of an object that are overwritten held in one version, as text; without what was null. */
export type State = Readonly<Record<string, string>>;

/** An object's version as a batch made it. */
export interface ObjectVersion {
  readonly table: ChangingTable;
  readonly objectId: string;
  readonly profileId: ProfileId | undefined;
  /** If it is in the key. Else that of the profile. */
  readonly customerId: CustomerId | undefined;
  /** Of a deposit or a withdrawal. */
  readonly recordType: RecordType | undefined;
  readonly change: RowChange;
}

export type ChangingTable = "conversion" | "external_transfer" | "orders" | "profile" | "webhook_disabling";

/** By which a version is looked up. */
export const objectKey = ({ table, objectId }: Pick<ObjectVersion, "table" | "objectId">): string =>
  `${table}/${objectId}`;

/** The order within a batch, which is otherwise by id: what moved, then what became of whose money it was. */
const TABLES: readonly ChangingTable[] = ["external_transfer", "conversion", "orders", "profile", "webhook_disabling"];

/** What customers do not see: a version that changes nothing else has no event. */
const UNSEEN: Readonly<Record<ChangingTable, ReadonlySet<string>>> = {
  conversion: new Set(),
  external_transfer: new Set(),
  orders: new Set(),
  profile: new Set(["incoming_count", "last_deactivation"]),
  webhook_disabling: new Set(),
};

/** The versions of objects in a batch, in the order of their events. */
export function versionsIn({ written, steppedTypes }: Pick<EventBatch, "written" | "steppedTypes">): ObjectVersion[] {
  return TABLES.flatMap((table) => {
    const changes = [...(written.get(table)?.values() ?? [])];
    const versions = changes.flatMap((change) => {
      const { id: objectId, customer_id: customerId, profile_id: profileId = objectId } = change.key;
      if (objectId === undefined) return [];
      const type = steppedTypes.get(objectId);
      return [
        {
          ...{ table, objectId, change, customerId: customerId as CustomerId | undefined },
          profileId: customerId === undefined ? (profileId as ProfileId) : undefined,
          recordType: type === undefined || isPaired(type) ? undefined : type,
        },
      ];
    });
    return versions.sort((a, b) => (a.objectId < b.objectId ? -1 : 1));
  });
}

export const hasEvent = (version: ObjectVersion): boolean => typesOf(version).length > 0;

/** What is not in the batches themselves. */
export interface Known {
  /** Whose profile it is. */
  readonly customers: ReadonlyMap<ProfileId, CustomerId>;
  /** By `objectKey`: the state before the first of these batches, of objects that existed then. */
  readonly states: ReadonlyMap<string, State>;
  readonly marketReaders: MarketReaders;
}

/** By market: the customers who get an event of its halts and resumptions. */
export type MarketReaders = ReadonlyMap<string, readonly CustomerId[]>;

export function customerOf(
  { customerId, profileId }: ObjectVersion,
  customers: Known["customers"],
): CustomerId | undefined {
  return customerId ?? (profileId && customers.get(profileId));
}

/**
 * Those of each batch, made when they are asked for.
 * @param batches in order
 */
export function* factsOf(
  batches: readonly EventBatch[],
  { customers, states, marketReaders }: Known,
): Generator<readonly Fact[], void> {
  const current = new Map(states);
  for (const batch of batches)
    yield [
      ...batch.transfers.toSorted((a, b) => (a.id < b.id ? -1 : 1)).flatMap(factsOfTransfer),
      ...batch.executions
        .toSorted((a, b) => (a.id < b.id ? -1 : 1))
        .map(({ id, customerId }) => recordFact(customerId, "execution.created", id.toString())),
      ...versionsIn(batch).flatMap((version) => {
        const customerId = customerOf(version, customers);
        const state = stateAfter(version, current.get(objectKey(version)));
        current.set(objectKey(version), state);
        if (customerId === undefined) return [];
        const { objectId, change } = version;
        return typesOf(version).map((type) => ({ customerId, type, objectId, version: change.version, state }));
      }),
      ...marketChangesIn(batch).flatMap(([market, change]) => factsOfMarket(market, change, marketReaders)),
    ];
}

/** The markets that a batch halted or resumed, by code. */
export function marketChangesIn({ written }: Pick<EventBatch, "written">): [market: string, change: RowChange][] {
  const changes = [...(written.get(marketTable.name)?.values() ?? [])];
  return changes
    .map((change): [string, RowChange] => [change.key.code ?? "", change])
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

function factsOfMarket(market: string, { version, values: { status } }: RowChange, readers: MarketReaders): Fact[] {
  if (status !== "HALTED" && status !== "OPEN") return [];
  const type = status === "HALTED" ? "market.halted" : "market.resumed";
  const customers = readers.get(market) ?? [];
  return customers.map((customerId) => ({ customerId, type, objectId: market, version, state: { status } }));
}

function recordFact(customerId: CustomerId, type: EventType, objectId: string): Fact {
  return { customerId, type, objectId, version: undefined, state: undefined };
}

/** The records of a transfer between profiles are its debit, with its id, and the credit, with the odd one beside it. */
function factsOfTransfer({ id, type, from, to }: TransferSides): Fact[] {
  const record = (customerId: CustomerId, recordType: RecordType, recordId: string): Fact =>
    recordFact(customerId, transferEventType(recordType), recordId);
  if (!isPaired(type)) return [from ?? to].flatMap((customerId) => (customerId ? [record(customerId, type, id)] : []));
  return [
    ...(from === undefined ? [] : [record(from, `${type}_DEBIT`, id)]),
    ...(to === undefined ? [] : [record(to, `${type}_CREDIT`, siblingId(id))]),
  ];
}

/** The state that a version made of the one before. */
export function stateAfter({ table, change }: Pick<ObjectVersion, "table" | "change">, before: State = {}): State {
  const values = Object.entries({ ...before, ...change.values });
  const seen = values.filter((entry): entry is [string, string] => entry[1] !== null && !UNSEEN[table].has(entry[0]));
  return Object.fromEntries(seen.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function typesOf({ table, change, recordType }: ObjectVersion): EventType[] {
  if (table === "external_transfer") return typesOfSteps(change, recordType);
  if (table === "conversion") return typesOfConversion(change);
  if (table === "webhook_disabling") return ["webhook.disabled"];
  return table === "orders" ? typesOfOrder(change) : typesOfProfile(change);
}

function typesOfSteps({ values }: RowChange, recordType: RecordType | undefined): EventType[] {
  const status = values.status as ExternalTransferStatus | undefined;
  return recordType === undefined || status === undefined ? [] : [transferEventType(recordType, status)];
}

function typesOfConversion({ values: { status } }: RowChange): EventType[] {
  if (status === "CREATED") return ["conversion.created"];
  if (status === "SETTLED") return ["conversion.settled"];
  return status === "CANCELLED" ? ["conversion.cancelled"] : [];
}

const OF_ORDER_STATUS: Readonly<Record<string, EventType>> = {
  PENDING_SUBMISSION: "order.created",
  SUBMITTED: "order.submitted",
  OPEN: "order.open",
  FILLED: "order.filled",
  CANCELLED: "order.cancelled",
  REJECTED: "order.rejected",
  EXPIRED: "order.expired",
};

/** An order that is triggered may be filled by the same batch: two events of one version. */
function typesOfOrder({ version, values }: RowChange): EventType[] {
  const triggered: EventType[] = values.is_triggered === "true" && version > 1n ? ["order.triggered"] : [];
  const type = values.status == null ? undefined : OF_ORDER_STATUS[values.status];
  if (type !== undefined) return [...triggered, type];
  return values.filled === undefined ? triggered : [...triggered, "order.partially_filled"];
}

function typesOfProfile({ version, values }: RowChange): EventType[] {
  if (version === 1n) return ["profile.created"];
  if (values.status === "INACTIVE") return ["profile.deactivated"];
  if (values.status === "ACTIVE") return ["profile.activated"];
  // Also by the same nickname and description: updated_at differs.
  return Object.keys(values).some((name) => !UNSEEN.profile.has(name)) ? ["profile.updated"] : [];
}
