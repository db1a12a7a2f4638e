/**
 * Customers at work while commits that wait for the standby are interrupted, until the primary is lost and the standby takes
 * its place: what was answered is there. By hand: `FAIL_OVERS=50 npx vitest run test/durability/fail-over.test.ts`.
 */
import type { ClientConfig } from "pg";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { findLastCut } from "../../src/events/store.ts";
import type { ProfileId } from "../../src/ledger/accounts.ts";
import { Unavailable } from "../../src/ledger/decision.ts";
import type { Lane } from "../../src/ledger/writer/lane.ts";
import { Database } from "../../src/postgres/database.ts";
import type { Uuid } from "../../src/std/id.ts";
import { pause } from "../../src/std/pause.ts";
import { expectBooksBalance } from "../support/books.ts";
import { openMaker } from "../support/events.ts";
import { availableUsd, movement, newId, newProfiles, startLane } from "../support/movements.ts";
import { startRelay } from "../support/postgres/relay.ts";
import {
  BATCH,
  FAULTS,
  LOOK_UP,
  needsStandby,
  type Pair,
  STANDBY_PORT,
  startPair,
} from "../support/postgres/standby.ts";
import { type Random, seeded } from "../support/random.ts";
import { until } from "../support/until.ts";

const COUNT = Number(process.env.FAIL_OVERS ?? 1);
const SEED = Number(process.env.FAIL_OVER_SEED ?? 1);
const SENDERS = 6;
/** Past it the response is 503, and the caller continues with something else. */
const DEADLINE_MS = 1_500;

beforeEach((context) => needsStandby(context));

/** Sends transfers one after the other in several lines, each under a ref_id of its own, and keeps the responses. */
class Senders {
  readonly customerId = newId();
  readonly answered = new Map<string, Uuid>();
  readonly unknown = new Set<string>();
  readonly #send: (refId: string) => Promise<void>;
  #sent = 0;
  #isOver = false;
  readonly #lines: Promise<void>[] = [];

  constructor(lane: Lane, from: ProfileId, to: ProfileId) {
    this.#send = (refId) => this.#transfer(lane, from, to, refId);
    for (let i = 0; i < SENDERS; i += 1) this.#lines.push(this.#goOn());
  }

  /** Sends again what nobody knows the outcome of. */
  async settle(lane: Lane, from: ProfileId, to: ProfileId): Promise<void> {
    const open = [...this.unknown];
    this.unknown.clear();
    for (const refId of open) await this.#transfer(lane, from, to, refId);
  }

  untilMore(count: number): Promise<void> {
    const goal = this.answered.size + count;
    return until(`${count} more transfers are answered`, () => this.answered.size >= goal, 40);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#lines);
  }

  async #goOn(): Promise<void> {
    while (!this.#isOver) {
      this.#sent += 1;
      await this.#send(`${this.#sent}`);
      await pause(1);
    }
  }

  async #transfer(lane: Lane, from: ProfileId, to: ProfileId, refId: string): Promise<void> {
    const { customerId } = this;
    try {
      const outcome = await lane.execute(movement({ from, to, amount: "1", claim: { customerId, refId } }));
      if (outcome.kind === "done") this.answered.set(refId, outcome.value);
      if (outcome.kind === "exists") this.answered.set(refId, outcome.id as Uuid);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      this.unknown.add(refId);
      // As a client does whose response says when to retry.
      await pause(50);
    }
  }
}

/** While the standby is away some commit waits for it, and is interrupted. */
async function interruptCommit(pair: Pair, random: Random): Promise<void> {
  await pair.stopStandby();
  await pair.untilWaiting(BATCH);
  await pair.inject(FAULTS[random(FAULTS.length)] ?? "cancel");
  await pair.untilWaiting(LOOK_UP);
}

const seeds = Array.from({ length: COUNT }, (_, i) => SEED + i);
test.each(seeds)("what was answered is there when the primary is lost and the standby takes over: %d", async (seed) => {
  const pair = await startPair();
  onTestFinished(() => pair.close());
  const random = seeded(seed);
  const bounds = { deadlineMs: DEADLINE_MS };
  const { lane, fund } = await startLane(pair.primary.database, { bounds });
  const [from, to] = newProfiles(2);
  await fund([from], "1000000");
  const senders = new Senders(lane, from, to);
  await senders.untilMore(50);
  for (let i = 0; i < 2; i += 1) {
    await interruptCommit(pair, random);
    await pair.startStandby();
    await senders.untilMore(50);
  }
  await interruptCommit(pair, random);
  await pair.failOver();
  await senders.end();
  await lane.stop();

  const standby = pair.database("standby");
  const claims = await standby.rows<{ ref_id: string; id: Uuid }>(
    "select ref_id, id from claim where customer_id = $1",
    [senders.customerId],
  );
  const there = new Map(claims.map(({ ref_id, id }) => [ref_id, id]));
  const missing = [...senders.answered].filter(([refId, id]) => there.get(refId) !== id);
  expect(missing).toEqual([]);
  expect(senders.unknown.size).toBeGreaterThan(0);

  const { lane: next } = await startLane(standby);
  await senders.settle(next, from, to);
  await next.stop();
  expect([...senders.unknown]).toEqual([]);
  const moved = senders.answered.size;
  expect(await availableUsd(standby, [from, to])).toEqual([`${1_000_000 - moved}`, `${moved}`]);
  await expectBooksBalance(pair.owner("standby"));
});

/** A database as behind a proxy that finds the primary, which the test does by the port. */
async function behindProxy(pair: Pair): Promise<{ target: ClientConfig; database: Database }> {
  const target = { ...pair.primary.connection };
  const relay = await startRelay(target);
  onTestFinished(() => relay.close());
  const connection = { ...target, ...relay.connection };
  const database = new Database({ connection, maxConnections: 4, onIdleError: () => undefined });
  onTestFinished(() => database.close());
  return { target, database };
}

test("events of a batch that only the former primary had are not published on its successor", async () => {
  const pair = await startPair();
  const { lane, fund } = await startLane(pair.primary.database, { bounds: { deadlineMs: DEADLINE_MS } });
  // The lane waits for the standby as long as there is a primary.
  onTestFinished(async () => {
    await pair.close();
    await lane.stop();
  });
  const [from, to] = newProfiles(2);
  await fund([from], "1000");
  const [former, successor] = [pair.database(), pair.database("standby")];
  // As it is for who waits for a connection meanwhile: reads from the one, writes to the other.
  let { commits } = former;
  const crossing = {
    rows: former.rows.bind(former),
    get commits() {
      return commits;
    },
    get history() {
      return former.history;
    },
  } as Database;
  await former.rows("select");
  const publish = await openMaker(crossing);
  while ((await publish()) !== undefined);
  const published = await findLastCut(former);
  await pair.startCopy();
  lane.execute(movement({ from, to, amount: "1" })).catch(() => undefined);
  await pair.untilWaiting(BATCH);
  const before = await readHeads(former);
  await pair.inject("cancel");
  await until("the batch is visible", async () => (await readHeads(former)) !== before);
  ({ commits } = successor);
  expect(await publish()).toBe("lost");
  expect(await findLastCut(successor)).toEqual(published);
  await expectBooksBalance(pair.owner("standby"));
});

const readHeads = async (database: Database): Promise<string> =>
  JSON.stringify(await database.rows("select slot, max(n) as n from batch group by slot order by slot"));

test("connections to a server end when a copy of it on the same timeline is met in its place", async () => {
  const pair = await startPair();
  onTestFinished(() => pair.close());
  const { target, database } = await behindProxy(pair);
  const dedicated = await database.connect({});
  let hasEnded = false;
  dedicated.once("end", () => {
    hasEnded = true;
  });
  const backend = "select pg_backend_pid() as pid";
  const [before] = await database.rows(backend);
  const same = await database.connect({});
  await same.end();
  expect(await database.rows(backend)).toEqual([before]);
  await pair.startCopy();
  target.port = STANDBY_PORT;
  const later = await database.connect({});
  onTestFinished(() => later.end());
  await until("its connection has ended", () => hasEnded);
  const port = "select current_setting('port') as port";
  expect(await database.rows(port)).toEqual([{ port: `${STANDBY_PORT}` }]);
  expect((await later.query(port)).rows).toEqual([{ port: `${STANDBY_PORT}` }]);
});

test("a former primary that runs again is not read, and connections to it end when another has taken over", async () => {
  const pair = await startPair();
  onTestFinished(() => pair.close());
  const { target, database } = await behindProxy(pair);
  const dedicated = await database.connect({});
  expect(await database.rows("select 1 as one")).toEqual([{ one: 1 }]);
  const former = target.port;
  // A standby is on no timeline of its own: it is read, and not taken for a former primary.
  target.port = STANDBY_PORT;
  const reading = await database.connect({});
  expect((await reading.query("select pg_is_in_recovery() as standby")).rows).toEqual([{ standby: true }]);
  await reading.end();
  target.port = former;
  await pair.failOver();
  await pair.startFormerPrimary();
  const early = await database.connect({});
  target.port = STANDBY_PORT;
  let hasEnded = false;
  early.once("end", () => {
    hasEnded = true;
  });
  const later = await database.connect({});
  await until("its connection has ended", () => hasEnded);
  target.port = former;
  await expect(database.connect({})).rejects.toThrow(/former primary/);
  for (const client of [dedicated, later]) await client.end().catch(() => undefined);
});
