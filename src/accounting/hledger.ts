/**
 * The format of hledger and Ledger (tested with hledger 1.25 and Ledger 3.3). Both round a journal's sum to the decimals
 * that a commodity is displayed with, so all 18 are declared. Balance assertions (`= amount`) are exact.
 */
import { formatAmount } from "../money/amount.ts";
import { type AssetCode, USD } from "../money/asset.ts";
import type { ChartOfAccounts } from "./chart-of-accounts.ts";
import { dayOf } from "./days.ts";
import { type ExportedJournal, type JournalText, tagsOf } from "./journal-text.ts";

export const hledger: JournalText = {
  opening: (assets) => {
    const coins = assets.filter(({ kind }) => kind === "stablecoin").map(({ code }) => priceOf(code));
    const declarations = assets.map(({ code }) => declared(code));
    return `; Parbook ledger export. The last line marks the end.\n\n${declarations.join("")}${coins.join("")}\n`;
  },
  journal: journalText,
  closing: (closings, chart, { last }) => {
    const lines = closings.flatMap((closing) =>
      chart.partsOf(closing.ownerId).flatMap((part) => {
        const commodity = quoted(closing.asset);
        const entries = chart.entriesOf(closing.ownerId, part, closing[part]);
        return entries.map(
          ({ account, amount }) => `    ${account}  0 ${commodity} = ${formatAmount(amount)} ${commodity}\n`,
        );
      }),
    );
    return `${last} * closing balances\n${lines.join("")}\n`;
  },
  end: ({ journals, postings }) => `; The end: ${journals} journals, ${postings} postings.\n`,
};

function journalText(journal: ExportedJournal, chart: ChartOfAccounts): string {
  const tags = tagsOf(journal).map(([name, value]) => `    ; ${name}: ${value}\n`);
  const postings = journal.postings.flatMap(({ asset, ownerId, part, ...posting }) =>
    chart
      .entriesOf(ownerId, part, posting.amount)
      .map(({ account, amount }) => `    ${account}  ${formatAmount(amount)} ${quoted(asset)}\n`),
  );
  const head = `${dayOf(journal.batch.at)} * (${journal.id}) ${journal.postings[0]?.cause}`;
  return `${head}\n${tags.join("")}${postings.join("")}\n`;
}

/** Asset codes may contain digits, which commodities may only have in quotes. */
const quoted = (asset: AssetCode): string => `"${asset}"`;

/** A coin is redeemed one to one, at any time. For reports in USD. */
const priceOf = (coin: AssetCode): string => `P 1970-01-01 ${quoted(coin)} 1 ${quoted(USD)}\n`;

const declared = (asset: AssetCode): string =>
  `commodity ${quoted(asset)}\n    format 1.000000000000000000 ${quoted(asset)}\n\n`;
