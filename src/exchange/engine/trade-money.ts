/**
 * The money that a match moves (docs/contract/orders.md#holds-and-settlement). The buyer's hold pays for everything: the
 * seller's proceeds, and the commission when the buyer is the taker. The taker's commission pays the maker's rebate.
 *
 * Rates have at most 4 decimals, and a market's two precisions add up to 14 at most, so gross, commission, rebate and
 * every share of a hold are exact at the ledger's 18 decimals.
 */
import type { Market } from "../../catalogue/market.ts";
import { type Entry, entry, type ProfileId } from "../../ledger/accounts.ts";
import { type Amount, amountOf, minus, multiplyExact, negative, plus, ZERO } from "../../money/amount.ts";
import type { AssetCode } from "../../money/asset.ts";
import type { Order } from "../order.ts";

const ONE = amountOf("1");

/** A match in amounts: `amount` of the base asset for `gross` of the quote asset. */
export interface Trade {
  readonly amount: Amount;
  readonly gross: Amount;
  /** Paid by the taker, and paid to the maker. */
  readonly commission: Amount;
  readonly rebate: Amount;
}

export function heldAsset(market: Market, order: Pick<Order, "side">): AssetCode {
  return order.side === "BUY" ? market.quote : market.base;
}

export function receivedAsset(market: Market, order: Pick<Order, "side">): AssetCode {
  return order.side === "BUY" ? market.base : market.quote;
}

export function recipientOf(order: Pick<Order, "profileId" | "recipientProfileId">): ProfileId {
  return order.recipientProfileId ?? order.profileId;
}

/**
 * A rebate is paid from the commission of the same match. After the operator has lowered commissions, an old order's
 * rebate may exceed a new order's commission: it is then capped, so that the house never adds to it.
 */
export function tradeOf(taker: Order, maker: Order, amount: Amount, gross: Amount): Trade {
  const commission = multiplyExact(gross, taker.takerRate);
  const rebate = multiplyExact(gross, maker.makerRebate);
  if (rebate > commission) return { amount, gross, commission, rebate: commission };
  return { amount, gross, commission, rebate };
}

/** What a match takes off the hold of one of its orders. */
export function shareOfHold(order: Order, role: "taker" | "maker", { amount, gross, commission }: Trade): Amount {
  if (order.side === "SELL") return amount;
  // A limit buy gets its savings back at once, from a better price or from being the maker.
  if (order.price !== undefined) return withCommission(order, multiplyExact(amount, order.price));
  return role === "taker" ? plus(gross, commission) : gross;
}

export function tradeEntries(market: Market, taker: Order, maker: Order, trade: Trade): Entry[] {
  const { amount, gross, commission, rebate } = trade;
  const [buyer, seller] = taker.side === "BUY" ? [taker, maker] : [maker, taker];
  const paid = (order: Order): Amount => (order === taker ? commission : ZERO);
  const earned = (order: Order): Amount => (order === maker ? rebate : ZERO);
  const share = shareOfHold(buyer, buyer === taker ? "taker" : "maker", trade);
  const spared = minus(share, plus(gross, paid(buyer)));
  const proceeds = plus(minus(gross, paid(seller)), earned(seller));
  return [
    entry(seller.profileId, market.base, negative(amount), "trading"),
    entry(recipientOf(buyer), market.base, amount),
    entry(buyer.profileId, market.quote, negative(share), "trading"),
    entry(buyer.profileId, market.quote, spared),
    entry(buyer.profileId, market.quote, earned(buyer)),
    entry(recipientOf(seller), market.quote, proceeds),
    entry("fees", market.quote, commission),
    entry("fees", market.quote, negative(rebate)),
  ];
}

function withCommission({ takerRate }: Pick<Order, "takerRate">, gross: Amount): Amount {
  return multiplyExact(gross, plus(ONE, takerRate));
}
