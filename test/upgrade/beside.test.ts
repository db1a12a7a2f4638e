/**
 * A later version runs beside this one: a migration adds a column to transfer, conversion and orders, and two tables. This
 * version, already started, goes on; the later one writes through a lane that knows the columns. What both wrote verifies.
 */
import { expect, inject, onTestFinished, test } from "vitest";
import { type ConversionId, type ConversionRequest, createConversions } from "../../src/conversions/conversions.ts";
import { createExchange } from "../../src/exchange/exchange.ts";
import type { OrderRequest } from "../../src/exchange/orders/rules.ts";
import type { ProfileId } from "../../src/ledger/accounts.ts";
import {
  addedBy,
  changing,
  key,
  readerOf,
  tableColumns,
  textColumn,
  uuidColumn,
  versionColumn,
} from "../../src/ledger/columns.ts";
import { accept, type Claim, type Command, type Rejection } from "../../src/ledger/decision.ts";
import { readHeads } from "../../src/ledger/stored-batches.ts";
import {
  type AnyRecordTable,
  type AnyStateTable,
  addition,
  change,
  type LaneTables,
  recordTable,
  type StateRow,
  stateTable,
} from "../../src/ledger/tables.ts";
import { Lane } from "../../src/ledger/writer/lane.ts";
import { amountOf } from "../../src/money/amount.ts";
import type { Database } from "../../src/postgres/database.ts";
import { migrate } from "../../src/postgres/migrations.ts";
import { systemClock } from "../../src/std/clock.ts";
import { IdSource, type Uuid } from "../../src/std/id.ts";
import { createTransfers } from "../../src/transfers/transfers.ts";
import { LANE_TABLES } from "../../src/verify/lane-tables.ts";
import { verifyAll } from "../../src/verify/verify.ts";
import { expectBooksBalance } from "../support/books.ts";
import { newId, startLane, TESTER } from "../support/movements.ts";
import { startTestService, type TestCustomer, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { migrationsWith } from "./new-database.ts";

const MIGRATION = `
  alter table transfer add column purpose text;
  alter table conversion add column purpose text;
  alter table orders add column purpose text;
  create table note (
    profile_id uuid, id uuid, text text not null, slot smallint not null, batch bigint not null, caller smallint,
    primary key (profile_id, id));
  create table flag (id uuid primary key, status text not null, version bigint not null, slot smallint, batch bigint);`;

// What the later version knows ---------------------------------------------------------------------------------------

const [PURPOSE] = tableColumns<{ readonly purpose?: string }>({ purpose: addedBy(2, textColumn("purpose")) });
const WITH_PURPOSE = ["transfer", "conversion", "orders"];

const byName = <Named extends { readonly name: string }>(columns: readonly Named[]): Named[] =>
  columns.toSorted((a, b) => (a.name < b.name ? -1 : 1));

function recordWithPurpose(table: AnyRecordTable): AnyRecordTable {
  const columns = byName([...table.columns, PURPOSE as AnyRecordTable["columns"][number]]);
  return { ...table, columns, read: readerOf(columns) };
}

function stateWithPurpose(table: AnyStateTable): AnyStateTable {
  const column = PURPOSE as AnyStateTable["columns"][number];
  const columns = [...table.columns, column];
  const more = {
    columns,
    changing: [...table.changing, column],
    hashed: byName(columns),
    read: readerOf<StateRow>(columns),
  };
  return { ...table, ...more };
}

interface Flag extends StateRow {
  readonly id: Uuid;
  readonly status: string;
}
const flagTable = stateTable<Flag>({
  name: "flag",
  columns: { id: key(uuidColumn("id")), status: changing(textColumn("status")), version: versionColumn },
  digested: true,
  keyOf: ({ id }) => id,
  keyValues: (id) => [id],
});
const noteTable = recordTable<{ readonly profileId: ProfileId; readonly id: Uuid; readonly text: string }>({
  name: "note",
  columns: { profileId: uuidColumn("profile_id"), id: uuidColumn("id"), text: textColumn("text") },
  hasCaller: true,
  orderBy: noteKey,
  keyOf: noteKey,
  keepsClaims: false,
});

function noteKey({ profileId, id }: { readonly profileId: ProfileId; readonly id: Uuid }): string {
  return `${profileId}/${id}`;
}

const records = new Map(
  LANE_TABLES.records.map((table) => [table, WITH_PURPOSE.includes(table.name) ? recordWithPurpose(table) : table]),
);
const states = new Map(
  LANE_TABLES.states.map((table) => [table, WITH_PURPOSE.includes(table.name) ? stateWithPurpose(table) : table]),
);
const LATER: LaneTables = { records: [...records.values(), noteTable], states: [...states.values(), flagTable] };

/** A command of this version as the later one has it: what it makes has a purpose. */
function later<Value, Why extends Rejection, Claimed extends Claim>(
  command: Command<Value, Why, Claimed>,
): Command<Value, Why, Claimed> {
  const inLater = (table: AnyStateTable): AnyStateTable => states.get(table) ?? table;
  return {
    ...command,
    dependsOn: command.dependsOn.map(({ table, key: text }) => ({ table: inLater(table), key: text })),
    decide: (state, now) => {
      const decision = command.decide({ get: (table, text) => state.get(inLater(table), text) }, now);
      if (decision.kind !== "done") return decision;
      const { changes } = decision;
      const purpose = "rent";
      return {
        ...decision,
        changes: {
          ...changes,
          records: changes.records?.map(({ table, row }) => ({
            table: records.get(table) ?? table,
            row: { ...row, purpose },
          })),
          states: changes.states?.map(({ table, row, ...more }) => {
            const opened = row.version === 0n ? { ...row, purpose } : row;
            return { ...more, table: inLater(table), row: opened };
          }),
        },
      } as typeof decision;
    },
  };
}

/** The later version, as far as the test needs it. */
async function startLater({ db, service }: TestService) {
  const { lane } = await startLane(db.another());
  onTestFinished(() => lane.stop());
  const execute: Lane["execute"] = (command) => lane.execute(later(command));
  const { catalogue } = service.core;
  const parts = { database: db.database, lane: Object.create(Lane.prototype, { execute: { value: execute } }) as Lane };
  const more = { ...parts, catalogue, ids: new IdSource(), clock: systemClock };
  return {
    lane,
    transfers: createTransfers(more),
    conversions: createConversions({ ...more, onCreated: () => undefined }),
    exchange: createExchange({
      ...more,
      engines: { wake: () => undefined, onCommitted: () => undefined },
      onFeedFault: () => undefined,
    }),
  };
}

// The test -----------------------------------------------------------------------------------------------------------

type Later = Awaited<ReturnType<typeof startLater>>;

/** By the API of this version, or as the later one does it. */
function actsOf(
  service: TestService,
  later: Later,
  { id: customerId, token: as }: TestCustomer,
  profileId: ProfileId,
  to: ProfileId,
) {
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await service.call(method, path, { as, ...(body === undefined ? {} : { body }) });
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
    return answer.body.id as string;
  };
  const common = { customerId, profileId };
  return {
    now: {
      transfer: () =>
        call("POST", "/v2/transfer/platform", {
          from_profile_id: profileId,
          to_profile_id: to,
          asset: "USD",
          amount: "1",
        }),
      convert: () =>
        call("POST", "/v2/conversion/stablecoins", {
          ...{ profile_id: profileId, source_asset: "USD", target_asset: "USDG", amount: "10" },
        }),
      cancelConversion: (id: string) => call("DELETE", `/v2/conversion/stablecoins/${id}`),
      order: (side: "BUY" | "SELL") =>
        call("POST", `/v2/profiles/${profileId}/orders`, {
          ...{ market: "BTCUSD", type: "LIMIT", side, price: "20000", base_amount: "0.5" },
        }),
    },
    later: {
      transfer: async () =>
        done(
          await later.transfers.move(
            {
              customerId,
              kind: "platform",
              from: { profileId },
              to: { profileId: to },
              asset: "USD",
              amount: amountOf("1"),
            },
            TESTER,
          ),
        ).id as string,
      convert: async () =>
        done(
          await later.conversions.create(
            { ...common, sourceAsset: "USD", targetAsset: "USDG", amount: amountOf("10") } as ConversionRequest,
            TESTER,
          ),
        ).id as string,
      cancelConversion: async (id: string) =>
        done(await later.conversions.cancel(customerId, id as ConversionId, TESTER)),
      order: async (side: "BUY" | "SELL") =>
        done(
          await later.exchange.place(
            {
              ...{ ...common, market: "BTCUSD", side, type: "LIMIT", timeInForce: "GTC" },
              ...{ price: { amount: amountOf("20000"), isExact: true }, baseAmount: amountOf("0.5") },
            } as OrderRequest,
            TESTER,
          ),
        ).id as string,
    },
  };
}

function done<Value>(outcome: { readonly kind: string } & { readonly value?: Value }): Value {
  expect(outcome).toMatchObject({ kind: "done" });
  return outcome.value as Value;
}

/** A note, and two versions of a flag. */
async function writeNewTables({ lane }: Later, profileId: ProfileId): Promise<void> {
  const id = newId();
  for (const [status, version] of [
    ["UP", 0n],
    ["DOWN", 1n],
  ] as const) {
    await lane.execute({
      queueKey: "house",
      caller: TESTER,
      dependsOn: [{ table: flagTable, key: id }],
      decide: () =>
        accept(undefined, {
          states: [change(flagTable, { id, status, version })],
          records: [addition(noteTable, { profileId, id: newId(), text: status })],
        }),
    });
  }
}

test("a later version writes new columns and tables beside this one, and all of it verifies", async () => {
  // No settlement: conversions are closed by whom the test wants.
  const service = await startTestService({ roles: new Set(["api", "auth", "engine"]) });
  onTestFinished(() => service.close());
  const { db } = service;
  const acme = await service.customer();
  const [rich, other] = [await service.profile(acme, { USD: "50000", BTC: "2" }), await service.profile(acme)];
  const lanes = await startLater(service);
  const { now, later: next } = actsOf(service, lanes, acme, rich, other);
  const globex = await service.customer();
  const seller = actsOf(service, lanes, globex, await service.profile(globex, { BTC: "2" }), other);
  const resting = await seller.now.order("SELL");
  const [ours, oursToo] = [await now.convert(), await now.convert()];
  await now.transfer();
  const checkpoint = await readHeads(db.database);

  const folder = await migrationsWith({ "0002-purpose.sql": MIGRATION });
  expect(await migrate(db.owner, inject("serviceRole"), { folder })).toEqual(["0002-purpose.sql"]);
  await db.owner.rows(`grant select, insert on note to ${inject("serviceRole")}`);
  await db.owner.rows(`grant select, insert, update on flag to ${inject("serviceRole")}`);

  await Promise.all([now.transfer(), next.transfer()]);
  const [theirs] = [await next.convert(), await next.convert()];
  await now.cancelConversion(theirs);
  await next.cancelConversion(ours);
  await now.cancelConversion(oursToo);
  await writeNewTables(lanes, rich);
  // The engine of this version fills an order that the later one placed.
  const theirOrder = await next.order("BUY");
  const statusOf = async (id: string) =>
    (await db.database.rows<{ status: string }>("select status from orders where id = $1", [id]))[0]?.status;
  await until("the orders match", async () => (await statusOf(theirOrder)) === "FILLED");
  expect(await statusOf(resting)).toBe("FILLED");
  const purposes = await db.owner.rows(
    `select (select array_agg(status || ' ' || coalesce(purpose, '-') order by id) from conversion) as conversions,
            (select array_agg(status || ' ' || coalesce(purpose, '-') order by id) from orders) as orders`,
  );
  expect(purposes).toEqual([
    {
      conversions: ["CANCELLED -", "CANCELLED -", "CANCELLED rent", "CREATED rent"],
      orders: ["FILLED -", "FILLED rent"],
    },
  ]);
  await expectBooksBalance(db.database);
  expect(await brokenIn(db.database, LATER)).toEqual([]);
  expect(await verifyAll(db.database, { tables: LATER, checkpoint })).toMatchObject({ sound: true });

  // This version says what it does not know, and nothing else.
  const { checks, sound, complete } = await verifyAll(db.database, { checkpoint });
  expect([sound, complete]).toEqual([false, false]);
  const broken = checks.filter((one) => one.broken > 0);
  expect(broken.map(({ check, first }) => `${check}: ${first?.record} ${first?.message}`)).toEqual([
    "known columns: conversion has values in purpose, which this version does not know: if a later version added it, verify with that version; otherwise it was added by hand",
  ]);

  // What this version left as it was is compared with what the later one wrote.
  await db.owner.rows("update orders set purpose = 'other' where id = $1", [theirOrder]);
  expect(await brokenIn(db.database, LATER)).toEqual([
    `changing rows: orders ${rich}/${theirOrder} is not what its batches made of it`,
  ]);
});

async function brokenIn(database: Database, tables: LaneTables): Promise<string[]> {
  const { checks } = await verifyAll(database, { tables });
  return checks.flatMap(({ check, first }) =>
    first === undefined ? [] : [`${check}: ${first.record} ${first.message}`],
  );
}
