/** `parbook audit writes`: who made each write, read from the batch log. */
import type { Command } from "commander";
import type { Caller } from "../../ledger/caller.ts";
import type { Write, WritesPosition } from "../../ledger/list-writes.ts";
import type { Foundation } from "../../service/core.ts";
import { formatInstant, type Instant } from "../../std/clock.ts";
import { siblingId, type Uuid } from "../../std/id.ts";
import { readPosition, readText, readTime, readUuid } from "../arguments.ts";
import { addCommand, type CommandResult, setAction, withFoundation } from "../command.ts";
import { LIST_LIMIT } from "../listing.ts";
import { table } from "../terminal.ts";
import { findByRefId, listAllWrites } from "./all-writes.ts";

interface WritesOptions {
  readonly since?: Date;
  readonly client?: string;
  readonly ref?: string;
  readonly id?: Uuid;
  readonly after?: WritesPosition;
}

const DAY_MS = 24 * 60 * 60 * 1_000;

/** Internal to the engine: no caller requested these writes. */
const ENGINE_TABLES: ReadonlySet<string> = new Set(["market_head", "customer_volume"]);

export function addWrites(audit: Command): void {
  const writes = addCommand(audit, "writes", {
    summary: "list who made each write: client, token, address, operation; oldest first",
    examples: [
      "audit writes --client acme",
      "audit writes --ref payout-0042 --json",
      "audit writes --id 0190d5a4-1111-7000-8000-000000000004 --since 2026-11-01T00:00:00Z",
    ],
  })
    .option("--since <time>", "from this time on (default: the last 24 hours, or all with --ref or --id)", readTime)
    .option("--client <client_id>", "only writes of this client", readText)
    .option("--ref <ref_id>", "only writes of the resource with this ref_id", readText)
    .option("--id <id>", "only writes of the record with this id", readUuid)
    .option("--after <slot/batch>", "continue the list after this batch", readPosition);
  setAction(writes, (options: WritesOptions) => withFoundation((foundation) => list(foundation, options)));
}

async function list(
  { database, clock }: Foundation,
  { since, client, ref, id, after }: WritesOptions,
): Promise<CommandResult> {
  const named = ref === undefined ? undefined : await findByRefId(database, ref);
  const everything = ref !== undefined || id !== undefined;
  const { writes, next } = await listAllWrites(database, {
    since: (since?.getTime() ?? (everything ? 0 : clock.now() - DAY_MS)) as Instant,
    after,
    limit: LIST_LIMIT,
    isWanted: ({ table: name, key, caller }) => {
      if (ENGINE_TABLES.has(name)) return false;
      const ids = key.split("/");
      if (client !== undefined && !(caller !== undefined && "client" in caller && caller.client === client))
        return false;
      // A transfer's key has the id of its debit record.
      const isNamed = id === undefined || ids.includes(id) || (name === "transfer" && ids.includes(siblingId(id)));
      return isNamed && (named === undefined || ids.some((part) => named.has(part)));
    },
  });
  const more = next && `${next.slot}/${next.batch}`;
  const rows = writes.map((write) => [formatInstant(write.at), write.table, write.key, ...cells(write.caller)]);
  const lines = table(["at", "what", "key", "who", "token", "address", "operation"], rows);
  if (more !== undefined) lines.push(`There may be more: repeat with --after ${more}`);
  return { json: { items: writes.map(recordOf), next: more }, prose: lines };
}

function cells(caller: Caller | undefined): [who: string, token: string, address: string, operation: string] {
  if (caller === undefined) return ["not recorded", "", "", ""];
  if ("house" in caller) return [`house: ${caller.house}`, "", "", ""];
  if ("operator" in caller) return [`operator: ${caller.operator}`, "", "", caller.operation];
  return [caller.client, caller.token, caller.address, caller.operation];
}

function recordOf({ at, slot, batch, table: what, key, caller }: Write) {
  return { at: formatInstant(at), slot, batch: batch.toString(), what, key, caller };
}
