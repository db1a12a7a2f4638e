/**
 * The journal as Beancount reads it (2.3.5 was tried). It has a tolerance, which is set to none, and calculates with 28
 * digits unless told otherwise, which is too few for large sums with 18 decimals: docs/accounting.md says how it is told.
 * A `balance` is checked at the beginning of its day, so it stands on the day after the last.
 */
import { formatAmount } from "../money/amount.ts";
import type { AssetCode } from "../money/asset.ts";
import { dayOf } from "./days.ts";
import { accountName, type ExportedJournal, type JournalText, partsOf, recordOf, tagsOf } from "./journal-text.ts";

export const beancount: JournalText = {
  opening: () =>
    [
      "; The books of Parbook. The last line says where they end.",
      'option "title" "Parbook"',
      'option "inferred_tolerance_multiplier" "0"',
      "\n",
    ].join("\n"),
  journal: journalText,
  // Where a line stands is of no weight: Beancount sorts by day, and an account is open before it is used.
  closing: (closings, { first, behind }) => {
    const lines = closings.flatMap((closing) =>
      partsOf(closing).map((part) => {
        const account = accountName(closing.ownerId, part);
        const commodity = currency(closing.asset);
        const opened = closing.isFirst ? `${first} open ${account}\n` : "";
        return `${opened}${behind} balance ${account}  ${formatAmount(closing[part])} ~ 0 ${commodity}\n`;
      }),
    );
    return `${lines.join("")}\n`;
  },
  end: ({ journals, postings }) => `; The end: ${journals} journals, ${postings} postings.\n`,
};

function journalText(journal: ExportedJournal): string {
  const { id, batch } = journal;
  const cause = journal.postings[0]?.cause;
  const tags = tagsOf(journal).map(([name, value]) => `  ${name}: "${value}"\n`);
  const postings = journal.postings.map(
    ({ ownerId, part, amount, asset }) =>
      `  ${accountName(ownerId, part)}  ${formatAmount(amount)} ${currency(asset)}\n`,
  );
  return `${dayOf(batch.at)} * "${cause}" "${id}" ^${recordOf(id, cause).join("-")}\n${tags.join("")}${postings.join("")}\n`;
}

/**
 * A currency begins with a letter, and three words mean something else. The sign in front of those is one that no asset
 * code can have, so that no two become one.
 */
function currency(asset: AssetCode): string {
  return /^[0-9]|^(?:TRUE|FALSE|NULL)$/.test(asset) ? `A-${asset}` : asset;
}
