/**
 * Conversions: minting, redeeming and converting stablecoins at par. Creating one holds the source amount; settlement or
 * cancellation, whichever comes first, closes it.
 */
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import { activeProfileKey, recipientKey } from "../customers/profiles/profiles.ts";
import { accountKey } from "../ledger/accounts.ts";
import type { Caller } from "../ledger/caller.ts";
import type { Claim, Command, Outcome } from "../ledger/decision.ts";
import type { Key } from "../ledger/tables.ts";
import type { Lane } from "../ledger/writer/lane.ts";
import type { Database } from "../postgres/database.ts";
import type { IdSource } from "../std/id.ts";
import { reject } from "../std/result.ts";
import { type Conversion, type ConversionId, conversionKey } from "./conversion.ts";
import {
  type ConversionNotCancellable,
  type ConversionNotFound,
  type ConversionNotSettleable,
  type ConversionRejection,
  type ConversionRequest,
  closingKeys,
  decideCancel,
  decideConversion,
  decideSettlement,
  pairOf,
} from "./rules.ts";
import { type ConversionFilter, findConversion, listConversions } from "./store.ts";

export type { Conversion, ConversionId } from "./conversion.ts";
export { CONVERSION_ANNOTATIONS, CONVERSION_STATUSES } from "./conversion.ts";
export type {
  ConversionNotCancellable,
  ConversionNotFound,
  ConversionRejection,
  ConversionRequest,
  UnknownPair,
} from "./rules.ts";
export type { ConversionFilter } from "./store.ts";

export interface Conversions {
  /** @returns the CREATED conversion; `exists` with the id of the conversion that already has the ref_id */
  create(request: ConversionRequest, caller: Caller): Promise<Outcome<Conversion, ConversionRejection, Claim>>;
  cancel(
    customerId: CustomerId,
    id: ConversionId,
    caller: Caller,
  ): Promise<Outcome<Conversion, ConversionNotFound | ConversionNotCancellable>>;
  find(customerId: CustomerId, id: ConversionId): Promise<Conversion | undefined>;
  list(filter: ConversionFilter): Promise<Conversion[]>;
}

interface Parts {
  readonly database: Database;
  readonly lane: Lane;
  readonly catalogue: Catalogue;
  readonly ids: IdSource;
  /** Called for every conversion created by this process, once it is durable. */
  readonly onCreated: (conversion: Conversion) => void;
}

export function createConversions(parts: Parts): Conversions {
  const { database, lane } = parts;
  return {
    create: (request, caller) => create(parts, request, caller),
    cancel: async (customerId, id, caller) => {
      const conversion = await findConversion(database, customerId, id);
      if (conversion === undefined) return reject({ code: "conversion_not_found", conversionId: id });
      return lane.execute(cancellationOf(conversion, caller));
    },
    find: (customerId, id) => findConversion(database, customerId, id),
    list: (filter) => listConversions(database, filter),
  };
}

async function create(
  { lane, catalogue, ids, onCreated }: Parts,
  request: ConversionRequest,
  caller: Caller,
): Promise<Outcome<Conversion, ConversionRejection, Claim>> {
  const { customerId, profileId, refId } = request;
  const id = ids.next() as ConversionId;
  const pair = pairOf(catalogue.findAsset(request.sourceAsset), catalogue.findAsset(request.targetAsset));
  const recipientId = request.recipientProfileId ?? profileId;
  const accounts = pair && [accountKey(profileId, pair.source.code), accountKey(recipientId, pair.target.code)];
  const stablecoins = catalogue.listAssets().filter((asset) => asset.kind === "stablecoin");
  const codes = stablecoins.map((asset) => asset.code);
  const outcome = await lane.execute({
    queueKey: customerId,
    caller,
    dependsOn: [activeProfileKey(profileId), recipientKey(profileId, recipientId), ...(accounts ?? [])],
    claims: refId === undefined ? [] : [{ customerId, kind: "conversion", refId, id }],
    decide: (state) => decideConversion(request, id, pair, codes, state),
  });
  if (outcome.kind === "done") onCreated(outcome.value);
  return outcome;
}

/** The command that settles a conversion. */
export function settlementOf(
  conversion: Conversion,
  caller: Caller,
): Command<Conversion, ConversionNotFound | ConversionNotSettleable> {
  const { id, customerId } = conversion;
  const { key, dependsOn } = closingRows(conversion);
  const queueKey = `settlements of ${customerId}` as const;
  return { queueKey, caller, dependsOn, decide: (state, now) => decideSettlement(key, id, state, now) };
}

export function cancellationOf(
  conversion: Conversion,
  caller: Caller,
): Command<Conversion, ConversionNotFound | ConversionNotCancellable> {
  const { id, customerId } = conversion;
  const { key, dependsOn } = closingRows(conversion);
  return { queueKey: customerId, caller, dependsOn, decide: (state, now) => decideCancel(key, id, state, now) };
}

/** The rows that closing a conversion depends on. Which these are never changes while it is CREATED. */
function closingRows(conversion: Conversion): { readonly key: Key; readonly dependsOn: readonly Key[] } {
  const { profileId, recipientProfileId = profileId } = conversion;
  const key = conversionKey(conversion);
  return { key, dependsOn: [key, recipientKey(profileId, recipientProfileId), ...closingKeys(conversion)] };
}
