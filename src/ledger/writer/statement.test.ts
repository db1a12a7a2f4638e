import { expect, test } from "vitest";
import { amountOf, negative } from "../../money/amount.ts";
import { USD } from "../../money/asset.ts";
import type { Instant } from "../../std/clock.ts";
import { IdSource, type Uuid } from "../../std/id.ts";
import { accountKey, accountTable, emptyAccount, entry, journal, type ProfileId } from "../accounts.ts";
import { Batch } from "./batch.ts";
import { RowCache } from "./reading/row-cache.ts";
import { type Statement, Statements } from "./statement.ts";

const ids = new IdSource();
const link = { slot: 1, n: 5n, previous: Buffer.alloc(32, 1), hash: Buffer.alloc(32, 2) };
const ONE = amountOf("1");

/** A batch of deposits into existing or new accounts, with ref_ids and rows that are only checked. */
function statementOf(statements: Statements, deposits: number, known: boolean, claims = 0, looked = 0): Statement {
  const cache = new RowCache(1_000_000);
  const batch = new Batch(cache, 1);
  const profile = (): ProfileId => {
    const id = ids.next() as Uuid as ProfileId;
    const account = { ...emptyAccount(id, USD, 1), version: 1n };
    if (known) cache.set(accountTable, accountKey(id, USD).key, account);
    return id;
  };
  for (let i = 0; i < looked; i += 1) batch.dependOn([accountKey(profile(), USD)]);
  const journals = Array.from({ length: deposits }, () =>
    journal(ids.next(), "deposit", [entry("world", USD, negative(ONE)), entry(profile(), USD, ONE)]),
  );
  for (const { entries } of journals) batch.dependOn(entries.map(({ owner, asset }) => accountKey(owner, asset)));
  batch.add({ journals }, { house: "engine" });
  for (let i = 0; i < claims; i += 1)
    batch.claim({ customerId: ids.next(), kind: "order", refId: `${i}`, id: ids.next() });
  return statements.batch(batch.close(1_000 as Instant), link, { notBefore: 0 as Instant, deadline: 2_000 as Instant });
}

test("the text and its name depend on the shape of a batch, not on how many rows it has", () => {
  const statements = new Statements();
  const one = statementOf(statements, 1, false);
  const many = statementOf(statements, 100, false);
  expect(many.name).toBe(one.name);
  expect(many.text).toBe(one.text);
  expect(many.values).toHaveLength(one.values.length);
});

test("each shape has its own stable name", () => {
  const statements = new Statements();
  const shapes = (): Statement[] => [
    statementOf(statements, 1, false),
    statementOf(statements, 1, true),
    statementOf(statements, 1, true, 1),
    statementOf(statements, 1, true, 0, 1),
    statementOf(statements, 0, true, 0, 1),
  ];
  const [first, again] = [shapes(), shapes()];
  expect(new Set(first.map(({ name }) => name)).size).toBe(5);
  expect(again.map(({ name, text }) => [name, text])).toEqual(first.map(({ name, text }) => [name, text]));
});

test("equal texts have equal names in all processes", () => {
  const [one, another] = [new Statements(), new Statements()];
  statementOf(another, 1, true);
  const shape = [1, true, 1] as const;
  const [first, second] = [statementOf(one, ...shape), statementOf(another, ...shape)];
  expect([first.text, first.name]).toEqual([second.text, second.name]);
  expect(first.name).toMatch(/^batch_[0-9a-f]{32}$/);
});

test("values are never part of the text", () => {
  const { text, values } = statementOf(new Statements(), 3, true, 2, 1);
  expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}/);
  const placeholders = new Set(text.match(/\$[0-9]+/g));
  expect([...placeholders].sort()).toEqual(values.map((_, i) => `$${i + 1}`).sort());
});
