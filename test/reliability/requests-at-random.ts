/**
 * Requests that move money, as they are sent: transfers of six assets, conversions of every pair, and orders of every
 * kind around a hundred on two markets, most of which cross, or nearly do.
 */
import type { Random } from "../support/random.ts";
import type { Kind } from "./lifecycles.ts";

export const STORM_MARKETS = ["ETHUSD", "LTCUSD"] as const;
/** What is the same sum of dollars whatever it is converted to. */
export const DOLLARS = ["USD", "PYUSD", "USDG", "USDP"] as const;
/** What no conversion and no fee ever touches. Only customers move the last one. */
export const COINS = ["ETH", "LTC"] as const;

type Body = Readonly<Record<string, string | number>>;

/** A request with a ref_id, which may be sent again. */
export interface Asked {
  readonly kind: Kind;
  readonly refId: string;
  readonly path: string;
  readonly body: Body;
}

/** Whose money it is, and to whom it may go. */
export interface Surroundings {
  readonly own: readonly string[];
  /** Profiles of all customers, their own included. */
  readonly all: readonly string[];
}

export function requestAtRandom(random: Random, refId: string, surroundings: Surroundings): Asked {
  const dice = random(100);
  if (dice < 40) return transferAtRandom(random, refId, surroundings);
  if (dice < 60) return conversionAtRandom(random, refId, surroundings);
  const profile = oneOf(random, surroundings.own);
  const recipient = random(4) === 0 ? oneOf(random, surroundings.own) : profile;
  const body = { ...orderAtRandom(random, refId), ...(recipient !== profile && { recipient_profile_id: recipient }) };
  return orderOf(profile, body, refId);
}

export const orderOf = (profileId: string, body: Body, refId: string): Asked => ({
  kind: "order",
  refId,
  path: `/v2/profiles/${profileId}/orders`,
  body: { ...body, ref_id: refId },
});

function transferAtRandom(random: Random, refId: string, { own, all }: Surroundings): Asked {
  const [from, asset] = [oneOf(random, own), oneOf(random, [...DOLLARS, ...COINS])];
  const others = (random(2) === 0 ? own : all).filter((profile) => profile !== from);
  const to = oneOf(random, others);
  const body = { from_profile_id: from, to_profile_id: to, asset, amount: amountAtRandom(random), ref_id: refId };
  return { kind: "transfer", refId, path: `/v2/transfer/${own.includes(to) ? "internal" : "platform"}`, body };
}

function conversionAtRandom(random: Random, refId: string, { own }: Surroundings): Asked {
  const source = oneOf(random, DOLLARS);
  const target = oneOf(
    random,
    DOLLARS.filter((asset) => asset !== source),
  );
  const [profile, recipient] = [oneOf(random, own), oneOf(random, own)];
  const body = {
    profile_id: profile,
    amount: amountAtRandom(random),
    source_asset: source,
    target_asset: target,
    ...(recipient !== profile && { recipient_profile_id: recipient }),
    ref_id: refId,
  };
  return { kind: "conversion", refId, path: "/v2/conversion/stablecoins", body };
}

export const amountAtRandom = (random: Random): string => `${random(90)}.${10 + random(90)}`;

export const oneOf = <Item>(random: Random, items: readonly Item[]): Item => items[random(items.length)] as Item;

const KINDS = [
  ...Array<"limit">(8).fill("limit"),
  "market",
  "market",
  "ioc",
  "ioc",
  "fok",
  "gtt",
  "post_only",
  "stop_limit",
  "stop_market",
] as const;

function orderAtRandom(random: Random, refId: string): Body {
  const side = random(2) === 0 ? "BUY" : "SELL";
  const price = `${95 + random(11)}.${random(10)}`;
  const base = `0.${random(900) + 100}`;
  const stop = `${96 + random(9)}`;
  const budget = side === "BUY" ? { quote_amount: `${10 + random(60)}.${random(90) + 10}` } : { base_amount: base };
  const market = oneOf(random, STORM_MARKETS);
  // Some wait for what becomes of them, so that there are answers that say FILLED.
  const patience = random(3) === 0 ? { await_fill_millis: random(300) } : {};
  const asked = { side, market, ref_id: refId, ...patience };
  const limit = { ...asked, type: "LIMIT", base_amount: base, price };
  switch (KINDS[random(KINDS.length)]) {
    case "market":
      return { ...asked, type: "MARKET", ...budget };
    case "ioc":
      return { ...limit, time_in_force: "IOC" };
    case "fok":
      return { ...limit, time_in_force: "FOK" };
    case "gtt":
      return { ...limit, time_in_force: "GTT", expiration_date: `${Date.now() + 11_000 + random(5_000)}` };
    case "post_only":
      return { ...limit, type: "POST_ONLY_LIMIT" };
    case "stop_limit":
      return { ...limit, type: "STOP_LIMIT", stop_price: stop };
    case "stop_market":
      return { ...asked, type: "STOP_MARKET", stop_price: stop, ...budget };
    default:
      return limit;
  }
}
