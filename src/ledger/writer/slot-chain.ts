/**
 * A slot of the ledger and its chain of batches. One lane writes a slot and holds it by a lease. The chain fences off a
 * former holder: a batch commits only on the predecessor that it was decided on.
 */
import { type Database, type Queryable, serverError } from "../../postgres/database.ts";
import { SERIALIZED_COMMIT_MARKER } from "../../postgres/durability.ts";
import { type Lease, releaseLease, renewLease, takeLease } from "../../postgres/leases.ts";
import { linkHash, NO_HASH, voidHash } from "./batch.ts";

export const SLOTS = 64;

/** The end of a chain: the next batch has number n + 1 and refers to this hash. */
export interface Head {
  readonly n: bigint;
  readonly hash: Buffer;
}

/** The position of a batch in its slot's chain. */
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
  #lastSent: Head = { n: -1n, hash: NO_HASH };

  constructor(database: Database, holder: string, leaseMs: number) {
    this.#database = database;
    this.#holder = holder;
    this.#leaseMs = leaseMs;
  }

  get number(): number {
    return this.#number;
  }

  /** Takes a free slot, and takes over its chain from the former holder. */
  async take(): Promise<void> {
    const { number, lease } = await takeFreeSlot(this.#database, this.#holder, this.#leaseMs);
    this.#lease = lease;
    this.#number = number;
    this.#lastSent = await this.#openChain();
  }

  /** The link of the next batch, which follows all that were sent. */
  next(content: Buffer): Link {
    const { n, hash } = this.#lastSent;
    const link = {
      slot: this.#number,
      n: n + 1n,
      previous: hash,
      hash: linkHash(hash, this.#number, n + 1n, content),
    };
    this.#lastSent = link;
    return link;
  }

  /** After all these batches were refused: the next one has the number of the first. */
  rewind([first]: readonly { readonly link: Link }[]): void {
    if (first !== undefined) this.#lastSent = { n: first.link.n - 1n, hash: first.link.previous };
  }

  /**
   * Whether a batch of ours has committed. The answer is final: if not, its number is now void; if so, the batch is
   * durable. The next batch follows whatever is found. If another process has the number, it has the slot too, and a
   * new one is taken.
   */
  async hasCommitted(link: Link): Promise<boolean> {
    // An earlier call found the slot lost, and the database went away while a new one was being taken.
    if (link.slot !== this.#number) {
      await this.take();
      return false;
    }
    const outcome = await this.#voidNext({ n: link.n - 1n, hash: link.previous });
    if (outcome.kind === "taken" && outcome.hash.equals(link.hash)) {
      this.#lastSent = link;
      return true;
    }
    if (outcome.kind === "voided") this.#lastSent = outcome.head;
    else await this.take();
    return false;
  }

  /** Renews the lease, or takes another slot when this one is lost. */
  async renewOrTake(): Promise<void> {
    if (!(await this.renew())) await this.take();
  }

  /** @returns false when another process holds the slot */
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
   * Voids the number that an in-flight batch of the former holder might still use, and returns the new head. After this
   * nothing that was decided earlier can commit.
   */
  async #openChain(): Promise<Head> {
    // Each failed round saw one more batch of the former holder, which had few in flight.
    for (let round = 0; round < 10; round += 1) {
      const [last] = await this.#database.rows<{ n: string; hash: Buffer }>(
        "select n, hash from batch where slot = $1 order by n desc limit 1",
        [this.#number],
      );
      const head = last === undefined ? { n: -1n, hash: NO_HASH } : { n: BigInt(last.n), hash: last.hash };
      const outcome = await this.#voidNext(head);
      if (outcome.kind === "voided") return outcome.head;
    }
    throw new Error(`slot ${this.#number} is being written by another process`);
  }

  /**
   * Voids the number after `head`. The insert waits for an open transaction that has inserted the number, so the result
   * is final: "voided", and no batch with that number can ever commit; or "taken", durably, and the hash identifies the
   * batch. "broken": `head` itself is not in the database. Throws when the void may not be durable; the next attempt
   * then finds the number taken by no batch of ours.
   */
  async #voidNext(
    head: Head,
  ): Promise<{ kind: "voided"; head: Head } | { kind: "taken"; hash: Buffer } | { kind: "broken" }> {
    const n = head.n + 1n;
    const hash = voidHash(head.hash, this.#number, n);
    try {
      const inserted = await this.#database.rows(
        `insert into batch (slot, n, hash, at, void, rows_found, rows_expected, claims_made, claims_expected, predecessor, in_time)
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
      `select hash, ${SERIALIZED_COMMIT_MARKER} as committed_behind from batch where slot = $1 and n = $2`,
      [this.#number, n],
    );
    return row === undefined ? { kind: "broken" } : { kind: "taken", hash: row.hash };
  }
}

/** @throws when all slots are held: there are more processes than slots */
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
