/** A process that meets a bug changes nothing any more, and does not make the others wait for its leases. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { dataDirectory, type ServiceProcess, startService } from "../cli/parbook.ts";
import { expectBooksBalance } from "../support/books.ts";
import { expectOrdersAddUp, type OrderAsked, TestExchange } from "../support/exchange/orders.ts";
import { openTransaction } from "../support/postgres/rows-in-the-way.ts";
import { startTestService, urlOf } from "../support/service.ts";
import { until } from "../support/until.ts";

vi.setConfig({ testTimeout: 300_000 });

/** Shorter than what is left of a lease at any time: 10 to 15 s. */
const TAKEOVER_S = 8;
/** A bug that a signal brings about. */
const BUG = 'process.on("SIGUSR2", () => { throw new Error("made for a test"); })';

let exchange: TestExchange;
beforeAll(async () => {
  exchange = await TestExchange.open();
});
afterAll(() => exchange.close());

async function startNode(): Promise<ServiceProcess> {
  const data = await dataDirectory();
  const bootstrap = join(data.path, "nobody.json");
  await writeFile(bootstrap, '{"customers":[]}');
  const node = await startService({
    PARBOOK_DATA_DIR: data.path,
    PARBOOK_DATABASE_URL: urlOf(exchange.db),
    PARBOOK_MIGRATE_URL: urlOf(exchange.db, "owner"),
    PARBOOK_BOOTSTRAP: bootstrap,
    PARBOOK_SANDBOX_MAKER: "off",
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(BUG)}`,
  });
  onTestFinished(async () => {
    await node.end("SIGKILL");
    await data.remove();
  });
  return node;
}

/** The leases that the process holds; a holder's name has the process's number in its midst. */
async function leasesOf({ ready }: ServiceProcess): Promise<string[]> {
  const rows = await exchange.db.database.rows<{ name: string }>(
    'select name from lease where holder like $1 and expires_at > clock_timestamp() order by name collate "C"',
    [`%/${ready.pid}/%`],
  );
  return rows.map(({ name }) => name);
}

const eth = (side: OrderAsked["side"]): OrderAsked => ({ market: "ETHUSD", side, base: "1", price: "1000" });

test("a process that ends by a bug releases its leases, and another one trades within seconds", async () => {
  const [ann, bob] = [await exchange.trader("Ann", "10 ETH"), await exchange.trader("Bob", "10000 USD")];
  const first = await startNode();
  const serves = async (node: ServiceProcess) => (await leasesOf(node)).includes("market/ETHUSD");
  await until("the first one serves the market", () => serves(first), 60);
  const second = await startNode();
  const resting = await exchange.place(ann, eth("SELL"));
  await exchange.untilDone();
  expect(await leasesOf(first)).toContainEqual(expect.stringMatching(/^slot\//));

  const ended = await first.end("SIGUSR2");
  expect(ended.exitCode).toBe(1);
  expect(ended.stdout).toContain("uncaught error: this is a bug, exiting");
  expect(await leasesOf(first)).toEqual([]);
  const buy = await exchange.place(bob, eth("BUY"));
  await until("the order is filled", async () => (await exchange.order(buy)).status === "FILLED", TAKEOVER_S);
  expect(await exchange.received(resting)).toBe("FILLED 1 for 1000, holds 0");
  expect(await serves(second)).toBe(true);
  await expectBooksBalance(exchange.db.database);
  await expectOrdersAddUp(exchange.db.database);
});

test("after a bug a process ends within seconds, even if its leases cannot be released", async () => {
  const node = await startNode();
  const inTheWay = await openTransaction(exchange.db.owner);
  await inTheWay.query("lock table lease in exclusive mode");
  const startedMs = performance.now();
  expect((await node.end("SIGUSR2")).exitCode).toBe(1);
  expect(performance.now() - startedMs).toBeLessThan(TAKEOVER_S * 1_000);
  await inTheWay.query("rollback");
  await inTheWay.end();
});

test("after a bug nothing is committed, not even a batch in progress, and the leases are free", async () => {
  // The engines of a service that has just started commit that they have their markets.
  const service = await startTestService({ roles: new Set(["api", "auth", "worker"]) });
  onTestFinished(() => service.close());
  const { core } = service.service;
  const acme = await service.customer();
  const [from, to] = [await service.profile(acme, { USD: "10" }), await service.profile(acme)];
  const transfer = () =>
    service.call("POST", "/v2/transfer/internal", {
      as: acme.token,
      body: { amount: "1", asset: "USD", from_profile_id: from, to_profile_id: to },
    });
  expect((await transfer()).status).toBe(200);
  const leases = () =>
    service.db.owner.rows("select name from lease where holder = $1 and expires_at > clock_timestamp()", [core.holder]);
  expect(await leases()).toContainEqual({ name: expect.stringMatching(/^slot\//) });
  const committed = () => service.db.owner.rows("select slot, n from batch order by 1, 2");
  const before = await committed();

  let abandoned: Promise<void> | undefined;
  const begun = core.database.transaction(async (transaction) => {
    await transaction.rows(
      "insert into customer (id, name, created_at) values (gen_random_uuid(), 'Begun before', now())",
    );
    abandoned = core.abandon();
  });
  await expect(begun).rejects.toMatchObject({ name: "OutcomeUnknown" });
  const rejected = await transfer();
  expect([rejected.status, rejected.body.title]).toEqual([503, "Service Unavailable"]);
  expect((await service.call("GET", "/readyz")).status).toBe(503);
  await abandoned;
  expect(await leases()).toEqual([]);
  expect(await committed()).toEqual(before);
  expect(await service.db.owner.rows("select name from customer where name = 'Begun before'")).toEqual([]);
  await expectBooksBalance(service.db.owner);
});
