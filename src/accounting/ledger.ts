/**
 * The journal as hledger and Ledger read it (hledger 1.25 and Ledger 3.3 were tried). Both look at a journal's sum with as
 * many decimals as they print of the commodity, so all 18 are declared; the assertion `= amount` they take exactly.
 */
import { formatAmount } from "../money/amount.ts";
import type { AssetCode } from "../money/asset.ts";
import { dayOf } from "./days.ts";
import { accountName, type ExportedJournal, type JournalText, partsOf, tagsOf } from "./journal-text.ts";

export const ledger: JournalText = {
  opening: (assets) => `; The books of Parbook. The last line says where they end.\n\n${assets.map(declared).join("")}`,
  journal: journalText,
  closing: (closings, { last }) => {
    const lines = closings.flatMap((closing) =>
      partsOf(closing).map((part) => {
        const commodity = quoted(closing.asset);
        return `    ${accountName(closing.ownerId, part)}  0 ${commodity} = ${formatAmount(closing[part])} ${commodity}\n`;
      }),
    );
    return `${last} * closing balances\n${lines.join("")}\n`;
  },
  end: ({ journals, postings }) => `; The end: ${journals} journals, ${postings} postings.\n`,
};

function journalText(journal: ExportedJournal): string {
  const tags = tagsOf(journal).map(([name, value]) => `    ; ${name}: ${value}\n`);
  const postings = journal.postings.map(
    ({ ownerId, part, amount, asset }) =>
      `    ${accountName(ownerId, part)}  ${formatAmount(amount)} ${quoted(asset)}\n`,
  );
  const head = `${dayOf(journal.batch.at)} * (${journal.id}) ${journal.postings[0]?.cause}`;
  return `${head}\n${tags.join("")}${postings.join("")}\n`;
}

/** Asset codes may have digits, which only quoted commodities can. */
const quoted = (asset: AssetCode): string => `"${asset}"`;

const declared = (asset: AssetCode): string =>
  `commodity ${quoted(asset)}\n    format 1.000000000000000000 ${quoted(asset)}\n\n`;
