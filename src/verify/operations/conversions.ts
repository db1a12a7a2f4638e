/** Conversions: creating one held its amount; closing it paid the recipient, or gave the amount back. */
import { type Conversion, conversionTable } from "../../conversions/conversion.ts";
import { type Entry, entry, holdEntries, type JournalCause, releaseEntries } from "../../ledger/accounts.ts";
import { negative } from "../../money/amount.ts";
import { siblingId } from "../../std/id.ts";
import { postedChangesCheck, readerByProfile } from "../ledger/posted-changes.ts";

const CAUSES: readonly JournalCause[] = ["conversion_created", "conversion_settled", "conversion_cancelled"];

export const conversionCheck = postedChangesCheck<Conversion>({
  check: "conversions",
  table: conversionTable.name,
  name: "conversion",
  isOwn: (cause) => CAUSES.includes(cause),
  read: readerByProfile(conversionTable),
  required: (conversion, { version, values }) => {
    const { id, profileId, sourceAsset, amount } = conversion;
    if (version > 2n) return `has version ${version}, but is only created and closed`;
    const created = { id, cause: "conversion_created", entries: holdEntries(profileId, sourceAsset, amount) } as const;
    if (version === 1n) return [created];
    const closed: { readonly cause: JournalCause; readonly entries: Entry[] } =
      values.status === "SETTLED"
        ? { cause: "conversion_settled", entries: settledEntries(conversion) }
        : { cause: "conversion_cancelled", entries: releaseEntries(profileId, sourceAsset, amount) };
    return [
      { ...created, optional: true },
      { id: siblingId(id), ...closed },
    ];
  },
});

/** On profile accounts. */
function settledEntries({ profileId, recipientProfileId, sourceAsset, targetAsset, amount }: Conversion): Entry[] {
  return [
    entry(profileId, sourceAsset, negative(amount), "pending"),
    entry(recipientProfileId ?? profileId, targetAsset, amount),
  ];
}
