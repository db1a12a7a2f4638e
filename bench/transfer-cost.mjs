/**
 * What one transfer costs the database: CPU of the lane's backend, WAL, and disk by table. Without HTTP, because it is the
 * lane's own statement that is measured. Two checkouts can be compared side by side in one run.
 *
 *   node bench/transfer-cost.mjs [CHECKOUT ...] [--batch 100] [--transfers 20000] [--rounds 2] [--profiles 1000]
 *
 * Without a CHECKOUT it measures this one. Each has its own embedded PostgreSQL with a fresh database; they take turns,
 * every other round backwards, so that other load on the machine affects all of them.
 *
 * Transfers go between random profiles, each with a ref_id and metadata on its debit. As many as `--batch` are requested in
 * the same turn of the event loop, which makes them one batch; the next ones when it has committed.
 *
 *   CPU    user and system time of this process, and of the lane's backend from /proc (Linux), in steps of 10 ms.
 *   WAL    how far pg_current_wal_insert_lsn() moves. A checkpoint and then a warm-up come first, and a round takes less
 *          than the time to the next checkpoint, so that hardly any full-page image is in it. What the service's other
 *          connections write meanwhile (leases) is below one percent.
 *   disk   how much each table grows over all rounds, heap and indexes, divided by the transfers. What grows once for each
 *          batch is in the table `batch`, and is divided by the batches. Pages that B-trees have just split count in full.
 */
import { realpathSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import pg from "pg";
import { printTable } from "./report/table.mjs";
import { processCpu } from "./service.mjs";

const CUSTOMER = "0190d5a4-1111-7000-8001-000000000001";
const CALLER = { operator: "bench", operation: "transfer-cost" };
/** The first batches prepare statements, fill caches and write full-page images. */
const WARM_UP_BATCHES = 50;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    batch: { type: "string", default: "100" },
    transfers: { type: "string", default: "20000" },
    rounds: { type: "string", default: "2" },
    profiles: { type: "string", default: "1000" },
  },
});
const [batch, transfers, rounds, profiles] = ["batch", "transfers", "rounds", "profiles"].map((name) =>
  Number(values[name]),
);
const PROFILES = Array.from(
  { length: profiles },
  (_, number) => `0190d5a4-1111-7000-8004-${String(number).padStart(12, "0")}`,
);

/** A checkout with its service, and what its rounds have measured. */
class Subject {
  #name;
  #directory;
  #service;
  #superuser;
  #amount;
  #sent = 0;
  #before;
  #rounds = [];

  static async open(checkout) {
    const subject = new Subject();
    subject.#name = basename(checkout);
    subject.#directory = await mkdtemp(join(tmpdir(), "parbook-cost-"));
    await subject.#start((path) => import(pathToFileURL(join(checkout, path)).href));
    return subject;
  }

  async #start(load) {
    await (await load("scripts/prepare.mjs")).prepare({ tools: true });
    const { startService } = await load("dist/main.js");
    const { readConfig } = await load("dist/service/config/config.js");
    const { createLogger } = await load("dist/service/logger.js");
    const { reachEmbedded } = await load("dist/postgres/embedded/embedded.js");
    this.#amount = (await load("dist/money/amount.js")).amountOf("0.01");
    const bootstrap = join(this.#directory, "bootstrap.json");
    await writeFile(bootstrap, JSON.stringify({ customers: [customer()] }));
    const config = readConfig({
      PARBOOK_DATA_DIR: this.#directory,
      PARBOOK_BOOTSTRAP: bootstrap,
      PARBOOK_PORT: "0",
      PARBOOK_AUTH_PORT: "0",
    });
    this.#service = await startService({ config, log: createLogger({ logLevel: "error" }) });
    this.#superuser = new pg.Client((await reachEmbedded(this.#directory)).connection("parbook", "postgres"));
    await this.#superuser.connect();
    // Only a checkpoint of ours: each one is followed by full-page images.
    await this.#superuser.query("alter system set checkpoint_timeout = '1h'");
    await this.#superuser.query("select pg_reload_conf()");
    await this.#superuser.query("checkpoint");
    await this.#send(WARM_UP_BATCHES * batch);
    this.#before = await this.#grown();
  }

  async round() {
    const before = await this.#used();
    await this.#send(transfers);
    const after = await this.#used();
    const each = (figure, per = transfers) => (after[figure] - before[figure]) / per;
    const size = transfers / (after.batches - before.batches);
    this.#rounds.push({ cpu: each("cpu"), own: each("own"), wal: each("wal"), size });
  }

  /** Rows of the report: a name, and a number. */
  async figures() {
    const after = await this.#grown();
    const measured = rounds * transfers;
    const batches = after.batches - this.#before.batches;
    const figures = this.#rounds.flatMap(({ cpu, own, wal, size }, i) => [
      [`CPU of a transfer in this process, us, round ${i + 1}`, own],
      [`backend CPU of a transfer, us, round ${i + 1}`, cpu],
      [`WAL of a transfer, bytes, round ${i + 1}`, wal],
      [`transfers in a batch, round ${i + 1}`, size],
    ]);
    let sum = 0;
    for (const [table, { heap, indexes }] of after.tables) {
      const was = this.#before.tables.get(table);
      const per = table === "batch" ? batches : measured;
      const [inHeap, inIndexes] = [(heap - was.heap) / per, (indexes - was.indexes) / per];
      if (table !== "batch") sum += inHeap + inIndexes;
      if (inHeap + inIndexes < 1) continue;
      figures.push([`disk of a ${table === "batch" ? "batch" : "transfer"}, bytes: ${table}, heap`, inHeap]);
      figures.push([`disk of a ${table === "batch" ? "batch" : "transfer"}, bytes: ${table}, indexes`, inIndexes]);
    }
    figures.push(["disk of a transfer, bytes: all without batch", sum]);
    return { name: this.#name, figures: new Map(figures) };
  }

  async close() {
    await this.#superuser?.end();
    await this.#service?.stop();
    await rm(this.#directory, { recursive: true, force: true });
  }

  /** In full batches. */
  async #send(count) {
    for (let sent = 0; sent < count; sent += batch) {
      const outcomes = await Promise.all(Array.from({ length: batch }, () => this.#transfer()));
      const other = outcomes.find(({ kind }) => kind !== "done");
      if (other !== undefined) throw new Error(`a transfer was not made: ${JSON.stringify(other)}`);
    }
  }

  #transfer() {
    this.#sent += 1;
    const from = Math.floor(Math.random() * profiles);
    const to = (from + 1 + Math.floor(Math.random() * (profiles - 1))) % profiles;
    const request = {
      customerId: CUSTOMER,
      kind: "platform",
      from: { profileId: PROFILES[from], metadata: { purpose: "bench" } },
      to: { profileId: PROFILES[to] },
      asset: "USD",
      amount: this.#amount,
      refId: `bench-${String(this.#sent).padStart(10, "0")}`,
    };
    return this.#service.transfers.move(request, CALLER);
  }

  async #used() {
    const [{ pid, wal, batches }] = await this.#rows(
      `select pid, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::text as wal,
              (select count(*) from batch) as batches
         from pg_stat_activity where application_name = 'parbook lane'`,
    );
    const { user, system } = process.cpuUsage();
    return { cpu: processCpu(pid), own: user + system, wal: Number(wal), batches: Number(batches) };
  }

  async #grown() {
    const { batches } = await this.#used();
    const rows = await this.#rows(
      `select relname as table, pg_table_size(oid) as heap, pg_indexes_size(oid) as indexes
         from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by relname`,
    );
    const size = ({ heap, indexes }) => ({ heap: Number(heap), indexes: Number(indexes) });
    return { batches, tables: new Map(rows.map((row) => [row.table, size(row)])) };
  }

  async #rows(text) {
    return (await this.#superuser.query(text)).rows;
  }
}

const subjects = [];
try {
  const checkouts = positionals.length === 0 ? [join(import.meta.dirname, "..")] : positionals;
  for (const checkout of checkouts) subjects.push(await Subject.open(realpathSync(checkout)));
  for (let round = 0; round < rounds; round += 1)
    for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) await subject.round();
  report(await Promise.all(subjects.map((subject) => subject.figures())));
} finally {
  for (const subject of subjects) await subject.close();
}

function customer() {
  const owned = PROFILES.map((id, number) => ({ id, nickname: `profile ${number}`, balances: { USD: "100000" } }));
  return { id: CUSTOMER, name: "Transfer cost", clients: [], profiles: owned };
}

function report(results) {
  const names = [...new Set(results.flatMap(({ figures }) => [...figures.keys()]))];
  printTable(
    [`${transfers} transfers a round`, ...results.map(({ name }) => name)],
    names.map((name) => [name, ...results.map(({ figures }) => figures.get(name) ?? 0)]),
  );
}
