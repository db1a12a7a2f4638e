/**
 * What each input of the API names, and a call of each operation that its caller may make. The walk does not start
 * while an input or an operation of the document is missing here.
 */
import { CONVERSION_ANNOTATIONS } from "../../src/conversions/conversion.ts";
import { EXECUTION_ANNOTATIONS } from "../../src/exchange/execution.ts";
import { ORDER_ANNOTATIONS } from "../../src/exchange/order.ts";
import { type AnnotationDescriptions, filteredAnnotations, ofSide } from "../../src/ledger/annotations.ts";
import { TRANSFER_ANNOTATIONS } from "../../src/transfers/transfer.ts";
import type { Call, Input, Operation } from "../support/openapi.ts";
import type { Belongings } from "./belongings.ts";

/**
 * What an input names:
 * - `reference`: by its id, something that must be the caller's own; else 404, or as a filter an empty list.
 * - `receiver`: a profile that may be anybody's. The one exception (docs/contract/requests.md#tenancy, rule 3).
 * - `repeated`: what the path names, once more.
 * - `number`: it is compared, and looks nothing up.
 * - `word`: the caller's own name for something, free text that means nothing to anybody else.
 * - `cursor`: a place in one of the caller's own lists.
 * - `nothing`: no thing of anybody's: amounts, codes, times, choices.
 */
export type Naming = "reference" | "receiver" | "repeated" | "number" | "word" | "cursor" | "nothing";

const NAMINGS: Readonly<Record<Exclude<Naming, "receiver" | "repeated">, string>> = {
  reference:
    "id ids client_id client_ids object_id profile_id profile_ids order_id group_ids from_profile_id to_profile_id recipient_profile_id",
  number: "since_execution_id",
  word: "ref_id ref_ids nickname name description recipient_metadata crypto_tx_hashes",
  cursor: "page_cursor",
  nothing:
    "after_number amount asset assets at await_fill_millis base_amount body created_at.begin created_at.end created_at.eq created_at.gt created_at.gte created_at.lt created_at.lte crypto_address crypto_network deliveries_per_second delivery_order dry_run expiration_date from from_number from_time include_deactivated increment is_test limit market markets max_data_points mode order order_by only_undelivered order_time.begin order_time.end overlap_seconds pagination.limit pagination.offset price quote_amount range.begin range.end receiver_access secondary_statuses side source_asset status statuses stop_price target_asset time_in_force type types updated_at.begin updated_at.end updated_at.eq updated_at.gt updated_at.gte updated_at.lt updated_at.lte url wait_millis",
};

/** Annotations are words, and so are the filters by them. */
const ANNOTATIONS: readonly AnnotationDescriptions[] = [
  TRANSFER_ANNOTATIONS,
  ofSide("from_", TRANSFER_ANNOTATIONS),
  ofSide("to_", TRANSFER_ANNOTATIONS),
  CONVERSION_ANNOTATIONS,
  ORDER_ANNOTATIONS,
  EXECUTION_ANNOTATIONS,
];

const NAMING_OF = new Map<string, Naming>([
  ...ANNOTATIONS.flatMap((described) => [
    ...Object.values(described).map(({ name }) => [name, "word"] as const),
    ...filteredAnnotations(described).map(({ filter }) => [filter.name, "word"] as const),
  ]),
  ...Object.entries(NAMINGS).flatMap(([naming, names]) =>
    names.split(" ").map((name) => [name, naming as Naming] as const),
  ),
]);

export function namingOf({ operationId }: Operation, { name }: Input): Naming | undefined {
  if (/^createPlatformTransfers?$/.test(operationId) && name === "to_profile_id") return "receiver";
  if (operationId === "updateProfile" && name === "profile_id") return "repeated";
  return NAMING_OF.get(name);
}

/** Whether the document says that it is an id, whatever it is called. */
function looksLikeAnId({ name, schema }: Input): boolean {
  const { format, check } = schema.items ?? schema;
  return format === "uuid" || check === "uuid" || check === "profile_id" || /(^|_)ids?$/.test(name);
}

const move = (own: Belongings): Call => ({
  body: { from_profile_id: own.profile, to_profile_id: own.defaultProfile, amount: "1", asset: "USD" },
});
const bulk = (own: Belongings): Call => ({
  body: { mode: "independent" },
  item: { ...move(own).body, ref_id: `made by the walk ${Math.random()}` },
});
const profile = (own: Belongings): Call => ({ path: { id: own.spareProfile } });
const ofProfile = (own: Belongings): Call => ({ path: { profile_id: own.profile } });
const order = (own: Belongings): Call => ({ path: { profile_id: own.profile, id: own.openOrder } });
const webhook = (own: Belongings): Call => ({ path: { id: own.webhook } });
/** Nobody listens there. */
const webhookSettings = (): Call => ({
  body: { name: `made by the walk ${Math.random()}`, url: "http://127.0.0.1:9/", types: ["*"] },
});
const list = (): Call => ({});

/** A call of each operation that asks for a token, with everything that is needed and nothing else. */
export const SAMPLES: Readonly<Record<string, (own: Belongings) => Call>> = {
  createProfile: () => ({ body: { nickname: `made by the walk ${Math.random()}` } }),
  listProfiles: list,
  getProfile: (own) => ({ ...profile(own), query: { include_deactivated: "true" } }),
  updateProfile: (own) => ({ ...profile(own), body: { description: "changed by the walk" } }),
  deactivateProfile: profile,
  listBalances: profile,
  getBalance: (own) => ({ path: { id: own.profile, asset: "USD" } }),
  createPlatformTransfer: move,
  createInternalTransfer: move,
  createPlatformTransfers: bulk,
  createInternalTransfers: bulk,
  getTransfer: (own) => ({ path: { id: own.transfer } }),
  listTransfers: list,
  createStablecoinConversion: (own) => ({
    body: { profile_id: own.profile, amount: "1", source_asset: "USD", target_asset: "USDG" },
  }),
  listStablecoinConversions: list,
  getStablecoinConversion: (own) => ({ path: { id: own.conversion } }),
  cancelStablecoinConversion: (own) => ({ path: { id: own.conversion } }),
  createSandboxDeposit: (own) => ({ path: { id: own.profile }, body: { asset: "USD", amount: "1" } }),
  placeOrder: (own) => ({
    ...ofProfile(own),
    body: { side: "BUY", market: "BTCUSD", type: "LIMIT", base_amount: "0.01", price: "20000" },
  }),
  listProfileOrders: ofProfile,
  cancelOrder: order,
  getOrder: order,
  listOrders: list,
  listExecutions: list,
  listFees: list,
  listProfileExecutions: ofProfile,
  listEvents: list,
  getEvent: (own) => ({ path: { id: own.event } }),
  listApiCredentials: list,
  deleteApiCredentials: (own) => ({ path: { client_id: own.client } }),
  createWebhook: webhookSettings,
  listWebhooks: list,
  getWebhook: webhook,
  updateWebhook: (own) => ({ ...webhook(own), ...webhookSettings() }),
  deleteWebhook: (own) => ({ path: { id: own.spareWebhook } }),
  rotateWebhookSecret: (own) => ({ ...webhook(own), body: {} }),
  disableWebhook: webhook,
  enableWebhook: (own) => ({ ...webhook(own), body: { from: "NOW" } }),
  testWebhook: webhook,
  replayWebhook: (own) => ({ ...webhook(own), body: { only_undelivered: true } }),
  listWebhookAttempts: webhook,
  listHistoricalCandles: () => ({ path: { market: "BTCUSD" }, query: { increment: "ONE_MINUTE" } }),
  listHistoricalPrices: () => ({ path: { market: "BTCUSD" }, query: { increment: "ONE_MINUTE" } }),
};

/** What is missing here, each as a sentence that says what to add. */
export function uncovered(operations: readonly Operation[]): string[] {
  const withoutSample = operations
    .filter(({ operationId }) => SAMPLES[operationId] === undefined)
    .map(({ operationId }) => `${operationId}: add to SAMPLES a call of it that its caller may make`);
  const withoutNaming = operations.flatMap((operation) =>
    operation.inputs
      .filter((input) => namingOf(operation, input) === undefined)
      .map(({ name }) => `${operation.operationId}: say in NAMINGS what its input ${name} names`),
  );
  const taken = operations.flatMap((operation) =>
    operation.inputs
      .filter((input) => looksLikeAnId(input) && namingOf(operation, input) === "nothing")
      .map(({ name }) => `${operation.operationId}: its input ${name} looks like an id, so it cannot name nothing`),
  );
  return [...withoutSample, ...withoutNaming, ...taken];
}
