/** Whose a ref_id is: asked of the database, for commands that may be repeating something that was done before. */
import type { Queryable } from "../../postgres/database.ts";
import { COMMITTED_BEHIND_ALONE } from "../../postgres/durability.ts";
import type { Clock } from "../../std/clock.ts";
import type { Uuid } from "../../std/id.ts";
import { type Claim, type ClaimKind, claimKey } from "../decision.ts";
import type { Deciding } from "./deciding.ts";
import { ExpiringSet } from "./expiring-set.ts";
import type { PendingCommand } from "./pending-command.ts";

/** How often a command's ref_id is looked up before its caller is told to come back later. */
const MOST_ROUNDS = 5;
/** For how long the ref_ids of a customer who repeats them are looked up first. */
const REPEATING_MS = 10_000;

export class RefIdLookup {
  readonly #database: Queryable;
  readonly #deciding: Deciding;
  readonly #repeating: ExpiringSet;

  constructor(database: Queryable, clock: Clock, deciding: Deciding) {
    this.#database = database;
    this.#deciding = deciding;
    this.#repeating = new ExpiringSet(clock, REPEATING_MS);
  }

  /** A ref_id that was taken long ago fails the batch that claims it. Somebody who sends a row of them again does so once. */
  isLikelyTaken(claim: Claim | undefined): boolean {
    return claim !== undefined && (claim.again === true || this.#repeating.has(claim.customerId));
  }

  forgetOld(): void {
    this.#repeating.forgetOld();
  }

  /** Answers those whose ref_id is another record's. Returns the others, whose ref_id is theirs to take. */
  async lookUp(some: readonly PendingCommand[]): Promise<Set<PendingCommand>> {
    const claims = some.flatMap(({ command }) => command.claim ?? []);
    const holders = await findClaims(this.#database, claims);
    const free = new Set<PendingCommand>();
    for (const waiting of some) {
      const { claim } = waiting.command;
      const holder = claim && holders.get(claimKey(claim));
      waiting.holder = undefined;
      if (claim === undefined || holder === undefined) free.add(waiting);
      else if (await this.#mayTake(waiting, claim, holder)) free.add(waiting);
    }
    return free;
  }

  /** Whether a ref_id that is taken is the command's own by now, or was let go. If not, the caller is told whose it is. */
  async #mayTake(waiting: PendingCommand, claim: Claim, holder: Uuid): Promise<boolean> {
    waiting.rounds += 1;
    if (waiting.rounds > MOST_ROUNDS) {
      waiting.unavailable("its ref_id is changing hands");
      return false;
    }
    this.#deciding.rememberClaim(claimKey(claim), holder);
    const released = holder !== claim.id && (await claim.released?.(holder)) === true;
    waiting.holder = { id: holder, released };
    if (released || holder === claim.id) return true;
    // Who says so himself repeats what starts with the program, not what he is sent.
    if (claim.again !== true) this.#repeating.note(claim.customerId);
    waiting.answer({ kind: "exists", id: holder });
    return false;
  }
}

/**
 * Which record has each of these ref_ids, durably; those that are free are missing from the answer. However many are found
 * at once, one commit is waited for.
 */
async function findClaims(
  database: Queryable,
  claims: readonly Pick<Claim, "customerId" | "kind" | "refId">[],
): Promise<Map<string, Uuid>> {
  if (claims.length === 0) return new Map();
  const rows = await database.rows<{ customer_id: Uuid; kind: ClaimKind; ref_id: string; id: Uuid }>(
    `select c.customer_id, c.kind, c.ref_id, c.id, ${COMMITTED_BEHIND_ALONE} as committed_behind
       from claim c join unnest($1::uuid[], $2::claim_kind[], $3::text[]) as k(customer_id, kind, ref_id)
         on c.customer_id = k.customer_id and c.kind = k.kind and c.ref_id = k.ref_id`,
    [claims.map((claim) => claim.customerId), claims.map((claim) => claim.kind), claims.map((claim) => claim.refId)],
  );
  return new Map(
    rows.map((row) => [claimKey({ customerId: row.customer_id, kind: row.kind, refId: row.ref_id }), row.id]),
  );
}
