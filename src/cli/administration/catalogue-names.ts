/** Codes that the catalogue does not have, and the ones that were probably meant. */
import type { Catalogue } from "../../catalogue/catalogue.ts";
import type { Asset } from "../../money/asset.ts";
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
