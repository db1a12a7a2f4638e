/**
 * A slot of the ledger and its chain of batches. One lane writes a slot, held by a lease; what keeps a former holder
 * out for good is the chain: a batch commits only on the predecessor that it was decided on.
 */
import { type Database, type Queryable, serverError } from "../../postgres/database.ts";
import { COMMITTED_BEHIND_ALONE } from "../../postgres/durability.ts";
import { type Lease, releaseLease, renewLease, takeLease } from "../../postgres/leases.ts";
import { linkHash, NO_HASH, voidHash } from "./batch.ts";

const SLOTS = 64;

/** A link of the chain: the next batch has the number n + 1 and carries this hash. */
export interface Head {
  readonly n: bigint;
  readonly hash: Buffer;
}

/** Where a batch stands in its slot's chain. */
export interface Link extends Head {
  readonly slot: number;
  readonly previous: Buffer;
}

export class Slot {
  readonly #database: Database;
  readonly #holder: string;
  readonly #leaseMs: number;
  #lease: Lease | undefined;
  #renewal: Promise<boolean> | undefined;
  #number = 0;
  /** The last link that was sent. */
  #sent: Head = { n: -1n, hash: NO_HASH };

  constructor(database: Database, holder: string, leaseMs: number) {
    this.#database = database;
    this.#holder = holder;
    this.#leaseMs = leaseMs;
  }

  get number(): number {
    return this.#number;
  }

  /** Takes a slot that is free, and its chain over from whoever wrote it before. */
  async take(): Promise<void> {
    const { number, lease } = await takeFreeSlot(this.#database, this.#holder, this.#leaseMs);
    this.#lease = lease;
    this.#number = number;
    this.#sent = await this.#openChain();
  }

  /** The link of the next batch, which is sent behind all that were sent. */
  next(content: Buffer): Link {
    const { n, hash } = this.#sent;
    const link = {
      slot: this.#number,
      n: n + 1n,
      previous: hash,
      hash: linkHash(hash, this.#number, n + 1n, content),
    };
    this.#sent = link;
    return link;
  }

  /**
   * Whether a batch of ours has committed, for good: if not, its number is now void and it never can; if so, it is as
   * durable as what is answered without a question. The next batch goes behind what is found. When the number is somebody else's, so is the slot, and another one is taken.
   */
  async hasCommitted(link: Link): Promise<boolean> {
    // Asked before: the slot was found to be somebody else's, and the database went away while another was taken.
    if (link.slot !== this.#number) {
      await this.take();
      return false;
    }
    const outcome = await this.#voidNext({ n: link.n - 1n, hash: link.previous });
    if (outcome.kind === "taken" && outcome.hash.equals(link.hash)) {
      this.#sent = link;
      return true;
    }
    if (outcome.kind === "voided") this.#sent = outcome.head;
    else await this.take();
    return false;
  }

  /** Holds the slot for longer, or takes another one when it is somebody else's by now. */
  async keep(): Promise<void> {
    if (!(await this.renew())) await this.take();
  }

  /** False when somebody else holds the slot by now. */
  async renew(): Promise<boolean> {
    if (this.#lease === undefined) return false;
    // One at a time, however long the database takes.
    this.#renewal ??= renewLease(this.#database, this.#lease, this.#leaseMs).finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  async release(): Promise<void> {
    if (this.#lease !== undefined) await releaseLease(this.#database, this.#lease);
    this.#lease = undefined;
  }

  /**
   * Voids the number that a batch of the former holder might still be under way with, and answers the head. From here
   * on nothing that was decided before can commit.
   */
  async #openChain(): Promise<Head> {
    // Each round that fails saw one more batch of the former holder, which had few under way.
    for (let round = 0; round < 10; round += 1) {
      const [last] = await this.#database.rows<{ n: string; hash: Buffer }>(
        "select n, hash from batch where slot = $1 order by n desc limit 1",
        [this.#number],
      );
      const head = last === undefined ? { n: -1n, hash: NO_HASH } : { n: BigInt(last.n), hash: last.hash };
      const outcome = await this.#voidNext(head);
      if (outcome.kind === "voided") return outcome.head;
    }
    throw new Error(`slot ${this.#number} is being written by somebody else`);
  }

  /**
   * Takes the number behind `head` for nothing. It waits for a transaction that has inserted the number and is not yet
   * over, so the answer is final: voided, and whatever was sent under that number can never commit; or taken, durably, and
   * the hash tells by whom. When the void itself may not be durable, this throws, and the next attempt finds the number
   * taken by no batch of ours. `broken`: `head` itself is not in the database.
   */
  async #voidNext(
    head: Head,
  ): Promise<{ kind: "voided"; head: Head } | { kind: "taken"; hash: Buffer } | { kind: "broken" }> {
    const n = head.n + 1n;
    const hash = voidHash(head.hash, this.#number, n);
    try {
      const inserted = await this.#database.rows(
        `insert into batch (slot, n, hash, at, void, states, states_expected, refs, refs_expected, predecessor, in_time)
         select $1, $2::bigint, $3, date_trunc('milliseconds', clock_timestamp()), true, 0, 0, 0, 0,
                (select count(*) from batch where slot = $1 and n = $2::bigint - 1 and hash = $4), true
         on conflict do nothing returning 1`,
        [this.#number, n, hash, head.hash],
      );
      if (inserted.length === 1) return { kind: "voided", head: { n, hash } };
    } catch (error) {
      if (serverError(error)?.constraint === "chain_broken") return { kind: "broken" };
      throw error;
    }
    const [row] = await this.#database.rows<{ hash: Buffer }>(
      `select hash, ${COMMITTED_BEHIND_ALONE} as committed_behind from batch where slot = $1 and n = $2`,
      [this.#number, n],
    );
    return row === undefined ? { kind: "broken" } : { kind: "taken", hash: row.hash };
  }
}

/** Fails when all are held: more processes than the ledger has lanes for. */
async function takeFreeSlot(
  database: Queryable,
  holder: string,
  leaseMs: number,
): Promise<{ number: number; lease: Lease }> {
  for (let number = 1; number <= SLOTS; number += 1) {
    const lease = await takeLease(database, `slot/${number}`, holder, leaseMs);
    if (lease !== undefined) return { number, lease };
  }
  throw new Error(`all ${SLOTS} slots of the ledger are held by other processes`);
}
