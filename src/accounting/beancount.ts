/**
 * The Beancount format (tested with 2.3.5). Beancount's tolerance is disabled. Its default precision of 28 digits is too
 * low for large sums with 18 decimals; docs/accounting.md says how to raise it. A `balance` is checked at the beginning
 * of its day, so it is dated on the day after the last journal.
 */
import { formatAmount } from "../money/amount.ts";
import { type AssetCode, USD } from "../money/asset.ts";
import type { ChartOfAccounts } from "./chart-of-accounts.ts";
import { dayOf } from "./days.ts";
import { type ExportedJournal, type JournalText, recordOf, tagsOf } from "./journal-text.ts";

export const beancount: JournalText = {
  opening: (assets) =>
    [
      "; Parbook ledger export. The last line marks the end.",
      'option "title" "Parbook"',
      'option "inferred_tolerance_multiplier" "0"',
      // A coin is redeemed one to one, at any time. For reports in USD.
      ...assets.flatMap(({ code, kind }) =>
        kind === "stablecoin" ? `1970-01-01 price ${currency(code)} 1 ${currency(USD)}` : [],
      ),
      "\n",
    ].join("\n"),
  journal: journalText,
  // Beancount sorts by day, so `open` directives may follow the journals.
  closing: (closings, chart, { first, dayAfterLast: behind }) => {
    const lines = closings.flatMap((closing) =>
      chart.partsOf(closing.ownerId).flatMap((part) => {
        const commodity = currency(closing.asset);
        return chart.entriesOf(closing.ownerId, part, closing[part]).map(({ account, amount }) => {
          const opened = closing.isFirst ? `${first} open ${account}\n` : "";
          return `${opened}${behind} balance ${account}  ${formatAmount(amount)} ~ 0 ${commodity}\n`;
        });
      }),
    );
    return `${lines.join("")}\n`;
  },
  end: ({ journals, postings }) => `; The end: ${journals} journals, ${postings} postings.\n`,
};

function journalText(journal: ExportedJournal, chart: ChartOfAccounts): string {
  const { id, batch } = journal;
  const cause = journal.postings[0]?.cause;
  const tags = tagsOf(journal).map(([name, value]) => `  ${name}: "${value}"\n`);
  const postings = journal.postings.flatMap(({ asset, ownerId, part, ...posting }) =>
    chart
      .entriesOf(ownerId, part, posting.amount)
      .map(({ account, amount }) => `  ${account}  ${formatAmount(amount)} ${currency(asset)}\n`),
  );
  return `${dayOf(batch.at)} * "${cause}" "${id}" ^${recordOf(id, cause).join("-")}\n${tags.join("")}${postings.join("")}\n`;
}

/**
 * Currencies begin with a letter, and three words are reserved. No asset code contains the hyphen, so the prefixed names
 * are unique.
 */
function currency(asset: AssetCode): string {
  return /^[0-9]|^(?:TRUE|FALSE|NULL)$/.test(asset) ? `A-${asset}` : asset;
}
