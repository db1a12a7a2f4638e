/** `parbook audit`: the audit trail and the access log. */
import type { Command } from "commander";
import type { CountedDenial } from "../../oauth/access-denials/access-denial.ts";
import { listDenials } from "../../oauth/access-denials/denial-log.ts";
import { formatInstant, type Instant } from "../../std/clock.ts";
import { lowestId } from "../../std/id.ts";
import { readHours, readText } from "../arguments.ts";
import { addCommand, addGroup, type CommandResult, setAction, withFoundation } from "../command.ts";
import { LIST_LIMIT, listing } from "../listing.ts";
import { addWrites } from "./audit-writes.ts";

interface DenialOptions {
  readonly hours: number;
  readonly client?: string;
}

export function addAuditCommands(program: Command): void {
  const audit = addGroup(program, "audit", "who did what, and who was denied access");
  const denials = addCommand(audit, "denials", {
    summary: "list access denials (bad token, scope or secret), latest first",
    examples: ["audit denials", "audit denials --hours 720 --client acme --json"],
  })
    .option("--hours <number>", "how far back; denials are kept for 720 hours", readHours, 24)
    .option("--client <client_id>", "only denials of this client", readText);
  setAction(denials, list);
  addWrites(audit);
}

function list({ hours, client }: DenialOptions): Promise<CommandResult> {
  return withFoundation(async ({ database, clock }) => {
    const from = lowestId((clock.now() - hours * 60 * 60 * 1_000) as Instant);
    const found = await listDenials(database, { from, clientId: client, limit: LIST_LIMIT + 1 });
    const head = ["last", "count", "kind", "client_id", "address", "operation"];
    return listing(found.map(recordOf), head, (row) => [
      row.last_at,
      String(row.count),
      row.kind,
      row.client_id ?? "",
      row.address ?? "many",
      row.operation ?? "",
    ]);
  });
}

function recordOf({ kind, clientId, tokenId, address, operation, firstAt, lastAt, count }: CountedDenial) {
  return {
    kind,
    client_id: clientId,
    token_id: tokenId,
    address,
    operation,
    first_at: formatInstant(firstAt),
    last_at: formatInstant(lastAt),
    count,
  };
}
