/** Legal holds: placing one held its amount, and lifting it gave it back. */

import { type LegalHold, legalHoldTable } from "../../customers/legal-holds/store.ts";
import { holdEntries, releaseEntries } from "../../ledger/accounts.ts";
import { siblingId } from "../../std/id.ts";
import { postedChangesCheck, readerByProfile } from "../ledger/posted-changes.ts";

export const legalHoldCheck = postedChangesCheck<LegalHold>({
  check: "legal holds",
  table: legalHoldTable.name,
  name: "legal hold",
  isOwn: (cause) => cause === "legal_hold_placed" || cause === "legal_hold_lifted",
  read: readerByProfile(legalHoldTable),
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
