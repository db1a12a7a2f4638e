/** What an operator asks afterwards. */
import type { Command } from "commander";
import type { CountedDenial } from "../../oauth/access-log/access-denial.ts";
import { listRefusals } from "../../oauth/access-log/access-log.ts";
import { formatInstant, type Instant } from "../../std/clock.ts";
import { lowestId } from "../../std/id.ts";
import { readHours, readText } from "../arguments.ts";
import { type Answer, addCommand, addGroup, answering, withFoundation } from "../command.ts";
import { LISTED_AT_MOST, listing } from "../listing.ts";
import { addWrites } from "./audit-writes.ts";

interface Asked {
  readonly hours: number;
  readonly client?: string;
}

export function addAuditCommands(program: Command): void {
  const audit = addGroup(program, "audit", "who did what, and who was refused");
  const refusals = addCommand(audit, "refusals", {
    summary: "list who was refused for want of a good token, scope or secret, the latest first",
    examples: ["audit refusals", "audit refusals --hours 720 --client acme --json"],
  })
    .option("--hours <number>", "how far back, up to the 720 for which they are kept", readHours, 24)
    .option("--client <client_id>", "of this client only", readText);
  answering(refusals, list);
  addWrites(audit);
}

function list({ hours, client }: Asked): Promise<Answer> {
  return withFoundation(async ({ database, clock }) => {
    const from = lowestId((clock.now() - hours * 60 * 60 * 1_000) as Instant);
    const found = await listRefusals(database, { from, clientId: client, limit: LISTED_AT_MOST + 1 });
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
