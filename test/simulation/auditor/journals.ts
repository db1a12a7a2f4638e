/** Stored journals: what each moved, and the order in which those of a batch were decided. */
import { houseOwnerId, reserveOf } from "../../../src/ledger/house-accounts.ts";
import type { Uuid } from "../../../src/std/id.ts";
import { assets, catalogue } from "../fixtures.ts";
import type { Row } from "../postgres/tables.ts";
import { invariant, units } from "./invariants.ts";

/** "owner asset part" -> signed amount. */
export type Moves = ReadonlyMap<string, bigint>;

export function moves(
  ...entries: readonly (readonly [owner: unknown, asset: unknown, part: string, amount: bigint])[]
): Moves {
  const sums = new Map<string, bigint>();
  for (const [owner, asset, part, amount] of entries) {
    const key = `${owner} ${asset} ${part}`;
    sums.set(key, (sums.get(key) ?? 0n) + amount);
  }
  for (const [key, sum] of sums) if (sum === 0n) sums.delete(key);
  return sums;
}

/** What comes into the platform, or goes out of it, on the accounts of the house. */
export function crossed(asset: string, amount: bigint): (readonly [string, string, string, bigint])[] {
  if (catalogue.findAsset(asset)?.kind !== "stablecoin") return [["world", asset, "available", -amount]];
  return [["world", "USD", "available", -amount], ...issued(asset, amount)];
}

/** A stablecoin is issued against USD in its own reserve, or burnt. */
export function issued(asset: string, amount: bigint): (readonly [string, string, string, bigint])[] {
  if (asset === "USD") return [];
  return [
    ["issuance", asset, "available", -amount],
    [`reserve:${asset}:default`, "USD", "available", amount],
  ];
}

export const inWords = (all: Moves): string =>
  [...all]
    .map(([key, amount]) => `${key} ${amount}`)
    .sort()
    .join(", ");

export function moveOf({ owner_id, asset, part, amount }: Row): readonly [unknown, unknown, string, bigint] {
  return [HOUSES.get(slotless(owner_id as Uuid)) ?? owner_id, asset, String(part), units(amount)];
}

/** The names of all house accounts, by their owner ids in slot 0. */
const HOUSES = new Map(
  [...(["world", "issuance", "fees"] as const), ...assets.map(({ code }) => reserveOf(code))].map((name) => [
    houseOwnerId(name, 0),
    name,
  ]),
);

const slotless = (ownerId: Uuid): Uuid => `${ownerId.slice(0, -2)}00` as Uuid;

interface JournalRows {
  readonly id: string;
  readonly cause: string;
  readonly postings: readonly Row[];
}

/** The journals of a batch in an order that fits the posting numbers of every account. */
export function journalsInOrder(postings: readonly Row[]): JournalRows[] {
  const journals = new Map<string, Row[]>();
  const accounts = new Map<string, Row[]>();
  for (const posting of postings) {
    group(journals, String(posting.journal_id)).push(posting);
    group(accounts, `${posting.owner_id} ${posting.asset}`).push(posting);
  }
  const lines = [...accounts.values()].map((line) => line.sort((a, b) => Number(a.version) - Number(b.version)));
  const ordered: JournalRows[] = [];
  while (journals.size > 0) {
    const ready = [...journals].find(([id, own]) => {
      const first = lines.reduce((sum, line) => sum + leading(line, id), 0);
      return first === own.length;
    });
    invariant(ready !== undefined, "the journals of a batch were decided one after the other");
    const [id, own] = ready;
    for (const line of lines) line.splice(0, leading(line, id));
    journals.delete(id);
    ordered.push({ id, cause: String(own[0]?.cause), postings: own });
  }
  return ordered;
}

function leading(line: readonly Row[], id: string): number {
  const end = line.findIndex(({ journal_id }) => journal_id !== id);
  return end < 0 ? line.length : end;
}

function group<Item>(groups: Map<string, Item[]>, name: string): Item[] {
  const items = groups.get(name) ?? [];
  groups.set(name, items);
  return items;
}
