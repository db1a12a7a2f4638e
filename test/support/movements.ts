/** Commands as small as they can be, for tests of the ledger that need no customers and no transfers. */
import { accountKey, accountTable, entry, journal, type Owner, type ProfileId } from "../../src/ledger/accounts.ts";
import type { Caller } from "../../src/ledger/caller.ts";
import { DatabaseComparedClock } from "../../src/ledger/compared-clock.ts";
import { accept, type Claim, type Command, type Rejection } from "../../src/ledger/decision.ts";
import { houseOf } from "../../src/ledger/house-accounts.ts";
import type { Key } from "../../src/ledger/tables.ts";
import { Lane } from "../../src/ledger/writer/lane.ts";
import type { LaneBounds, LaneEvent } from "../../src/ledger/writer/lane-options.ts";
import { amountOf, formatAmount, negative } from "../../src/money/amount.ts";
import { USD } from "../../src/money/asset.ts";
import type { Database, Queryable } from "../../src/postgres/database.ts";
import { type Clock, systemClock } from "../../src/std/clock.ts";
import { IdSource, type Uuid } from "../../src/std/id.ts";
import { reject } from "../../src/std/result.ts";

const ids = new IdSource();

/** Who asks for what tests do behind the API. */
export const TESTER: Caller = { operator: "tester", operation: "test" };

export const newId = (): Uuid => ids.next();
export const newProfile = (): ProfileId => ids.next() as Uuid as ProfileId;

/** A few at a time come as a tuple, for tests to take apart. */
interface Few {
  readonly 1: [ProfileId];
  readonly 2: [ProfileId, ProfileId];
  readonly 3: [ProfileId, ProfileId, ProfileId];
  readonly 4: [ProfileId, ProfileId, ProfileId, ProfileId];
}
type Profiles<Count extends number> = Count extends keyof Few ? Few[Count] : ProfileId[];

export const newProfiles = <Count extends number>(count: Count): Profiles<Count> =>
  Array.from({ length: count }, newProfile) as Profiles<Count>;

export interface InsufficientFunds extends Rejection {
  readonly code: "insufficient_funds";
}

export interface Movement {
  readonly from: Owner;
  readonly to: Owner;
  /** In USD. */
  readonly amount: string;
  readonly turn?: Uuid | "house";
  readonly claim?: Omit<Claim, "kind" | "id" | "keptBy"> & { readonly id?: Uuid };
  /** Further rows that it rests on. */
  readonly rests?: readonly Key[];
  readonly lock?: true;
}

/** Moves USD, and answers the id of its journal. Profiles cannot go below zero. */
export function movement(asked: Movement): Command<Uuid, InsufficientFunds, Claim> {
  const amount = amountOf(asked.amount);
  const id = asked.claim?.id ?? newId();
  const [from, to] = [accountKey(asked.from, USD), accountKey(asked.to, USD)];
  return {
    queueKey: asked.turn ?? newId(),
    caller: TESTER,
    dependsOn: [from, to, ...(asked.rests ?? [])],
    ...(asked.claim && { claims: [{ ...asked.claim, kind: "order", id }] }),
    ...(asked.lock && { lock: asked.lock }),
    decide: (state) => {
      const account = state.get(accountTable, from.key);
      if (houseOf(asked.from) === undefined && (account?.available ?? 0n) < amount)
        return reject({ code: "insufficient_funds" });
      const entries = [entry(asked.from, USD, negative(amount)), entry(asked.to, USD, amount)];
      return accept(id, { journals: [journal(id, "transfer", entries)] });
    },
  };
}

export interface TestLane {
  readonly lane: Lane;
  /** What the lane said, in order. */
  readonly events: LaneEvent[];
  /** Deposits USD into each profile. */
  fund(profiles: readonly ProfileId[], amount: string): Promise<void>;
}

export interface TestLaneOptions {
  readonly holder?: string;
  readonly clock?: Clock;
  /** How far the clock may be from the database's. */
  readonly toleranceMs?: number;
  readonly businessOffsetMs?: number;
  readonly bounds?: Partial<LaneBounds>;
}

/** The tolerance of tests whose time is of their own: a hundred years. */
export const ANY_TIME_MS = 100 * 365 * 86_400_000;

/** As the service has it; a lane measures it when it starts. */
export function ledgerClock({ clock = systemClock, toleranceMs = 2_000, businessOffsetMs }: TestLaneOptions = {}) {
  return new DatabaseComparedClock(clock, { toleranceMs, ...(businessOffsetMs && { businessOffsetMs }) });
}

/** Its batches wait for rows that a test holds, and stay in flight, unless the test says otherwise. */
export async function startLane(database: Database, options: TestLaneOptions = {}): Promise<TestLane> {
  const events: LaneEvent[] = [];
  const lane = new Lane({
    database,
    clock: ledgerClock(options),
    holder: options.holder ?? newId(),
    log: (event) => events.push(event),
    bounds: { leastLockWaitMs: 3_000, ...options.bounds },
  });
  await lane.start();
  const fund = async (profiles: readonly ProfileId[], amount: string): Promise<void> => {
    const deposits = profiles.map((to) => lane.execute(movement({ from: "world", to, amount, turn: "house" })));
    await Promise.all(deposits);
  };
  return { lane, events, fund };
}

/** What is available to each profile in USD, as the database has it; "0" without an account. */
export async function availableUsd(database: Queryable, profiles: readonly ProfileId[]): Promise<string[]> {
  const rows = await database.rows<{ owner_id: string; available: string }>(
    "select owner_id, available from account where owner_id = any($1) and asset = 'USD'",
    [profiles],
  );
  const found = new Map(rows.map((row) => [row.owner_id, formatAmount(amountOf(row.available))]));
  return profiles.map((profile) => found.get(profile) ?? "0");
}
