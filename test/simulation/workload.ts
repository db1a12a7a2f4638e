/** The workload: random requests, as the routes pass them to the modules' functions. */
import type { MarketCode } from "../../src/catalogue/market.ts";
import type { ConversionId, ConversionRequest } from "../../src/conversions/conversions.ts";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import type { LegalHoldRequest } from "../../src/customers/legal-holds/legal-holds.ts";
import type { OrderId } from "../../src/exchange/order.ts";
import type { OrderRequest } from "../../src/exchange/orders/rules.ts";
import type { ProfileId } from "../../src/ledger/accounts.ts";
import type { ClientCaller, OperatorCaller } from "../../src/ledger/caller.ts";
import type { Claim, ClaimKind, Outcome, Rejection } from "../../src/ledger/decision.ts";
import { amountOf } from "../../src/money/amount.ts";
import { must } from "../../src/std/assert.ts";
import type { Instant } from "../../src/std/clock.ts";
import type { Uuid } from "../../src/std/id.ts";
import type {
  BulkItem,
  BulkRequest,
  ExternalTransferRequest,
  ItemOutcome,
  Step,
  TransferRecord,
  TransferRequest,
} from "../../src/transfers/transfers.ts";
import type { Random } from "../support/random.ts";
import { residents } from "./fixtures.ts";
import type { SimulatedNode } from "./simulated-node.ts";

export type Action =
  | { readonly kind: "transfer"; readonly request: TransferRequest }
  /** One command. Each item has a ref_id. */
  | { readonly kind: "bulk"; readonly request: BulkRequest }
  | { readonly kind: "deposit" | "withdraw"; readonly request: ExternalTransferRequest }
  | { readonly kind: "step"; readonly customerId: CustomerId; readonly id: Uuid; readonly step: Step }
  | { readonly kind: "hold"; readonly request: LegalHoldRequest }
  | { readonly kind: "lift"; readonly profileId: ProfileId; readonly id: Uuid }
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

/** One action of a client, however often it has to be sent. */
export interface WorkloadCommand {
  readonly number: number;
  readonly action: Action;
  /** Prevents a second effect. An action without one is sent once, unless repeating it is harmless. */
  readonly ref: { readonly customerId: CustomerId; readonly kind: ClaimKind; readonly refId: string } | undefined;
}

export type Answer = Outcome<unknown, Rejection, Claim>;

/** The token names the command, so that the auditor can compare the stored caller with it. */
export const callerOf = ({ number, action }: Pick<WorkloadCommand, "number" | "action">): ClientCaller => ({
  client: "resident",
  token: `command ${number}`,
  address: "192.0.2.1",
  operation: action.kind,
});

/** The name has the command's number. */
export const operatorOf = ({ number, action }: Pick<WorkloadCommand, "number" | "action">): OperatorCaller => ({
  operator: `operator of ${number}`,
  operation: action.kind,
});

/** The rejection of one item of a bulk. */
interface BulkRejection extends Rejection {
  readonly index: number;
}

/** A bulk as one answer. None of its items was sent with another command, so either all exist or none does. */
function asOne(outcomes: readonly ItemOutcome[]): Answer {
  const index = outcomes.findIndex(({ kind }) => kind === "rejected");
  const rejected = outcomes[index];
  if (rejected?.kind === "rejected")
    return { kind: "rejected", rejection: { ...rejected.rejection, index } as BulkRejection };
  const records = outcomes.flatMap((outcome) => ("record" in outcome ? [outcome.record] : []));
  const kinds = new Set(outcomes.map(({ kind }) => kind));
  if (kinds.size !== 1 || records.length !== outcomes.length) throw new Error(`a bulk ends as ${[...kinds]}`);
  if (kinds.has("done")) return { kind: "done", value: records };
  return { kind: "exists", id: must(records[0], "a bulk has items").id };
}

export function carryOut(node: SimulatedNode, command: WorkloadCommand): Promise<Answer> {
  const { action } = command;
  const caller = callerOf(command);
  switch (action.kind) {
    case "transfer":
      return node.transfers.move(action.request, caller);
    case "bulk":
      return node.transfers.moveAll(action.request, caller).then(asOne);
    case "deposit":
    case "withdraw":
      return node.transfers.recordExternal(action.request, caller);
    case "step":
      return node.transfers.step(action.customerId, action.id, action.step, caller);
    case "hold":
      return node.legalHolds.place(action.request, operatorOf(command));
    case "lift":
      return node.legalHolds.lift(action.profileId, action.id, operatorOf(command));
    case "convert":
      return node.conversions.create(action.request, caller);
    case "order":
      return node.place(action.request, caller);
    case "cancel_conversion":
      return node.conversions.cancel(action.customerId, action.id, caller);
    case "cancel_order":
      return node.cancelOrder(action.customerId, action.profileId, action.id, caller);
    case "deactivate":
      return node.transfers.deactivate(action.customerId, action.profileId, caller);
    case "halt":
      return node.halt(action.market, caller);
    case "resume":
      return node.resume(action.market, caller);
  }
}

/** Whether a retry cannot have a second effect. */
export function mayRetry({ ref, action }: WorkloadCommand): boolean {
  return ref !== undefined || !["transfer", "deposit", "withdraw", "hold", "convert", "order"].includes(action.kind);
}

/** The ids that clients have learned so far and may cancel. */
export interface Known {
  readonly externals: readonly Pick<TransferRecord, "customerId" | "id">[];
  readonly holds: readonly { readonly profileId: ProfileId; readonly id: Uuid }[];
  readonly conversions: readonly { readonly customerId: CustomerId; readonly id: ConversionId }[];
  readonly orders: readonly {
    readonly customerId: CustomerId;
    readonly profileId: ProfileId;
    readonly id: OrderId;
  }[];
}

export class Workload {
  readonly #random: Random;
  readonly #hasBulks: boolean;
  readonly #hasSweeps: boolean;
  #number = 0;

  /** @param options `hasSweeps`: mostly orders, and among them many small ones and large ones that meet several of those */
  constructor(random: Random, { hasBulks = false, hasSweeps = false } = {}) {
    this.#random = random;
    this.#hasBulks = hasBulks;
    this.#hasSweeps = hasSweeps;
  }

  /** A deposit at the start: every profile gets money. */
  opening(profileId: ProfileId, customerId: CustomerId, asset: string, amount: string): WorkloadCommand {
    return this.#command("transfer", customerId, true, (refId, name) => ({
      kind: "deposit",
      request: external("DEPOSIT", customerId, profileId, asset, amount, refId, name),
    }));
  }

  next(known: Known, now: number): WorkloadCommand {
    const random = this.#random;
    const { customerId, profileId } = this.#oneOf(residents);
    const customer = residents.filter((resident) => resident.customerId === customerId);
    const recipientProfileId = random(3) === 0 ? this.#oneOf(customer).profileId : undefined;
    const isSafe = random(4) !== 0;
    const what = this.#hasSweeps && random(3) !== 0 ? 19 : random(20);
    if (what < 5 && this.#hasBulks && random(2) === 0) return this.#bulk(customerId);
    if (what < 5) {
      const to = this.#oneOf(residents.filter((resident) => resident.profileId !== profileId));
      return this.#command("transfer", customerId, isSafe, (refId, name) => ({
        kind: "transfer",
        request: {
          customerId,
          kind: to.customerId === customerId ? "internal" : "platform",
          from: { profileId, annotations: { metadata: { command: name } } },
          to: { profileId: to.profileId },
          amount: amountOf(`${random(700) + 1}.${random(100)}`),
          asset: this.#oneOf(["USD", "USD", "PYUSD"]),
          refId,
        },
      }));
    }
    if (what < 6) return this.#external(customerId, profileId);
    if (what < 8) return this.#step(known, customerId, profileId);
    if (what < 11) {
      const [sourceAsset, targetAsset] = this.#oneOf([
        ["USD", "PYUSD"],
        ["PYUSD", "USD"],
        ["USDP", "PYUSD"],
        ["USD", "USDP"],
      ]) as [string, string];
      return this.#command("conversion", customerId, isSafe, (refId, name) => ({
        kind: "convert",
        request: {
          ...{ customerId, profileId, sourceAsset, targetAsset, refId, recipientProfileId },
          amount: amountOf(`${random(300) + 1}.${random(100)}`),
          annotations: { metadata: { command: name } },
        },
      }));
    }
    const conversion = known.conversions[random(Math.max(1, known.conversions.length))];
    if (what < 13 && conversion !== undefined) {
      return { number: ++this.#number, action: { kind: "cancel_conversion", ...conversion }, ref: undefined };
    }
    const order = known.orders[random(Math.max(1, known.orders.length))];
    if (what < 15 && order !== undefined) {
      return { number: ++this.#number, action: { kind: "cancel_order", ...order }, ref: undefined };
    }
    if (what < 16 && random(2) === 0) {
      return { number: ++this.#number, action: { kind: "deactivate", customerId, profileId }, ref: undefined };
    }
    if (what < 16 && random(3) === 0) {
      const market = "BTCUSD" as MarketCode;
      return { number: ++this.#number, action: { kind: random(3) === 0 ? "halt" : "resume", market }, ref: undefined };
    }
    return this.#command("order", customerId, isSafe, (refId, name) => ({
      kind: "order",
      request: {
        ...this.#someOrder(now),
        customerId,
        profileId,
        recipientProfileId,
        refId,
        annotations: { metadata: { command: name } },
      },
    }));
  }

  /** Transfers of which some may rest on what those before them pay. */
  #bulk(customerId: CustomerId): WorkloadCommand {
    const random = this.#random;
    const number = ++this.#number;
    const own = residents.filter((resident) => resident.customerId === customerId);
    const items = Array.from({ length: 2 + random(3) }, (_, i): BulkItem => {
      const { profileId } = this.#oneOf(own);
      const to = this.#oneOf(residents.filter((resident) => resident.profileId !== profileId));
      return {
        customerId,
        kind: to.customerId === customerId ? "internal" : "platform",
        from: { profileId, annotations: { metadata: { command: String(number) } } },
        to: { profileId: to.profileId },
        amount: amountOf(`${random(500) + 1}.${random(100)}`),
        asset: this.#oneOf(["USD", "USD", "PYUSD"]),
        refId: `ref ${number}.${i}`,
      };
    });
    return { number, action: { kind: "bulk", request: { customerId, items } }, ref: undefined };
  }

  /** Complete at once, or with steps. */
  #external(customerId: CustomerId, profileId: ProfileId): WorkloadCommand {
    const random = this.#random;
    const isDeposit = random(3) === 0;
    const [asset, amount] = [this.#oneOf(["USD", "PYUSD", "USDP"]), `${random(isDeposit ? 50 : 200) + 1}`];
    const hasSteps = random(4) !== 0;
    return this.#command("transfer", customerId, true, (refId, name) => ({
      kind: isDeposit ? "deposit" : "withdraw",
      request: {
        ...external(isDeposit ? "DEPOSIT" : "WITHDRAWAL", customerId, profileId, asset, amount, refId, name),
        ...(hasSteps && { hasSteps }),
      },
    }));
  }

  /** A step of a deposit or withdrawal that is known, or a legal hold, or its end. */
  #step({ externals, holds }: Known, customerId: CustomerId, profileId: ProfileId): WorkloadCommand {
    const random = this.#random;
    const number = ++this.#number;
    const external = externals[random(Math.max(1, externals.length))];
    const hold = holds[random(Math.max(1, holds.length))];
    if (external !== undefined && random(4) !== 0) {
      const step = this.#oneOf<Step>([
        ...[{ to: "approved" }, { to: "approved" }, { to: "sent" }, { to: "completed" }].map((to) => to as Step),
        ...[{ to: "completed" } as Step, { to: "failed", reason: "no such bank" } as Step],
        { to: "cancelled", reason: `command ${number}` },
      ]);
      return {
        number,
        action: { kind: "step", customerId: external.customerId, id: external.id, step },
        ref: undefined,
      };
    }
    if (hold !== undefined && random(2) === 0)
      return { number, action: { kind: "lift", profileId: hold.profileId, id: hold.id }, ref: undefined };
    const refId = random(4) === 0 ? undefined : `ref ${number}`;
    const request: LegalHoldRequest = {
      ...{ customerId, profileId, asset: this.#oneOf(["USD", "PYUSD"]), amount: amountOf(`${random(300) + 1}`) },
      ...{ refId, reason: String(number) },
    };
    const ref = refId === undefined ? undefined : { customerId, kind: "legal_hold" as const, refId };
    return { number, action: { kind: "hold", request }, ref };
  }

  /** An order of any kind, at prices from 95 to 105. */
  #someOrder(now: number): Omit<OrderRequest, "customerId" | "profileId"> {
    const random = this.#random;
    const side = random(2) === 0 ? "BUY" : "SELL";
    const exact = (text: string) => ({ amount: amountOf(text), isExact: true });
    const price = exact(`${95 + random(11)}`);
    const stopPrice = exact(`${95 + random(11)}`);
    const isSmall = this.#hasSweeps && random(3) !== 0;
    const baseAmount = amountOf(isSmall ? "0.1" : `${random(2)}.${1 + random(9)}`);
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
        return { ...limit, timeInForce: "GTT", expirationDate: this.#expiration(now) };
      default:
        return limit;
    }
  }

  /** Beside sweeps several expire at the same moment. */
  #expiration(now: number): Instant {
    const step = this.#hasSweeps ? 4_000 : 1;
    return (Math.ceil((now + 9_000 + this.#random(15_000)) / step) * step) as Instant;
  }

  #command(
    kind: ClaimKind,
    customerId: CustomerId,
    isSafe: boolean,
    action: (refId: string | undefined, name: string) => Action,
  ): WorkloadCommand {
    const number = ++this.#number;
    const refId = isSafe ? `ref ${number}` : undefined;
    const ref = refId === undefined ? undefined : { customerId, kind, refId };
    return { number, action: action(refId, String(number)), ref };
  }

  #oneOf<One>(some: readonly One[]): One {
    return some[this.#random(some.length)] as One;
  }
}

function external(
  way: "DEPOSIT" | "WITHDRAWAL",
  customerId: CustomerId,
  profileId: ProfileId,
  asset: string,
  amount: string,
  refId: string | undefined,
  name: string,
): ExternalTransferRequest {
  const isWire = asset === "USD";
  const transaction = { cryptoTxHash: `transaction ${name}`, cryptoTxIndex: "0" };
  const details: ExternalTransferRequest["details"] = isWire
    ? { memo: name }
    : { memo: name, cryptoNetwork: "ETHEREUM", ...(way === "DEPOSIT" && transaction) };
  const [direction, type] = [way === "DEPOSIT" ? "CREDIT" : "DEBIT", `${isWire ? "WIRE" : "CRYPTO"}_${way}`] as const;
  return { customerId, profileId, amount: amountOf(amount), asset, direction, type, details, refId };
}
