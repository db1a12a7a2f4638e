/**
 * The simulated PostgreSQL returns what a real one returns to the same statements, and has the same rows in the end.
 */
import { afterEach, beforeEach, expect, test } from "vitest";
import { verifyAll } from "../../../src/verify/verify.ts";
import { expectBooksBalance } from "../../support/books.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";
import { residents } from "../fixtures.ts";
import { simulate } from "../simulation.ts";
import { END, type Script } from "./said.ts";
import { scripts } from "./scripts.ts";
import type { Transcript } from "./simulated-postgres.ts";
import { type Heard, IMPATIENT, RealServer, type Server, type Speaker, TwinServer } from "./two-servers.ts";

let db: TestDatabase;
let twin: TwinServer;
let real: RealServer;
beforeEach(async () => {
  db = await testDatabase();
  const customers = new Set(residents.map(({ customerId }) => customerId));
  for (const id of customers) {
    await db.owner.rows(
      "insert into customer (id, name, created_at) values ($1, 'Acme ' || gen_random_uuid(), now())",
      [id],
    );
  }
  const [market] = await db.owner.rows<Record<string, unknown>>(
    "select code, status, version, slot, batch from market where code = 'BTCUSD'",
  );

  twin = new TwinServer();
  twin.postgres.tables.apply({ table: "market", key: "BTCUSD", row: market as Record<string, unknown> });
  real = await RealServer.of(db);
});
afterEach(async () => {
  await twin.close();
  await real.close();
  await expectBooksBalance(db.owner);
  await db.close();
});

/** A lock timeout and a deadlock. */
const OF_LOCKS = ["55P03", "40P01"];

/**
 * The transactions of a run, in the order of their ends. Without those that failed because others held locks: they changed
 * nothing, but alone they would, and what was recorded after them, such as cuts of events, would not fit that.
 */
async function record(seed: number): Promise<Transcript[]> {
  const all: Transcript[] = [];
  await simulate(seed, (transcript) => all.push({ ...transcript, at: Math.floor(transcript.at) }));
  return all.filter(({ error }) => error === undefined || !OF_LOCKS.includes(error));
}

/** Executes one transaction after the other, each with the result that was recorded. @returns what was received */
async function playInLine(server: Server, all: readonly Transcript[]): Promise<string[]> {
  const received: string[] = [];
  const speaker = await server.speaker("the only one");
  for (const { at, statements, error } of all) {
    await server.setTime(at);
    const errors: string[] = [];
    for (const { text, values } of statements) {
      const answer = await server.finish(speaker.send(text, values));
      if (typeof answer === "string") errors.push(answer.slice(0, 5));
      received.push(`${text}\n-> ${typeof answer === "string" ? answer : answer.join("\n   ")}`);
    }
    expect(errors[0], statements.map(({ text }) => text).join("\n")).toBe(error);
  }
  return received;
}

/** Sends each statement when the one before it has a result or waits for a lock. @returns their results, in order */
async function play(server: Server, script: Script): Promise<string[]> {
  const received: string[] = [];
  const speakers = new Map<string, Speaker>();
  const open = new Map<string, Promise<Heard>>();
  const hear = (who: string, answer: Heard): void => {
    open.delete(who);
    received.push(`${who} got ${typeof answer === "string" ? answer : `[${answer.join("; ")}]`}`);
  };
  for (const [who, said] of script) {
    const from = received.length;
    const speaker = speakers.get(who) ?? (await server.speaker(who));
    speakers.set(who, speaker);
    if (said === END) await speaker.end();
    else {
      const answer = speaker.send(said.text, said.values);
      open.set(who, answer);
      void answer.then((words) => hear(who, words));
      if (who === IMPATIENT) await server.finish(answer);
    }
    await server.settle(() => open.size);
    for (const each of open.keys()) received.push(`${each} waits`);
    // Several results come in any order.
    received.push(...received.splice(from).sort());
  }
  return received;
}

/** The rows of all simulated tables, in the columns that they have; the real one has more markets. */
async function expectSameTables(): Promise<void> {
  for (const table of twin.tablesInUse()) {
    if (table === "market") continue;
    const columns = twin.columnsOf(table);
    expect([table, ...(await twin.rows(table, columns))]).toEqual([table, ...(await real.rows(table, columns))]);
  }
}

/** Seeds with many failures, of which none but those of locks needs others. The scripts have one case for each way to fail. */
test.each([11, 26])(
  "a real PostgreSQL returns the same results for the statements of seed %d",
  { timeout: 300_000 },
  async (seed) => {
    const all = await record(seed);
    const ofTwin = await playInLine(twin, all);
    const ofReal = await playInLine(real, all);
    for (const [i, words] of ofTwin.entries()) expect(words).toBe(ofReal[i]);
    expect(ofTwin.length).toBeGreaterThan(100);
    await expectSameTables();
    const { checks } = await verifyAll(db.database);
    expect(checks.filter(({ broken }) => broken > 0)).toEqual([]);
  },
);

test.each(Object.entries(scripts))("%s", async (_, script) => {
  const steps = await script();
  for (const server of [twin, real]) await server.setTime(Date.UTC(2026, 10, 21, 9, 0, 0));
  const ofTwin = await play(twin, steps.script);
  expect(ofTwin).toEqual(steps.got);
  expect(await play(real, steps.script)).toEqual(ofTwin);
  await expectSameTables();
});
