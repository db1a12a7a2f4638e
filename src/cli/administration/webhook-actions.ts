/** What the commands of `parbook webhook` do. */
import { problemOf } from "../../api/problems/rejection-problems.ts";
import { attemptBody } from "../../api/routes/webhooks/deliveries.ts";
import {
  type SentWebhook,
  shownWebhookBody,
  webhookBody,
  webhookRequest,
} from "../../api/routes/webhooks/webhook-body.ts";
import type { CustomerId } from "../../customers/customer-id.ts";
import type {
  RotatedWebhook,
  ShownWebhook,
  Webhook,
  WebhookId,
  WebhookNameTaken,
  WebhookRequest,
} from "../../customers/webhooks/webhooks.ts";
import type { OperatorCaller } from "../../ledger/caller.ts";
import type { Config } from "../../service/config/config.ts";
import type { Core } from "../../service/core.ts";
import { openDeliveries } from "../../service/open-deliveries.ts";
import { formatInstant, type Instant } from "../../std/clock.ts";
import type { Result } from "../../std/result.ts";
import { type Backlog, readBacklogs } from "../../webhooks/backlog.ts";
import type { Attempt, Deliveries, ReplayFrom } from "../../webhooks/deliveries.ts";
import type { CustomerReference } from "../arguments.ts";
import {
  CommandRejected,
  type CommandResult,
  WrongUsage,
  withConfiguration,
  withCore,
  withFoundation,
} from "../command.ts";
import { LIST_LIMIT, listing } from "../listing.ts";
import { shellWord } from "../shell-word.ts";
import { getCustomer } from "./customers.ts";
import { readSigningKeys } from "./keys.ts";
import { accessIn } from "./receiver-access.ts";

interface OfCustomer {
  readonly customer: CustomerReference;
}

interface SettingOptions extends OfCustomer {
  readonly name?: string;
  readonly url?: string;
  readonly types?: readonly string[];
  readonly body?: "thin" | "full";
  readonly order?: "per_object" | "strict" | "any";
  readonly perSecond?: number;
  readonly receiverAccess?: string;
}

// Settings -----------------------------------------------------------------------------------------------------------

export async function create(operator: OperatorCaller, options: SettingOptions): Promise<CommandResult> {
  const { customer } = options;
  const access = await accessIn(options.receiverAccess);
  return withDeliveries(customer, async (customerId, deliveries, core, config) => {
    const { webhooks } = core;
    await readSigningKeys(core, config);
    const request = webhookRequest({ ...sentOf(options), ...access } as SentWebhook);
    return shownResult(unrejected(await webhooks.create(customerId, request, deliveries.begin, operator)));
  });
}

/** What is not given stays. */
export async function update(operator: OperatorCaller, id: WebhookId, options: SettingOptions): Promise<CommandResult> {
  const { customer } = options;
  const access = await accessIn(options.receiverAccess);
  return withConfiguration(async (foundation, config) => {
    const { database, webhooks } = foundation;
    await readSigningKeys(foundation, config);
    const { id: customerId } = await getCustomer(database, customer);
    const requestOf = (former: Webhook): WebhookRequest => {
      const { name, url, types, body, delivery_order, deliveries_per_second, receiver_access } = webhookBody(former);
      const before = { name, url, types, body, delivery_order, deliveries_per_second, receiver_access };
      return webhookRequest({ ...before, ...sentOf(options), ...access } as SentWebhook);
    };
    return result(unrejected(await webhooks.update(customerId, id, requestOf, operator)));
  });
}

/** What is given, as the API has it. */
function sentOf({ name, url, types, body, order, perSecond }: SettingOptions): Partial<SentWebhook> {
  return {
    ...(name !== undefined && { name }),
    ...(url !== undefined && { url }),
    ...(types !== undefined && { types: [...types] }),
    ...(body !== undefined && { body: body === "thin" ? "THIN" : "FULL" }),
    ...(order !== undefined && { delivery_order: ORDERS[order] }),
    ...(perSecond !== undefined && { deliveries_per_second: perSecond }),
  };
}

const ORDERS = { per_object: "PER_OBJECT", strict: "STRICT", any: "ANY" } as const;

export function remove(operator: OperatorCaller, id: WebhookId, { customer }: OfCustomer): Promise<CommandResult> {
  return withConfiguration(async ({ database, webhooks }) => {
    const { id: customerId } = await getCustomer(database, customer);
    const { name } = unrejected(await webhooks.delete(customerId, id, operator));
    return { json: { id, deleted: true }, prose: [`webhook ${name} is deleted`] };
  });
}

export function rotate(
  operator: OperatorCaller,
  id: WebhookId,
  options: OfCustomer & { overlap: number },
): Promise<CommandResult> {
  const { customer, overlap } = options;
  return withConfiguration(async (foundation, config) => {
    const { database, webhooks } = foundation;
    await readSigningKeys(foundation, config);
    const { id: customerId } = await getCustomer(database, customer);
    const shown = unrejected(await webhooks.rotateSecret(customerId, id, overlap, operator));
    const { json, prose } = shownResult(shown);
    return { json, prose: [...prose, formerText(shown, options)] };
  });
}

function formerText(
  { webhook: { id }, othersEndAt }: RotatedWebhook,
  { customer, overlap }: OfCustomer & { overlap: number },
): string {
  if (overlap === 0) return "The former secrets sign no more.";
  const now = `parbook webhook rotate-secret ${id} --customer ${shellWord(customer)} --overlap 0`;
  return `The former secrets sign too until ${formatInstant(othersEndAt)}. To end them, and this one, at once: ${now}`;
}

export function disable(operator: OperatorCaller, id: WebhookId, { customer }: OfCustomer): Promise<CommandResult> {
  return withConfiguration(async ({ database, webhooks }) => {
    const { id: customerId } = await getCustomer(database, customer);
    return result(unrejected(await webhooks.disableBy(operator, customerId, id)));
  });
}

interface EnableOptions extends OfCustomer {
  readonly from: "where-it-stood" | "now";
}

export function enable(
  operator: OperatorCaller,
  id: WebhookId,
  { customer, from }: EnableOptions,
): Promise<CommandResult> {
  return withDeliveries(customer, async (customerId, deliveries, { webhooks }) => {
    const alongside = deliveries.resume(from === "now" ? "NOW" : "WHERE_IT_STOOD");
    return result(unrejected(await webhooks.enable(customerId, id, alongside, operator)));
  });
}

export function listOf({ customer }: OfCustomer): Promise<CommandResult> {
  return withFoundation(async ({ database, webhooks }) => {
    const { id: customerId } = await getCustomer(database, customer);
    const found = await webhooks.list({ customerId, order: "ASC", limit: LIST_LIMIT + 1 });
    const backlogs = await readBacklogs(
      database,
      found.map(({ id }) => id),
    );
    const bodies = found.map((webhook) => webhookBody(webhook, backlogs.get(webhook.id)));
    return listing(bodies, ["id", "status", "name", "url", "types", "waiting"], (webhook) => [
      webhook.id,
      webhook.disabled_reason === undefined ? webhook.status : `${webhook.status} ${webhook.disabled_reason}`,
      webhook.name,
      webhook.url,
      webhook.types.join(","),
      String(webhook.backlog?.events ?? 0),
    ]);
  });
}

export function show(id: WebhookId, { customer }: OfCustomer): Promise<CommandResult> {
  return withFoundation(async ({ database, webhooks }) => {
    const { id: customerId } = await getCustomer(database, customer);
    const webhook = await webhooks.find(customerId, id);
    if (webhook === undefined) throw notFound(id);
    return result(webhook, (await readBacklogs(database, [id])).get(id));
  });
}

// Deliveries ---------------------------------------------------------------------------------------------------------

export function test(_operator: OperatorCaller, id: WebhookId, { customer }: OfCustomer): Promise<CommandResult> {
  return withDeliveries(customer, async (customerId, deliveries) => {
    const attempt = unrejected(await deliveries.test(customerId, id));
    return { json: attemptBody(attempt), prose: [outcomeOf(attempt)], failed: attempt.error !== undefined };
  });
}

interface ReplayOptions extends OfCustomer {
  readonly fromNumber?: bigint;
  readonly fromTime?: Date;
  readonly onlyUndelivered?: true;
}

export function replay(_operator: OperatorCaller, id: WebhookId, options: ReplayOptions): Promise<CommandResult> {
  const from = replayFrom(options);
  return withDeliveries(options.customer, async (customerId, deliveries) => {
    const { fromNumber, events } = unrejected(await deliveries.replay(customerId, id, from));
    const json = { from_number: fromNumber === undefined ? undefined : Number(fromNumber), events };
    const what = fromNumber === undefined ? `${events} events` : `events from number ${fromNumber} on`;
    return { json, prose: [`${what} will be delivered again`] };
  });
}

function replayFrom({ fromNumber, fromTime, onlyUndelivered }: ReplayOptions): ReplayFrom {
  if ([fromNumber, fromTime, onlyUndelivered].filter((given) => given !== undefined).length !== 1)
    throw new WrongUsage("give one of --from-number, --from-time and --only-undelivered");
  if (fromNumber !== undefined) return { fromNumber };
  return fromTime === undefined ? { onlyUndelivered: true } : { fromTime: fromTime.getTime() as Instant };
}

export function attempts(id: WebhookId, { customer }: OfCustomer): Promise<CommandResult> {
  return withDeliveries(customer, async (customerId, deliveries) => {
    const page = { before: undefined, limit: LIST_LIMIT + 1 };
    const found = unrejected(await deliveries.listAttempts(customerId, id, page));
    const rowOf = (attempt: Attempt): string[] => [
      formatInstant(attempt.at),
      attempt.number === undefined ? "test" : `${attempt.number} (${attempt.events})`,
      attempt.messageId,
      outcomeOf(attempt),
    ];
    const { prose } = listing(found, ["at", "event (events)", "webhook-id", "outcome"], rowOf);
    const { json } = listing(found.map(attemptBody), [], () => []);
    return { json, prose };
  });
}

const outcomeOf = ({ status, error, ms }: Attempt): string =>
  error === undefined ? `accepted with ${status} in ${ms} ms` : `failed in ${ms} ms: ${error}`;

type WithDeliveries = (
  customerId: CustomerId,
  deliveries: Deliveries,
  core: Core,
  config: Config,
) => Promise<CommandResult>;

function withDeliveries(customer: CustomerReference, work: WithDeliveries): Promise<CommandResult> {
  return withCore(async (core, config) =>
    work((await getCustomer(core.database, customer)).id, openDeliveries(core, config), core, config),
  );
}

// Results ------------------------------------------------------------------------------------------------------------

type Why = Parameters<typeof problemOf>[0] | WebhookNameTaken;

function unrejected<Value>(outcome: Result<Value, Why>): Value {
  if (outcome.kind === "done") return outcome.value;
  const { rejection } = outcome;
  if (rejection.code === "webhook_name_taken")
    throw new CommandRejected(`the customer's webhook ${rejection.holder} has this name`);
  throw problemOf(rejection);
}

const notFound = (id: WebhookId): CommandRejected => new CommandRejected(`webhook not found: ${id}`);

function result(webhook: Webhook, backlog?: Backlog): CommandResult {
  const json = { ...webhookBody(webhook, backlog), customer_id: webhook.customerId };
  return { json, prose: [...linesOf(webhook), ...(backlog === undefined ? [] : [waitingLine(backlog)])] };
}

function waitingLine({ events, since, nextAttemptAt }: Backlog): string {
  const oldest = since === undefined ? "" : `, the first since ${formatInstant(since)}`;
  const next = nextAttemptAt === undefined ? "" : `; tried again at ${formatInstant(nextAttemptAt)}`;
  return `waiting        ${events} events${oldest}${next}`;
}

function shownResult(shown: ShownWebhook): CommandResult {
  const { webhook, signingSecret } = shown;
  return {
    json: { ...shownWebhookBody(shown), customer_id: webhook.customerId },
    prose: [...linesOf(webhook), `signing secret ${signingSecret}`, "Save the secret now: it cannot be shown again."],
  };
}

function linesOf(webhook: Webhook): string[] {
  const body = webhookBody(webhook);
  const status = body.disabled_reason === undefined ? body.status : `${body.status} (${body.disabled_reason})`;
  return [
    `webhook        ${body.id}`,
    `name           ${body.name}`,
    `url            ${body.url}`,
    `types          ${body.types.join(", ")}`,
    `body, order    ${body.body}, ${body.delivery_order}, ${body.deliveries_per_second} a second`,
    `access         ${accessText(body.receiver_access)}`,
    `status         ${status}`,
    ...body.public_keys.map((key) => `public key     ${key}`),
  ];
}

/** Beside its signature. Without the secret. */
function accessText(access: ReturnType<typeof webhookBody>["receiver_access"]): string {
  if (access === undefined) return "none";
  const { type, header, token_url, client_id } = access;
  return type === "API_KEY" ? `API_KEY in ${header}` : `OAUTH as ${client_id} at ${token_url}`;
}
