/** Who did what, out of the batches: for the operator who is asked, or asks, afterwards. */
import type { Command } from "commander";
import type { Caller } from "../../ledger/caller.ts";
import type { Write, WritesPosition } from "../../ledger/writes.ts";
import type { Foundation } from "../../service/core.ts";
import { formatInstant, type Instant } from "../../std/clock.ts";
import type { Uuid } from "../../std/id.ts";
import { findByRefId, listAllWrites } from "../../verify/writes.ts";
import { readPosition, readText, readTime, readUuid } from "../arguments.ts";
import { type Answer, addCommand, answering, withFoundation } from "../command.ts";
import { LISTED_AT_MOST } from "../listing.ts";
import { table } from "../terminal.ts";

interface Asked {
  readonly since?: Date;
  readonly client?: string;
  readonly ref?: string;
  readonly id?: Uuid;
  readonly after?: WritesPosition;
}

const DAY_MS = 24 * 60 * 60 * 1_000;

/** What the engine keeps for itself: nobody asked for it. */
const INNER: ReadonlySet<string> = new Set(["market_head", "traded_day"]);

export function addWrites(audit: Command): void {
  const writes = addCommand(audit, "writes", {
    summary: "list who made each write: client, token, address, operation; the oldest first",
    examples: [
      "audit writes --client acme",
      "audit writes --ref payout-0042 --json",
      "audit writes --id 0190d5a4-1111-7000-8000-000000000004 --since 2026-11-01T00:00:00Z",
    ],
  })
    .option("--since <time>", "from this time on; 24 hours unless given, all of it with --ref or --id", readTime)
    .option("--client <client_id>", "of this client only", readText)
    .option("--ref <ref_id>", "of what has this ref_id", readText)
    .option("--id <id>", "of this transfer, order or conversion, or of all of this profile", readUuid)
    .option("--after <slot/batch>", "goes on behind this batch of a list that had more", readPosition);
  answering(writes, (asked: Asked) => withFoundation((foundation) => list(foundation, asked)));
}

async function list({ database, clock }: Foundation, { since, client, ref, id, after }: Asked): Promise<Answer> {
  const named = ref === undefined ? undefined : await findByRefId(database, ref);
  const everything = ref !== undefined || id !== undefined;
  const { writes, next } = await listAllWrites(database, {
    since: (since?.getTime() ?? (everything ? 0 : clock.now() - DAY_MS)) as Instant,
    after,
    limit: LISTED_AT_MOST,
    isWanted: ({ table: name, key, caller }) => {
      if (INNER.has(name)) return false;
      const ids = key.split("/");
      if (client !== undefined && !(caller !== undefined && "client" in caller && caller.client === client))
        return false;
      return (id === undefined || ids.includes(id)) && (named === undefined || ids.some((part) => named.has(part)));
    },
  });
  const more = next && `${next.slot}/${next.batch}`;
  const rows = writes.map((write) => [formatInstant(write.at), write.table, write.key, ...cells(write.caller)]);
  const lines = table(["at", "what", "key", "who", "token", "address", "operation"], rows);
  if (more !== undefined) lines.push(`There may be more: the same again with --after ${more}`);
  return { json: { items: writes.map(recordOf), next: more }, prose: lines };
}

function cells(caller: Caller | undefined): [who: string, token: string, address: string, operation: string] {
  if (caller === undefined) return ["not kept", "", "", ""];
  if ("house" in caller) return [`house: ${caller.house}`, "", "", ""];
  if ("operator" in caller) return [`operator: ${caller.operator}`, "", "", caller.operation];
  return [caller.client, caller.token, caller.address, caller.operation];
}

function recordOf({ at, slot, batch, table: what, key, caller }: Write) {
  return { at: formatInstant(at), slot, batch: batch.toString(), what, key, caller };
}
