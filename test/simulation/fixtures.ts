/** The simulation's customers, profiles and assets: few, so that everything collides. */
import { readFileSync } from "node:fs";
import type { Catalogue } from "../../src/catalogue/catalogue.ts";
import { assetOf, feeTierOf, type Market, marketOf } from "../../src/catalogue/market.ts";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import type { ProfileId } from "../../src/ledger/accounts.ts";
import type { SqlRecord } from "../../src/ledger/columns.ts";
import type { Asset } from "../../src/money/asset.ts";

const file = JSON.parse(readFileSync(new URL("../../catalogue.json", import.meta.url), "utf8")) as {
  readonly assets: readonly SqlRecord[];
  readonly markets: readonly SqlRecord[];
  readonly fee_tiers: readonly SqlRecord[];
};

const ASSETS = ["BTC", "PYUSD", "USD", "USDP"];
const MARKETS = ["BTCUSD"];

export const assets: readonly Asset[] = file.assets
  .map(assetOf)
  .filter(({ code }) => ASSETS.includes(code))
  .sort((a, b) => (a.code < b.code ? -1 : 1));

const tiers = file.fee_tiers.map(feeTierOf);
/** With their numbers in production. */
export const markets: readonly Market[] = file.markets
  .map((market, i) => marketOf({ ...market, number: i + 1 }, tiers))
  .filter(({ code }) => MARKETS.includes(code));

/** What every market has, as it is stored. */
export const feeTiers: readonly { readonly market: string; readonly tier: SqlRecord }[] = file.markets
  .map(({ code }) => String(code))
  .sort()
  .flatMap((market) => file.fee_tiers.map((tier) => ({ market, tier })));

export const catalogue: Catalogue = {
  findAsset: (code) => assets.find((asset) => asset.code === code),
  findMarket: (code) => markets.find((market) => market.code === code),
  listAssets: () => assets,
  listMarkets: () => markets,
  learnMarkets: async () => undefined,
  close: () => undefined,
};

export interface Resident {
  readonly customerId: CustomerId;
  readonly profileId: ProfileId;
  readonly kind: "DEFAULT" | "NORMAL";
}

const id = (customer: number, profile: number): string => `00000000-0000-7000-8000-0000000${customer}0${profile}00`;

/** Two customers with three profiles each. */
export const residents: readonly Resident[] = [1, 2].flatMap((customer) =>
  [1, 2, 3].map((profile) => ({
    customerId: id(customer, 0) as CustomerId,
    profileId: id(customer, profile) as ProfileId,
    kind: profile === 1 ? ("DEFAULT" as const) : ("NORMAL" as const),
  })),
);
