/** Legal holds: placing one held its amount, and lifting it gave it back. */
import { holdEntries, releaseEntries } from "../../ledger/accounts.ts";
import { columnsOf, type SqlRecord } from "../../ledger/tables.ts";
import { type LegalHold, legalHoldTable } from "../../legal-holds/store.ts";
import type { Database } from "../../postgres/database.ts";
import { parseUuid, siblingId, type Uuid } from "../../std/id.ts";
import { postedChangesCheck } from "../ledger/posted-changes.ts";

export const legalHoldCheck = postedChangesCheck<LegalHold>({
  check: "legal holds",
  table: legalHoldTable.name,
  name: "legal hold",
  isOwn: (cause) => cause === "legal_hold_placed" || cause === "legal_hold_lifted",
  read: readHolds,
  required: ({ id, profileId, asset, amount }, { version }) => {
    if (version > 2n) return `has version ${version}, but is only placed and lifted`;
    const placed = { id, cause: "legal_hold_placed", entries: holdEntries(profileId, asset, amount) } as const;
    if (version === 1n) return [placed];
    const entries = releaseEntries(profileId, asset, amount);
    return [
      { ...placed, optional: true },
      { id: siblingId(id), cause: "legal_hold_lifted", entries },
    ];
  },
});

async function readHolds(
  database: Database,
  keys: readonly (readonly string[])[],
): Promise<ReadonlyMap<Uuid, LegalHold>> {
  const known = keys.filter((key) => key.length === 2 && key.every((part) => parseUuid(part) !== undefined));
  const rows = await database.rows<SqlRecord>(
    `select ${columnsOf(legalHoldTable, "t.")}
       from legal_hold t join unnest($1::uuid[], $2::uuid[]) as k(profile_id, id)
         on t.profile_id = k.profile_id and t.id = k.id`,
    [known.map(([profile]) => profile), known.map(([, id]) => id)],
  );
  return new Map(rows.map(legalHoldTable.read).map((hold) => [hold.id, hold]));
}
