/** The words in rejections, from which the texts of problems are made. */
import type { Dialect } from "../../web/dialect/dialect.ts";
import type { DomainRejection } from "../problems/rejection-problems.ts";

type KeysOf<Union> = Union extends unknown ? keyof Union : never;
type Kind = "assets" | "enums" | "markets";

/** Every field that a rejection can have: a new one does not compile until it is said here what its words are. */
const KINDS: Readonly<Record<KeysOf<DomainRejection>, Kind | "body" | undefined>> = {
  above: undefined,
  amount: undefined,
  asset: "assets",
  available: undefined,
  because: undefined,
  below: undefined,
  bound: undefined,
  code: undefined,
  conversionId: undefined,
  existing: "body",
  field: undefined,
  lastNumber: undefined,
  limit: undefined,
  market: "markets",
  markets: "markets",
  maximum: undefined,
  needed: undefined,
  notionalValue: undefined,
  of: undefined,
  orderId: undefined,
  orderType: "enums",
  precision: undefined,
  profileId: undefined,
  rule: undefined,
  sourceAsset: "assets",
  stablecoins: "assets",
  status: "enums",
  targetAsset: "assets",
  tick: undefined,
  type: "enums",
  value: undefined,
  webhookId: undefined,
};

/** @param giveBody exchanges the words of a record */
export function rejectionIn<Why extends DomainRejection>(
  why: Why,
  dialect: Dialect,
  giveBody: (body: object) => object,
): Why {
  const exchanged = Object.entries(why).map(([name, value]) => {
    const kind = KINDS[name as KeysOf<DomainRejection>];
    if (kind === undefined) return [name, value];
    if (kind === "body") return [name, giveBody(value as object)];
    const give = (word: unknown): unknown => (typeof word === "string" ? dialect[kind].given(word) : word);
    return [name, Array.isArray(value) ? value.map(give) : give(value)];
  });
  return Object.fromEntries(exchanged) as Why;
}
