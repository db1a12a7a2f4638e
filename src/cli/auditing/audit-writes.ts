/** `parbook audit writes`: who made each write, read from the batch log. */
import type { Command } from "commander";
import type { Caller } from "../../ledger/caller.ts";
import { configurationWriteTable, listUnsealed } from "../../ledger/configuration-writes.ts";
import type { Write, WritesPosition } from "../../ledger/list-writes.ts";
import type { Queryable } from "../../postgres/database.ts";
import type { Foundation } from "../../service/core.ts";
import { formatInstant, type Instant } from "../../std/clock.ts";
import { siblingId, type Uuid } from "../../std/id.ts";
import { readPosition, readText, readTime, readUuid } from "../arguments.ts";
import { addCommand, type CommandResult, setAction, withFoundation } from "../command.ts";
import { LIST_LIMIT } from "../listing.ts";
import { table } from "../terminal.ts";
import { findBelongingsOf, findByRefId, listAllWrites } from "./all-writes.ts";
import { readDetails, type WriteDetails } from "./write-details.ts";

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
    summary:
      "list each write, and who made it: client, token, address, operation, or operator; oldest first on each page",
    examples: [
      "audit writes --client acme",
      "audit writes --ref payout-0042 --json",
      "audit writes --id 0190d5a4-1111-7000-8000-000000000004 --since 2026-11-01T00:00:00Z",
    ],
  })
    .option("--since <time>", "from this time on (default: the last 24 hours, or all with --ref or --id)", readTime)
    .option("--client <client_id>", "only writes of this client", readText)
    .option("--ref <ref_id>", "only writes of the resource with this ref_id", readText)
    .option(
      "--id <id>",
      "only writes of the record, profile or customer with this id, and of all that is the customer's",
      readUuid,
    )
    .option("--after <slot/batch>", "continue the list after this batch", readPosition);
  setAction(writes, (options: WritesOptions) => withFoundation((foundation) => list(foundation, options)));
}

async function list(
  { database, clock }: Foundation,
  { since, client, ref, id, after }: WritesOptions,
): Promise<CommandResult> {
  const named = ref === undefined ? undefined : await findByRefId(database, ref);
  const belonging = id === undefined ? undefined : await findBelongingsOf(database, id);
  const everything = ref !== undefined || id !== undefined;
  const isWanted = ({ table: name, key, caller }: Write): boolean => {
    if (ENGINE_TABLES.has(name)) return false;
    const ids = key.split("/");
    if (client !== undefined && !(caller !== undefined && "client" in caller && caller.client === client)) return false;
    // A transfer's key has the id of its debit record.
    const isId = (part: Uuid) => ids.includes(part) || (name === "transfer" && ids.includes(siblingId(part)));
    const isNamed = id === undefined || isId(id) || ids.some((part) => belonging?.has(part));
    return isNamed && (named === undefined || ids.some((part) => named.has(part)));
  };
  const from = (since?.getTime() ?? (everything ? 0 : clock.now() - DAY_MS)) as Instant;
  const { writes, next } = await listAllWrites(database, { since: from, after, limit: LIST_LIMIT, isWanted });
  const unsealed = next === undefined ? (await unsealedWrites(database)).filter(isWanted) : [];
  // They are read slot by slot, and each node has one.
  const all = [...writes, ...unsealed].sort((a, b) => a.at - b.at);
  const about = await readDetails(database, all);
  const more = next && `${next.slot}/${next.batch}`;
  const rows = all.map((write, i) => rowOf(write, about[i]));
  const head = ["at", "what", "key", "details", "customer", "who", "token", "address", "operation"];
  const lines = table(head, rows);
  if (more !== undefined) lines.push(`There may be more: repeat with --after ${more}`);
  return { json: { items: all.map((write, i) => recordOf(write, about[i])), next: more }, prose: lines };
}

/** What no batch has sealed yet. */
async function unsealedWrites(database: Queryable): Promise<Write[]> {
  const unsealed = await listUnsealed(database, LIST_LIMIT);
  return unsealed.map(({ at, id, caller }) => ({
    ...{ at, slot: 0, batch: 0n, table: configurationWriteTable.name, key: id },
    caller: caller as unknown as Caller,
  }));
}

/** In the key's column the last id, which names the record: the ones before it say whose it is. */
function rowOf({ at, caller, slot }: Write, about: WriteDetails | undefined): string[] {
  const details = Object.entries(about?.details ?? {}).map(([name, value]) => `${name} ${value}`);
  if (slot === 0) details.push("not sealed yet");
  const key = about?.key.split("/").at(-1) ?? "";
  const customer = about?.customerName ?? about?.customerId ?? "";
  return [formatInstant(at), about?.what ?? "", key, details.join(", "), customer, ...cells(caller)];
}

function cells(caller: Caller | undefined): [who: string, token: string, address: string, operation: string] {
  if (caller === undefined) return ["not recorded", "", "", ""];
  if ("house" in caller) return [`house: ${caller.house}`, "", "", ""];
  if ("operator" in caller) {
    const { operator, person, operation } = caller;
    return [`operator: ${operator}${person === undefined ? "" : ` (${person})`}`, "", "", operation];
  }
  return [caller.client, caller.token, caller.address, caller.operation];
}

function recordOf({ at, slot, batch, caller }: Write, about: WriteDetails | undefined) {
  return {
    at: formatInstant(at),
    // Of what is not sealed yet, none.
    ...(slot > 0 && { slot, batch: batch.toString() }),
    what: about?.what,
    key: about?.key,
    details: about?.details,
    customer_id: about?.customerId,
    customer_name: about?.customerName,
    caller,
  };
}
