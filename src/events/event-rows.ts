/** Rows of `event`: consecutive events of one customer in one cut. Pure. */
import { createHash, hash } from "node:crypto";
import type { CustomerId } from "../customers/customer-id.ts";
import type { Brand } from "../std/brand.ts";
import type { Uuid } from "../std/id.ts";
import { type EventType, objectTypeOf } from "./event-types.ts";
import type { Fact, State } from "./facts.ts";

export interface EventRow {
  readonly customerId: CustomerId;
  readonly firstNumber: bigint;
  readonly objectId: string | undefined;
  readonly count: number;
  /** JSON. */
  readonly entries: string;
}

/** An event as it stands in a row: its object follows from the rest. */
export interface Entry {
  readonly number: bigint;
  readonly type: EventType;
  readonly objectId: string;
  readonly version: bigint | undefined;
  readonly state: State | undefined;
}

export type EventId = Brand<Uuid, "EventId">;

/** Reading one event reads its row, so a row has a bound. */
const MOST_ENTRIES = 500;

/**
 * Numbers the facts of a cut and gathers them in rows.
 * @param last of each customer, the number of its last event before; absent: it has none
 */
export function rowsOf(facts: readonly Fact[], last: ReadonlyMap<CustomerId, bigint>): EventRow[] {
  const byCustomer = new Map<CustomerId, Fact[]>();
  for (const fact of facts) {
    const own = byCustomer.get(fact.customerId);
    if (own === undefined) byCustomer.set(fact.customerId, [fact]);
    else own.push(fact);
  }
  return [...byCustomer].flatMap(([customerId, own]) => {
    let firstNumber = (last.get(customerId) ?? 0n) + 1n;
    return runsOf(own).map((run) => {
      const row = rowOf(customerId, firstNumber, run);
      firstNumber += BigInt(run.length);
      return row;
    });
  });
}

/** Notes the last number of each customer after these rows, which have been written. */
export function countRows(numbers: Map<CustomerId, bigint>, rows: readonly EventRow[]): void {
  for (const { customerId, firstNumber, count } of rows) numbers.set(customerId, firstNumber + BigInt(count) - 1n);
}

/** Splits facts into those that share a row: of objects that never change, or of one version. */
function runsOf(facts: readonly Fact[]): Fact[][] {
  const runs: Fact[][] = [];
  for (const fact of facts) {
    const run = runs.at(-1);
    if (run !== undefined && run.length < MOST_ENTRIES && sharesRow(run[0], fact)) run.push(fact);
    else runs.push([fact]);
  }
  return runs;
}

function sharesRow(first: Fact | undefined, fact: Fact): boolean {
  if (fact.version === undefined) return first?.version === undefined;
  return first?.objectId === fact.objectId && first.version === fact.version;
}

function rowOf(customerId: CustomerId, firstNumber: bigint, run: readonly Fact[]): EventRow {
  const [first] = run;
  return {
    customerId,
    firstNumber,
    objectId: first?.version === undefined || objectTypeOf(first.type) === "market" ? undefined : first.objectId,
    count: run.length,
    entries: `[${run.map(entryText).join(",")}]`,
  };
}

/** Types and ids have no character that JSON escapes: written out, a transfer's two take a quarter of the time. */
function entryText({ type, objectId, version, state }: Fact): string {
  if (version === undefined) return `["${type}","${objectId}"]`;
  return JSON.stringify([type, objectId, Number(version), state]);
}

type StoredEntry = readonly [type: EventType, objectId: string, version?: number, state?: State];

export function readEntries({ firstNumber, entries }: Pick<EventRow, "firstNumber" | "entries">): Entry[] {
  return (JSON.parse(entries) as readonly StoredEntry[]).map(([type, objectId, version, state], place) => ({
    number: firstNumber + BigInt(place),
    type,
    objectId,
    version: version === undefined ? undefined : BigInt(version),
    state,
  }));
}

/** Hashed at once: each piece costs as much as what it holds. */
const FACTS_HASHED_AT_ONCE = 500;

/** What a cut says of its events, in order. */
export function digestOfFacts(facts: readonly Fact[]): Buffer {
  const hash = createHash("sha256");
  for (let begin = 0; begin < facts.length; begin += FACTS_HASHED_AT_ONCE)
    hash.update(
      facts
        .slice(begin, begin + FACTS_HASHED_AT_ONCE)
        .map(digestedText)
        .join(""),
    );
  return hash.digest();
}

function digestedText({ customerId, type, objectId, version }: Fact): string {
  return `${customerId} ${type} ${objectId} ${version ?? ""}\n`;
}

// Ids ----------------------------------------------------------------------------------------------------------------
// A UUID of version 8 (RFC 9562): 48 bits of the number, by which the event is found without an index, then a digest of
// customer, type, object and version.

export function eventIdOf(customerId: CustomerId, { number, type, objectId, version }: Omit<Entry, "state">): EventId {
  const digest = hash("sha256", `${customerId} ${type} ${objectId} ${version ?? ""}`);
  const digits = number.toString(16).padStart(12, "0");
  const variant = (0x8 | (Number.parseInt(digest.charAt(16), 16) & 0x3)).toString(16);
  return `${digits.slice(0, 8)}-${digits.slice(8)}-8${digest.slice(13, 16)}-${variant}${digest.slice(17, 20)}-${digest.slice(20, 32)}` as EventId;
}

/** The number in an id, whether or not there is such an event. */
export function numberIn(id: Uuid): bigint {
  return BigInt(`0x${id.slice(0, 8)}${id.slice(9, 13)}`);
}
