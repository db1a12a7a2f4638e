import { expect, test } from "vitest";
import { profileOf } from "../../test/support/states.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import { amountOf } from "../money/amount.ts";
import type { Asset, AssetCode } from "../money/asset.ts";
import { accountKey } from "./accounts.ts";
import { depositEntries, externalTransferKeys, withdrawalEntries } from "./external-transfer-entries.ts";

const { id: owner } = profileOf("acme" as CustomerId);
const ASSETS: readonly Asset[] = [
  { code: "USD" as AssetCode, kind: "fiat", precision: 2 },
  { code: "USDG" as AssetCode, kind: "stablecoin", precision: 8 },
  { code: "BTC" as AssetCode, kind: "crypto", precision: 8 },
];

test.each(ASSETS)("an external transfer of $code depends on exactly the accounts that it changes", (asset) => {
  for (const entries of [depositEntries(owner, asset, amountOf("1")), withdrawalEntries(owner, asset, amountOf("1"))]) {
    const moved = entries.map((each) => accountKey(each.owner, each.asset).key);
    expect(new Set(externalTransferKeys(owner, asset).map(({ key }) => key))).toEqual(new Set(moved));
  }
});
