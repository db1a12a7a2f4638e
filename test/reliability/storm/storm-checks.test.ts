/** The storm's checks can fail: each detects a defect that is made on purpose. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { assert } from "../../../src/std/assert.ts";
import { seeded } from "../../support/random.ts";
import { until } from "../../support/until.ts";
import { Client } from "../client.ts";
import { FAULTS } from "../faults.ts";
import { Site } from "../site.ts";
import { Storm } from "./storm.ts";
import { expectBooks, expectIndexesWhole, expectOneEffect, expectSound } from "./storm-checks.ts";

// A busy machine takes its time for all of these.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 300_000 });

const MOST_ROUNDS = 10;

let storm: Storm<Site, "none">;
beforeAll(async () => {
  storm = await Storm.open(1, { none: FAULTS.none }, (bootstrap) => Site.open(bootstrap, "any disk"));
  for (let round = 1; round === 1 || !(await hasAll()); round += 1) {
    assert(round <= MOST_ROUNDS, "rounds leave one of everything that is changed here");
    await storm.round([]);
  }
});
afterAll(() => storm.close());

/** Makes a defect, expects the check to find it, and reverts it. */
async function wrong(sql: string, undo: string, check: () => Promise<unknown>, finding: RegExp): Promise<void> {
  await run(sql);
  try {
    await expect(check()).rejects.toThrow(finding);
  } finally {
    await run(undo);
  }
  await check();
}

async function run(sql: string): Promise<void> {
  for (const statement of sql.split(";")) if (statement.trim() !== "") await storm.site.database.rows(statement);
}

const MOVED = "(select id from transfer where ref_id is not null and has_steps is null order by id limit 1)";
const FILLED = "select id from orders where status = 'FILLED' and ref_id is not null order by id limit 1";
const COMPLETED = "(select id from external_transfer where status = 'completed' and crypto_tx_hash is null)";

/** What operators leave is theirs to choose: after one round each hold may be lifted. */
async function hasAll(): Promise<boolean> {
  const [row] = await storm.site.database.rows<{ all: boolean }>(
    `select exists ${MOVED} and exists (${FILLED}) and exists ${COMPLETED}
            and exists (select from legal_hold where lifted_at is null) as all`,
  );
  return row?.all === true;
}

test("an answer that is not as it was, or is not there any more, is noticed", async () => {
  const kept = () => storm.expectKept();
  const metadata = (value: string) => `update transfer set from_metadata = ${value} where id = ${MOVED}`;
  await wrong(metadata(`'{"a":"b"}'`), metadata("null"), kept, /a closed transfer no longer changes/);
  const price = (sign: string) => `update orders set filled_gross = filled_gross ${sign} 1 where id = (${FILLED})`;
  await wrong(price("+"), price("-"), kept, /a closed order no longer changes/);
  const gone = `create table gone as select * from transfer where id = ${MOVED};
    delete from transfer using gone where transfer.id = gone.id`;
  const back = "insert into transfer select * from gone; drop table gone";
  await wrong(gone, back, kept, /transfer .*, which was answered, is there/);
  await wrong(gone, back, expectNoneWrong, /"lost":1,"doubled":0/);
});

async function expectNoneWrong(): Promise<void> {
  expect(JSON.stringify(await storm.countWrong())).toBe('{"lost":0,"doubled":0}');
}

test("a step that was taken back is noticed, a hold that is gone, and one that nobody asked for", async () => {
  const kept = () => storm.expectKept();
  await wrong(
    `create table was as select * from external_transfer where id in ${COMPLETED};
     update external_transfer e set status = 'requested', version = 1 from was where e.id = was.id`,
    "update external_transfer e set status = 'completed', version = was.version from was where e.id = was.id; drop table was",
    kept,
    /a closed external_transfer no longer changes/,
  );
  const gone = `create table gone as select * from legal_hold where lifted_at is null order by id limit 1;
    delete from legal_hold using gone where legal_hold.id = gone.id`;
  const back = "insert into legal_hold select * from gone; drop table gone";
  await wrong(gone, back, kept, /legal_hold .*, which was answered, is there/);
  await wrong(gone, back, () => storm.expectTotals(), /in pending .* is .*, but held otherwise is/);
  await wrong(
    `create table another as select * from legal_hold order by id limit 1;
     update another set id = gen_random_uuid(), ref_id = 'nobody''s'; insert into legal_hold select * from another`,
    "delete from legal_hold using another where legal_hold.id = another.id; drop table another",
    kept,
    /every legal_hold was asked for/,
  );
});

test("an event that is gone is noticed, and one that shows its object otherwise than it was", async () => {
  const events = () => storm.expectEvents();
  const settled = `(select customer_id, first_number from event where entries::text like '["conversion.settled"%'
                      or entries::text like '[["conversion.settled"%' order by 1, 2 limit 1)`;
  await wrong(
    `create table gone as select * from event where (customer_id, first_number) in ${settled};
     delete from event e using gone where e.customer_id = gone.customer_id and e.first_number = gone.first_number`,
    "insert into event select * from gone; drop table gone",
    events,
    /events are told again as they were|comes next/,
  );
  await wrong(
    `create table was as select * from event where (customer_id, first_number) in ${settled};
     update event e set entries = replace(was.entries::text, '"SETTLED"', '"CREATED"')::json from was
      where e.customer_id = was.customer_id and e.first_number = was.first_number`,
    `update event e set entries = was.entries from was
      where e.customer_id = was.customer_id and e.first_number = was.first_number; drop table was`,
    events,
    /the last event of conversion .* shows it as it is/,
  );
});

test("a second effect of one ref_id is noticed", async () => {
  // An index that was lost: what is sent again is then done again.
  const [first] = await storm.site.database.rows<{ record: string }>(
    `select jsonb_set(to_jsonb(t), '{id}', to_jsonb(gen_random_uuid()))::text as record from transfer t where id = ${MOVED}`,
  );
  const twice = `drop index transfer_ref_id_already_used;
    create table twice as select * from jsonb_populate_record(null::transfer, '${first?.record}');
    insert into transfer select * from twice`;
  const once = `delete from transfer using twice where transfer.id = twice.id; drop table twice;
    create unique index transfer_ref_id_already_used on transfer (customer_id, ref_id) where ref_id is not null`;
  const oneEffect = () => expectOneEffect(storm.site.database);
  await wrong(twice, once, oneEffect, /a ref_id has one effect: .*"kind":"transfer"/);
  await wrong(twice, once, expectNoneWrong, /"lost":0,"doubled":1/);
});

test("a wrong total is detected in the tables and over HTTP", async () => {
  const account = `owner_id = (select from_profile_id from transfer where id = ${MOVED})`;
  const add = (asset: string, cents: number) =>
    `update account set available = available + ${cents / 100} where ${account} and asset = '${asset}'`;
  await wrong(add("USD", 1), add("USD", -1), () => storm.expectTotals(), /everything in USD comes to 0.01, not to 0/);
  await wrong(add("ETH", 1), add("ETH", -1), () => storm.expectTotalsOverHttp(), /ETH over HTTP/);
  await wrong(add("LTC", 1), add("LTC", -1), () => storm.expectTotalsOverHttp(), /LTC over HTTP/);
  await wrong(add("USDG", -1), add("USDG", 1), () => storm.expectTotalsOverHttp(), /USD and .* over HTTP/);
  const posted = (cents: number) =>
    `update posting set available = available + ${cents / 100} where asset = 'LTC' and owner_id in (select id from profile)`;
  await wrong(posted(1), posted(-1), () => storm.expectTotalsOverHttp(), /LTC at 2/);
  // A deposit that was paid twice.
  const paid = (cents: number) =>
    `${add("ETH", cents)}; update account set available = available - ${cents / 100}
       where (owner_id, asset) = (select owner_id, asset from account where house = 'world' and asset = 'ETH' order by owner_id limit 1)`;
  await wrong(paid(1), paid(-1), () => storm.expectTotals(), /(?:owned|world) at first ETH is .*, but was/);
  await wrong(add("USD", 1), add("USD", -1), () => expectBooks(storm.site.database), /the ledger balances/);
});

test("a link of the chain that was changed is noticed", async () => {
  // Not the last one: the service may add another to it meanwhile, as when the time of an order is up.
  const early = "(slot, n) = (select slot, n from batch where not void order by slot, n limit 1)";
  await wrong(
    `create table link as select slot, n, hash from batch where ${early}; update batch set hash = sha256(hash) where ${early}`,
    "update batch b set hash = link.hash from link where (b.slot, b.n) = (link.slot, link.n); drop table link",
    () => expectSound(storm.site),
    /does not match its hash/,
  );
});

test("an index that lacks a row of its table is noticed", async () => {
  const whole = () => expectIndexesWhole(storm.site.database);
  // While it is not ready, no row is added to it.
  await wrong(
    `update pg_index set indisready = false where indexrelid = 'execution_order'::regclass;
     create table added as select profile_id, id from execution limit 1;
     update execution e set order_id = gen_random_uuid() from added where (e.profile_id, e.id) = (added.profile_id, added.id);
     update pg_index set indisready = true where indexrelid = 'execution_order'::regclass`,
    "drop table added; reindex index execution_order",
    whole,
    /lacks matching index tuple/,
  );
});

test("a 500 is noticed, a 503 that does not say when to ask again, and an answer to another request than was asked", async () => {
  let answer: { status: number; body: object } = { status: 500, body: { title: "Internal Server Error" } };
  const server = createServer((request, response) => {
    const isToken = request.url === "/oauth2/token";
    response.writeHead(isToken ? 200 : answer.status, { "content-type": "application/json" });
    response.end(JSON.stringify(isToken ? { access_token: "token" } : answer.body));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const seed = { id: "1", name: "ann", profileIds: ["2", "3"], secret: "s" };
  const client = new Client(seed, [seed], { baseUrl: url, authUrl: url }, seeded(1));
  const trading = () => client.trade({ isOver: false, moved: () => undefined });
  await expect(trading()).rejects.toThrow(/no answer is a 5xx but 503/);
  answer = { status: 503, body: { title: "Service Unavailable" } };
  await expect(trading()).rejects.toThrow(/503 says when to ask again/);
  answer = { status: 200, body: { id: "4", ref_id: "another" } };
  await expect(trading()).rejects.toThrow(/the answer is about ann-3/);
  answer = { status: 418, body: {} };
  await expect(trading()).rejects.toThrow(/was answered with 418/);
  server.close();
  server.closeAllConnections();
  await until("the toy is closed", () => !server.listening);
});
