/** What a command names of the catalogue: codes, with the ones that were probably meant, and amounts of assets. */
import type { Catalogue } from "../../catalogue/catalogue.ts";
import type { RequestedAmount } from "../../ledger/rejections.ts";
import { writtenDecimals } from "../../money/amount.ts";
import type { Asset } from "../../money/asset.ts";
import type { WrittenAmount } from "../arguments.ts";
import { CommandRejected } from "../command.ts";
import { hintFor } from "../not-found.ts";

/** Codes are short and have parts in common, so that two edits lead from one to a stranger. */
const MOST_EDITS = 1;

export function marketNotFound(catalogue: Catalogue, code: string): string {
  const codes = catalogue.listMarkets().map((market) => market.code);
  return `market not found: ${code}${hintFor(code, codes, MOST_EDITS)}`;
}

/** @throws CommandRejected */
export function getAsset(catalogue: Catalogue, code: string): Asset {
  const asset = catalogue.findAsset(code);
  if (asset !== undefined) return asset;
  const codes = catalogue.listAssets().map((each) => each.code);
  throw new CommandRejected(`asset ${code} is not in the catalogue${hintFor(code, codes, MOST_EDITS)}`);
}

/**
 * Zeros behind the asset's decimals change nothing, unless the point was to separate thousands: 250.000. Other digits there
 * are judged by the ledger, because a sender may send all that it has.
 * @throws CommandRejected
 */
export function amountIn({ code, precision }: Asset, { text, value }: WrittenAmount): RequestedAmount {
  const decimals = writtenDecimals(text);
  if (decimals <= precision || !text.endsWith("0")) return value;
  throw new CommandRejected(
    `--amount ${text} has ${decimals} decimals, and ${code} has at most ${precision}: leave out zeros at its end, or a point that separates thousands`,
  );
}
