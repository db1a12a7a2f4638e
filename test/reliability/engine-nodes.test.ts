/** Two nodes on one database, as real processes: one of them is killed, or paused for longer than its lease. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { expectBooksBalance } from "../support/books.ts";
import { expectOrdersAddUp, type OrderAsked, TestExchange, type Trader } from "../support/exchange/orders.ts";
import { urlOf } from "../support/service.ts";
import { until } from "../support/until.ts";

/** That of a node in earnest is 15 s: ENGINE_LEASE_MS=15000 measures it. */
const LEASE_MS = Number(process.env.ENGINE_LEASE_MS ?? 4_000);
/** What a takeover may take beyond the lease, and what a busy machine adds to it. */
const TAKEOVER_MS = 2_000;
const SLACK_MS = 8_000;
const PATIENCE_S = LEASE_MS / 1_000 + 60;
const LIMIT_MS = 300_000;
const PROGRAM = fileURLToPath(new URL("engine-node.mjs", import.meta.url));

interface EngineNode {
  readonly process: ChildProcess;
  readonly events: { readonly kind: string; readonly error?: string }[];
}

let exchange: TestExchange;
let ann: Trader;
let bob: Trader;
let nodes: EngineNode[];
/** Holds a data directory for each node: one serves only one node. */
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parbook-nodes-"));
  exchange = await TestExchange.open();
});

beforeEach(async () => {
  nodes = [];
  ann = await exchange.trader("Ann", "100000 USD, 100 ETH");
  bob = await exchange.trader("Bob", "100000 USD, 100 ETH");
});

afterEach(async () => {
  for (const node of nodes) await killed(node);
  await expectBooksBalance(exchange.db.database);
  await expectOrdersAddUp(exchange.db.database);
});

afterAll(async () => {
  await exchange.close();
  await rm(directory, { recursive: true, force: true });
});

async function startNode(): Promise<EngineNode> {
  const child = fork(PROGRAM, ["ETHUSD", String(LEASE_MS)], {
    env: {
      PATH: process.env.PATH,
      PARBOOK_DATA_DIR: await mkdtemp(join(directory, "node-")),
      PARBOOK_DATABASE_URL: urlOf(exchange.db),
      PARBOOK_MIGRATE_URL: urlOf(exchange.db, "owner"),
      PARBOOK_LOG_LEVEL: "silent",
    },
    execArgv: [],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const node: EngineNode = { process: child, events: [] };
  child.on("message", (event) => node.events.push(event as EngineNode["events"][number]));
  nodes.push(node);
  const hasStarted = (): boolean => {
    if (child.exitCode !== null) throw new Error(`the node ended with ${child.exitCode}`);
    return node.events.length > 0;
  };
  await until("the node has started", hasStarted, 150);
  return node;
}

const hasOpened = ({ events }: EngineNode): boolean => events.some(({ kind }) => kind === "market_opened");

const serves = (node: EngineNode) => until("the market is served", () => hasOpened(node), PATIENCE_S);

async function killed({ process: child }: EngineNode): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

const eth = (side: OrderAsked["side"], base: string, price: string): OrderAsked => ({
  market: "ETHUSD",
  side,
  base,
  price,
});

async function fence(): Promise<string | undefined> {
  const [row] = await exchange.db.database.rows<{ fence: string }>(
    "select fence from market_head where market = 'ETHUSD'",
  );
  return row?.fence;
}

test(
  "the orders of an engine that was killed are another node's when its lease has ended",
  async () => {
    const first = await startNode();
    await serves(first);
    const second = await startNode();
    const resting = await exchange.place(ann, eth("SELL", "1", "1000"));
    await exchange.untilDone();
    expect(await exchange.received(resting)).toBe("OPEN 0 for 0, holds 1");

    const started = performance.now();
    await killed(first);
    const buy = await exchange.place(bob, eth("BUY", "1", "1000"));
    expect(await exchange.received(buy)).toMatch(/^PENDING_SUBMISSION/);
    await until(
      "the order is taken",
      async () => (await exchange.order(buy)).status !== "PENDING_SUBMISSION",
      PATIENCE_S,
    );
    const tookMs = performance.now() - started;
    process.stdout.write(`With a lease of ${LEASE_MS} ms, the takeover took ${Math.round(tookMs)} ms.\n`);
    expect(tookMs).toBeLessThan(LEASE_MS + TAKEOVER_MS + SLACK_MS);
    expect(await exchange.received(buy)).toBe("FILLED 1 for 1000, holds 0");
    expect(await exchange.received(resting)).toBe("FILLED 1 for 1000, holds 0");
    expect(hasOpened(second)).toBe(true);
  },
  LIMIT_MS,
);

test(
  "an engine that resumes after its lease has expired commits nothing of its round",
  async () => {
    const first = await startNode();
    await serves(first);
    const second = await startNode();
    const sell = await exchange.place(ann, eth("SELL", "2", "1000"));
    await exchange.untilDone();

    // The first engine asks for the order that waits, and is stopped before it receives the answer.
    const buy = await exchange.db.owner.transaction(async (transaction) => {
      await transaction.rows("lock table market in access exclusive mode");
      const waiting = await exchange.place(bob, eth("BUY", "1", "1000"));
      await until("the engine waits for the orders that it asked for", async () => {
        // Within a transaction PostgreSQL shows what everybody does as it was when that was looked at first.
        await transaction.rows("select pg_stat_clear_snapshot()");
        const [row] = await transaction.rows<{ asked: boolean }>(ASKS_FOR_ORDERS);
        return row?.asked === true;
      });
      first.process.kill("SIGSTOP");
      return waiting;
    });
    await serves(second);
    await exchange.untilDone();
    expect(await exchange.received(buy)).toBe("FILLED 1 for 1000, holds 0");
    const fenceOfSecond = await fence();

    first.process.kill("SIGCONT");
    await until("the first engine knows", () => first.events.some(({ kind }) => kind === "market_lost"), PATIENCE_S);
    const [, opened, ...others] = first.events;
    expect(opened).toEqual({ kind: "market_opened" });
    for (const event of others) expect(HARMLESS).toContainEqual(event);
    const next = await exchange.place(bob, eth("BUY", "1", "1000"));
    await exchange.untilDone();
    expect(await exchange.received(next)).toBe("FILLED 1 for 1000, holds 0");
    expect(await exchange.received(sell)).toBe("FILLED 2 for 2000, holds 0");
    expect(await exchange.executions(sell)).toHaveLength(2);
    expect(second.events.map(({ kind }) => kind)).toEqual(["started", "market_opened"]);
    expect(await fence()).toBe(fenceOfSecond);
  },
  LIMIT_MS,
);

/** What an engine may say that wakes up: its round came too late, or its lease was gone before it sent one. */
const HARMLESS = [
  { kind: "market_lost" },
  { kind: "market_failed", error: "the stored head does not match the order book" },
  { kind: "market_failed", error: "the stored order does not match the order book" },
];

const ASKS_FOR_ORDERS = `
  select exists (select from pg_locks l join pg_stat_activity a using (pid)
                  where l.relation = 'market'::regclass and not l.granted
                    and a.query like '%as has_cancels%') as asked`;
