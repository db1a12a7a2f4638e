/** `parbook webhook`: webhooks of customers, set and looked after by the operator. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { problemOf } from "../../api/problems/rejection-problems.ts";
import { attemptBody } from "../../api/routes/webhooks/deliveries.ts";
import {
  type SentWebhook,
  shownWebhookBody,
  webhookBody,
  webhookRequest,
} from "../../api/routes/webhooks/webhook-body.ts";
import type { CustomerId } from "../../customers/customer-id.ts";
import {
  LONGEST_OVERLAP_MS,
  type ShownWebhook,
  type Webhook,
  type WebhookId,
  type WebhookNameTaken,
} from "../../customers/webhooks/webhooks.ts";
import type { OperatorCaller } from "../../ledger/caller.ts";
import type { Core } from "../../service/core.ts";
import { openDeliveries } from "../../service/open-deliveries.ts";
import { formatInstant, type Instant } from "../../std/clock.ts";
import type { Result } from "../../std/result.ts";
import { type Backlog, readBacklogs } from "../../webhooks/backlog.ts";
import type { Attempt, Deliveries, ReplayFrom } from "../../webhooks/deliveries.ts";
import {
  type CustomerReference,
  readDuration,
  readEventNumber,
  readList,
  readPath,
  readText,
  readTime,
  readUuid,
} from "../arguments.ts";
import {
  addCommand,
  addGroup,
  CommandRejected,
  type CommandResult,
  setAction,
  setWritingAction,
  WrongUsage,
  withConfiguration,
  withCore,
  withFoundation,
} from "../command.ts";
import { LIST_LIMIT, listing } from "../listing.ts";
import { CUSTOMER_OPTION, getCustomer } from "./customers.ts";
import { accessIn } from "./receiver-access.ts";

const DAY_MS = 86_400_000;
const CUSTOMER = "--customer Acme";
const WEBHOOK = "0190d5a4-2222-7000-8000-000000000001";

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

export function addWebhookCommands(program: Command): void {
  const webhook = addGroup(program, "webhook", "webhooks, which post a customer's events to its receivers");
  const creating = settings(
    addCommand(webhook, "create", {
      summary: "create a webhook; its signing secret is shown once",
      examples: [`webhook create ${CUSTOMER} --name books --url https://acme.example/events --types 'transfer.*'`],
    }),
  );
  setWritingAction(creating, create);

  const list = ofCustomer(
    addCommand(webhook, "list", {
      summary: "list the webhooks of a customer, including disabled ones",
      examples: [`webhook list ${CUSTOMER}`],
    }),
  );
  setAction(list, listOf);

  setAction(one(webhook, "show", "show a webhook"), show);
  const updating = settings(
    one(webhook, "update", "change what is given of a webhook", "--url https://acme.example/new"),
  );
  setWritingAction(updating, update);
  setWritingAction(one(webhook, "delete", "delete a webhook for good"), remove);

  const rotating = one(webhook, "rotate-secret", "give a webhook new secrets to sign with", "--overlap 24h").addOption(
    new Option("--overlap <time>", "how long the former ones sign too, e.g. 24h, 7d or 0")
      .argParser(readOverlap)
      .default(DAY_MS, "24h"),
  );
  setWritingAction(rotating, rotate);

  setWritingAction(one(webhook, "test", "post a signed test event at once"), test);
  const replaying = one(webhook, "replay", "deliver events again", "--from-number 4711")
    .option("--from-number <number>", "the event of this number and all after it", readEventNumber)
    .option("--from-time <time>", "the first event of this time or later, and all after it", readTime)
    .option("--only-undelivered", "what waits for its next attempt or was given up, up to a thousand events");
  setWritingAction(replaying, replay);

  const enabling = one(webhook, "enable", "deliver again", "--from where-it-stood").addOption(
    new Option("--from <place>", "where it goes on; from now, only what was tried and failed counts as undelivered")
      .choices(["where-it-stood", "now"])
      .makeOptionMandatory(),
  );
  setWritingAction(enabling, enable);
  setWritingAction(one(webhook, "disable", "deliver nothing more until it is enabled"), disable);
  setAction(one(webhook, "attempts", "list what was posted and what was answered, the latest first"), attempts);
}

function ofCustomer(command: Command): Command {
  return command.requiredOption(...CUSTOMER_OPTION);
}

function one(group: Command, name: string, summary: string, example = ""): Command {
  const examples = [`webhook ${name} ${WEBHOOK} ${CUSTOMER} ${example}`.trim()];
  return ofCustomer(addCommand(group, name, { summary, examples }).argument("<id>", "the webhook's id", readUuid));
}

function settings(command: Command): Command {
  const isNew = command.name() === "create";
  const must = (option: Option): Option => (isNew ? option.makeOptionMandatory() : option);
  return (isNew ? ofCustomer(command) : command)
    .addOption(
      must(new Option("--name <name>", "unique among the customer's, 1 to 100 characters").argParser(readText)),
    )
    .addOption(must(new Option("--url <url>", "where events are posted to")))
    .addOption(
      must(
        new Option("--types <list>", "comma-separated types, e.g. order.filled or transfer.*, or * for all").argParser(
          readList,
        ),
      ),
    )
    .addOption(new Option("--body <form>", "thin, or full: with the object (default: thin)").choices(["thin", "full"]))
    .addOption(
      new Option("--order <order>", "of deliveries (default: per_object)").choices(["per_object", "strict", "any"]),
    )
    .addOption(new Option("--per-second <number>", "deliveries a second, 1 to 100 (default: 10)").argParser(readRate))
    .option(
      "--receiver-access <file>",
      "a JSON file with what the API has as receiver_access, and its secret; {} for the signature alone",
      readPath,
    );
}

function readRate(text: string): number {
  if (/^[0-9]{1,3}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Must be a whole number from 1 to 100.");
}

function readOverlap(text: string): number {
  const overlapMs = readDuration(text);
  if (overlapMs <= LONGEST_OVERLAP_MS) return overlapMs;
  throw new InvalidArgumentError("Must be at most 7d.");
}

// Settings -----------------------------------------------------------------------------------------------------------

async function create(operator: OperatorCaller, options: SettingOptions): Promise<CommandResult> {
  const { customer } = options;
  const access = await accessIn(options.receiverAccess);
  return withDeliveries(customer, async (customerId, deliveries, { webhooks }) => {
    const request = webhookRequest({ ...sentOf(options), ...access } as SentWebhook);
    return shownResult(unrejected(await webhooks.create(customerId, request, deliveries.begin, operator)));
  });
}

/** What is not given stays. */
async function update(operator: OperatorCaller, id: WebhookId, options: SettingOptions): Promise<CommandResult> {
  const { customer } = options;
  const access = await accessIn(options.receiverAccess);
  return withConfiguration(async ({ database, webhooks }) => {
    const { id: customerId } = await getCustomer(database, customer);
    const former = await webhooks.find(customerId, id);
    if (former === undefined) throw notFound(id);
    const { name, url, types, body, delivery_order, deliveries_per_second, receiver_access } = webhookBody(former);
    const before = { name, url, types, body, delivery_order, deliveries_per_second, receiver_access };
    const request = webhookRequest({ ...before, ...sentOf(options), ...access } as SentWebhook);
    return result(unrejected(await webhooks.update(customerId, id, request, operator)));
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

function remove(operator: OperatorCaller, id: WebhookId, { customer }: OfCustomer): Promise<CommandResult> {
  return withConfiguration(async ({ database, webhooks }) => {
    const { id: customerId } = await getCustomer(database, customer);
    const { name } = unrejected(await webhooks.delete(customerId, id, operator));
    return { json: { id, deleted: true }, prose: [`webhook ${name} is deleted`] };
  });
}

function rotate(
  operator: OperatorCaller,
  id: WebhookId,
  options: OfCustomer & { overlap: number },
): Promise<CommandResult> {
  const { customer, overlap } = options;
  return withConfiguration(async ({ database, webhooks }) => {
    const { id: customerId } = await getCustomer(database, customer);
    return shownResult(unrejected(await webhooks.rotateSecret(customerId, id, overlap, operator)));
  });
}

function disable(operator: OperatorCaller, id: WebhookId, { customer }: OfCustomer): Promise<CommandResult> {
  return withConfiguration(async ({ database, webhooks }) => {
    const { id: customerId } = await getCustomer(database, customer);
    return result(unrejected(await webhooks.disableBy(operator, customerId, id)));
  });
}

interface EnableOptions extends OfCustomer {
  readonly from: "where-it-stood" | "now";
}

function enable(operator: OperatorCaller, id: WebhookId, { customer, from }: EnableOptions): Promise<CommandResult> {
  return withDeliveries(customer, async (customerId, deliveries, { webhooks }) => {
    const alongside = deliveries.resume(from === "now" ? "NOW" : "WHERE_IT_STOOD");
    return result(unrejected(await webhooks.enable(customerId, id, alongside, operator)));
  });
}

function listOf({ customer }: OfCustomer): Promise<CommandResult> {
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

function show(id: WebhookId, { customer }: OfCustomer): Promise<CommandResult> {
  return withFoundation(async ({ database, webhooks }) => {
    const { id: customerId } = await getCustomer(database, customer);
    const webhook = await webhooks.find(customerId, id);
    if (webhook === undefined) throw notFound(id);
    return result(webhook, (await readBacklogs(database, [id])).get(id));
  });
}

// Deliveries ---------------------------------------------------------------------------------------------------------

function test(_operator: OperatorCaller, id: WebhookId, { customer }: OfCustomer): Promise<CommandResult> {
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

function replay(_operator: OperatorCaller, id: WebhookId, options: ReplayOptions): Promise<CommandResult> {
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

function attempts(id: WebhookId, { customer }: OfCustomer): Promise<CommandResult> {
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

type WithDeliveries = (customerId: CustomerId, deliveries: Deliveries, core: Core) => Promise<CommandResult>;

function withDeliveries(customer: CustomerReference, work: WithDeliveries): Promise<CommandResult> {
  return withCore(async (core, config) =>
    work((await getCustomer(core.database, customer)).id, openDeliveries(core, config), core),
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
    `status         ${status}`,
    ...body.public_keys.map((key) => `public key     ${key}`),
  ];
}
