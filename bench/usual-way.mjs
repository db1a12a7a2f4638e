/**
 * The conventional implementation of a transfer, for a fair comparison: one transaction per request on a pool, with the
 * same server, token check, schema, serialiser and kinds of records, in tables of the same columns, checks and indexes.
 *
 * Four round trips, all prepared: begin; lock and read both accounts in key order; one statement that updates both
 * balances and inserts two postings and the transfer with its ref_id; commit. It is even favoured: all writes are
 * in one statement, and profiles are read without locks.
 */
import pg from "pg";
import { Type } from "typebox";
import { Amount, AssetCode, Body, Metadata, RefId, UuidText } from "../dist/api/requests/schemas.js";
import { TransferBody, transferBody } from "../dist/api/routes/transfer-record.js";
import { amountOf } from "../dist/money/amount.js";
import { reachEmbedded } from "../dist/postgres/embedded/embedded.js";

const TABLES = ["account", "posting", "transfer"];

const LOCK = {
  name: "usual-lock",
  text: `select a.owner_id, a.available, p.customer_id, p.status
           from usual.account a join profile p on p.id = a.owner_id
          where a.asset = $1 and a.owner_id = any($2::uuid[])
          order by a.owner_id for update of a`,
};

const WRITE = {
  name: "usual-write",
  text: `with moved as (
           update usual.account set version = version + 1, at = $4,
                  available = case owner_id when $6::uuid then available - $8::numeric else available + $8::numeric end
            where asset = $5 and owner_id in ($6::uuid, $7::uuid)
           returning owner_id, version, available, trading, pending),
         posted as (
           insert into usual.posting (owner_id, asset, version, journal_id, cause, part, amount, available, trading, pending,
                                      at, slot, batch)
           select owner_id, $5, version, $3, 'transfer', 'available',
                  case owner_id when $6::uuid then -$8::numeric else $8::numeric end, available, trading, pending, $4, 1, 0
             from moved)
         insert into usual.transfer (customer_id, id, type, from_profile_id, from_metadata, to_profile_id, to_customer_id,
                                     asset, amount, ref_id, created_at, slot, batch)
         values ($1, $3, 'PLATFORM_TRANSFER', $6, $9, $7, $10, $5, $8, $2, $4, 1, 0)`,
};

const TransferRequest = Body(
  {
    from_profile_id: Type.String({ ...UuidText }),
    to_profile_id: Type.String({ ...UuidText }),
    amount: Amount,
    asset: AssetCode,
    ref_id: Type.Optional(RefId),
    metadata: Type.Optional(Metadata),
  },
  { title: "UsualTransfer", examples: [] },
);

export class UsualWay {
  #pool;
  #ids;

  addRoute(api) {
    const schema = { hide: true, body: TransferRequest, response: { 200: TransferBody } };
    const config = { scope: "transfer:write_platform_transfer" };
    api.post("/bench/usual-way", { config, schema }, async ({ grant, body }) =>
      transferBody(await this.#move(grant.customerId, body)),
    );
  }

  /** Takes over the balances as they are when it is opened first; a pool of another size when it is opened again. */
  async open(dataDir, { ids }, poolSize) {
    this.#ids = ids;
    await this.close();
    const server = await reachEmbedded(dataDir);
    const connection = { ...server.connection("parbook", "postgres"), options: "-c synchronous_commit=on" };
    this.#pool = new pg.Pool({ ...connection, max: poolSize });
    const copies = TABLES.map((name) => `create table if not exists usual.${name} (like public.${name} including all)`);
    await this.#pool.query(`create schema if not exists usual; ${copies.join("; ")}`);
    await this.#pool.query(
      "insert into usual.account select * from public.account where house is null on conflict do nothing",
    );
  }

  async close() {
    await this.#pool?.end();
    this.#pool = undefined;
  }

  async #move(customerId, { from_profile_id: from, to_profile_id: to, amount: text, asset, ref_id: refId, metadata }) {
    const id = this.#ids.next();
    const amount = amountOf(text);
    const createdAt = Date.now();
    const client = await this.#pool.connect();
    try {
      await client.query({ name: "usual-begin", text: "begin" });
      const { rows } = await client.query({ ...LOCK, values: [asset, [from, to]] });
      const [sender, receiver] = [from, to].map((owner) => rows.find(({ owner_id }) => owner_id === owner));
      if (sender?.customer_id !== customerId || sender.status !== "ACTIVE") throw new Error("no such sender");
      if (receiver?.status !== "ACTIVE") throw new Error("no such receiver");
      if (amountOf(sender.available) < amount) throw new Error("insufficient funds");
      const at = new Date(createdAt);
      const values = [customerId, refId, id, at, asset, from, to, text, metadata, receiver.customer_id];
      await client.query({ ...WRITE, values });
      await client.query({ name: "usual-commit", text: "commit" });
    } catch (error) {
      await client.query("rollback");
      throw error;
    } finally {
      client.release();
    }
    const what = { direction: "DEBIT", type: "PLATFORM_TRANSFER_DEBIT", asset, amount, refId, createdAt };
    return { id, profileId: from, customerId, annotations: { metadata }, ...what };
  }
}
