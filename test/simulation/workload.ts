/** What clients ask for: requests as the routes hand them to the front doors, made by chance. */
import type { MarketCode } from "../../src/catalogue/market.ts";
import type { ConversionId, ConversionRequest } from "../../src/conversions/conversions.ts";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import type { OrderId } from "../../src/exchange/order.ts";
import type { OrderRequest } from "../../src/exchange/orders/place-order.ts";
import type { ProfileId } from "../../src/ledger/accounts.ts";
import type { ClientCaller } from "../../src/ledger/caller.ts";
import type { ClaimKind, Outcome, Rejection } from "../../src/ledger/decision.ts";
import { amountOf } from "../../src/money/amount.ts";
import type { Instant } from "../../src/std/clock.ts";
import type { ExternalTransferRequest, TransferRequest } from "../../src/transfers/transfers.ts";
import type { Random } from "../support/random.ts";
import { residents } from "./fixtures.ts";
import type { SimulatedNode } from "./simulated-node.ts";

export type Wish =
  | { readonly kind: "transfer"; readonly request: TransferRequest }
  | { readonly kind: "deposit"; readonly request: ExternalTransferRequest }
  | { readonly kind: "convert"; readonly request: ConversionRequest }
  | { readonly kind: "order"; readonly request: OrderRequest }
  | { readonly kind: "cancel_conversion"; readonly customerId: CustomerId; readonly id: ConversionId }
  | {
      readonly kind: "cancel_order";
      readonly customerId: CustomerId;
      readonly profileId: ProfileId;
      readonly id: OrderId;
    }
  | { readonly kind: "deactivate"; readonly customerId: CustomerId; readonly profileId: ProfileId }
  | { readonly kind: "halt" | "resume"; readonly market: MarketCode };

/** One thing that a client wants, however often he has to ask for it. */
export interface Ask {
  readonly number: number;
  readonly wish: Wish;
  /** What protects it from taking effect twice. Without it, it is asked for once, unless it is harmless twice. */
  readonly ref: { readonly customerId: CustomerId; readonly kind: ClaimKind; readonly refId: string } | undefined;
}

export type Answer = Outcome<unknown, Rejection>;

/** Who asks: the token stands for the ask, so that what is written can be held against it. */
export const callerOf = ({ number, wish }: Pick<Ask, "number" | "wish">): ClientCaller => ({
  client: "resident",
  token: `ask ${number}`,
  address: "192.0.2.1",
  operation: wish.kind,
});

export function carryOut(node: SimulatedNode, ask: Ask): Promise<Answer> {
  const { wish } = ask;
  const caller = callerOf(ask);
  switch (wish.kind) {
    case "transfer":
      return node.transfers.move(wish.request, caller);
    case "deposit":
      return node.transfers.cross(wish.request, caller);
    case "convert":
      return node.conversions.create(wish.request, caller);
    case "order":
      return node.place(wish.request, caller);
    case "cancel_conversion":
      return node.conversions.cancel(wish.customerId, wish.id, caller);
    case "cancel_order":
      return node.cancelOrder(wish.customerId, wish.profileId, wish.id, caller);
    case "deactivate":
      return node.transfers.deactivate(wish.customerId, wish.profileId, caller);
    case "halt":
      return node.halt(wish.market, caller);
    case "resume":
      return node.resume(wish.market, caller);
  }
}

/** Whether asking again does nothing that was not asked for. */
export function mayAskAgain({ ref, wish }: Ask): boolean {
  return ref !== undefined || !["transfer", "deposit", "convert", "order"].includes(wish.kind);
}

/** What clients know by now that can be cancelled. */
export interface Known {
  readonly conversions: readonly { readonly customerId: CustomerId; readonly id: ConversionId }[];
  readonly orders: readonly {
    readonly customerId: CustomerId;
    readonly profileId: ProfileId;
    readonly id: OrderId;
  }[];
}

export class Wishes {
  readonly #random: Random;
  #number = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** For the beginning: every profile gets money. */
  opening(profileId: ProfileId, customerId: CustomerId, asset: string, amount: string): Ask {
    return this.#ask("transfer", customerId, true, (refId, asked) => ({
      kind: "deposit",
      request: deposit(customerId, profileId, asset, amount, refId, asked),
    }));
  }

  next(known: Known, now: number): Ask {
    const random = this.#random;
    const { customerId, profileId } = this.#oneOf(residents);
    const customer = residents.filter((resident) => resident.customerId === customerId);
    const recipientProfileId = random(3) === 0 ? this.#oneOf(customer).profileId : undefined;
    const isSafe = random(4) !== 0;
    const what = random(20);
    if (what < 6) {
      const to = this.#oneOf(residents.filter((resident) => resident.profileId !== profileId));
      return this.#ask("transfer", customerId, isSafe, (refId, asked) => ({
        kind: "transfer",
        request: {
          customerId,
          kind: to.customerId === customerId ? "internal" : "platform",
          from: { profileId, metadata: { ask: asked } },
          to: { profileId: to.profileId },
          amount: amountOf(`${random(700) + 1}.${random(100)}`),
          asset: this.#oneOf(["USD", "USD", "PYUSD"]),
          refId,
        },
      }));
    }
    if (what < 7) {
      return this.#ask("transfer", customerId, true, (refId, asked) => ({
        kind: "deposit",
        request: deposit(customerId, profileId, this.#oneOf(["USD", "USDP"]), `${random(50) + 1}`, refId, asked),
      }));
    }
    if (what < 11) {
      const [sourceAsset, targetAsset] = this.#oneOf([
        ["USD", "PYUSD"],
        ["PYUSD", "USD"],
        ["USDP", "PYUSD"],
        ["USD", "USDP"],
      ]) as [string, string];
      return this.#ask("conversion", customerId, isSafe, (refId, asked) => ({
        kind: "convert",
        request: {
          ...{ customerId, profileId, sourceAsset, targetAsset, refId, recipientProfileId },
          amount: amountOf(`${random(300) + 1}.${random(100)}`),
          metadata: { ask: asked },
        },
      }));
    }
    const conversion = known.conversions[random(Math.max(1, known.conversions.length))];
    if (what < 13 && conversion !== undefined) {
      return { number: ++this.#number, wish: { kind: "cancel_conversion", ...conversion }, ref: undefined };
    }
    const order = known.orders[random(Math.max(1, known.orders.length))];
    if (what < 15 && order !== undefined) {
      return { number: ++this.#number, wish: { kind: "cancel_order", ...order }, ref: undefined };
    }
    if (what < 16 && random(2) === 0) {
      return { number: ++this.#number, wish: { kind: "deactivate", customerId, profileId }, ref: undefined };
    }
    if (what < 16 && random(3) === 0) {
      const market = "BTCUSD" as MarketCode;
      return { number: ++this.#number, wish: { kind: random(3) === 0 ? "halt" : "resume", market }, ref: undefined };
    }
    return this.#ask("order", customerId, isSafe, (refId, asked) => ({
      kind: "order",
      request: { ...this.#someOrder(now), customerId, profileId, recipientProfileId, refId, metadata: { ask: asked } },
    }));
  }

  /** Of any kind, at prices from 95 to 105. */
  #someOrder(now: number): Omit<OrderRequest, "customerId" | "profileId"> {
    const random = this.#random;
    const side = random(2) === 0 ? "BUY" : "SELL";
    const exact = (text: string) => ({ amount: amountOf(text), isExact: true });
    const price = exact(`${95 + random(11)}`);
    const stopPrice = exact(`${95 + random(11)}`);
    const baseAmount = amountOf(`${random(2)}.${1 + random(9)}`);
    const spent = side === "BUY" ? { quoteAmount: amountOf(`${10 + random(90)}.5`) } : { baseAmount };
    const limit = { market: "BTCUSD", side, type: "LIMIT", timeInForce: "GTC", baseAmount, price } as const;
    switch (random(9)) {
      case 0:
        return { market: "BTCUSD", side, type: "MARKET", timeInForce: "IOC", ...spent };
      case 1:
        return { ...limit, type: "POST_ONLY_LIMIT" };
      case 2:
        return { ...limit, type: "STOP_LIMIT", stopPrice };
      case 3:
        return { market: "BTCUSD", side, type: "STOP_MARKET", timeInForce: "GTC", stopPrice, ...spent };
      case 4:
        return { ...limit, timeInForce: "IOC" };
      case 5:
        return { ...limit, timeInForce: "FOK" };
      case 6:
        return { ...limit, timeInForce: "GTT", expirationDate: (Math.floor(now) + 9_000 + random(15_000)) as Instant };
      default:
        return limit;
    }
  }

  #ask(
    kind: ClaimKind,
    customerId: CustomerId,
    isSafe: boolean,
    wish: (refId: string | undefined, asked: string) => Wish,
  ): Ask {
    const number = ++this.#number;
    const refId = isSafe ? `ref ${number}` : undefined;
    const ref = refId === undefined ? undefined : { customerId, kind, refId };
    return { number, wish: wish(refId, String(number)), ref };
  }

  #oneOf<One>(some: readonly One[]): One {
    return some[this.#random(some.length)] as One;
  }
}

function deposit(
  customerId: CustomerId,
  profileId: ProfileId,
  asset: string,
  amount: string,
  refId: string | undefined,
  asked: string,
): ExternalTransferRequest {
  const type = asset === "USD" ? "WIRE_DEPOSIT" : "CRYPTO_DEPOSIT";
  const crossing = { memo: asked };
  return { customerId, profileId, amount: amountOf(amount), asset, direction: "CREDIT", type, crossing, refId };
}
