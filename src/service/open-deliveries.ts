/** What delivers to webhooks, for the service and for commands. */
import { ApiDialect } from "../api/dialect/api-dialect.ts";
import { createPostedEvents } from "../api/routes/webhooks/posted-events.ts";
import { recordDisablings } from "../customers/webhooks/disablings/disablings.ts";
import { createEvents, type Events } from "../events/events.ts";
import { figuresOf } from "../exchange/exchange.ts";
import { createTransfers } from "../transfers/transfers.ts";
import { type Dialect, OWN_DIALECT } from "../web/dialect/dialect.ts";
import { OutgoingRequests } from "../web/outgoing-requests/outgoing-requests.ts";
import { OutgoingThread } from "../web/outgoing-requests/outgoing-thread.ts";
import { createDeliveries, type Deliveries, type DeliveryEvent } from "../webhooks/deliveries.ts";
import { ReceiverCredentials } from "../webhooks/receiver-access.ts";
import { createSender } from "../webhooks/signed-sender.ts";
import type { Config } from "./config/config.ts";
import type { Core } from "./core.ts";

interface Options {
  readonly events?: Events;
  readonly dialect?: Dialect;
  /** Where events are read. */
  readonly baseUrl?: () => string;
  readonly onEvent?: ((event: DeliveryEvent) => void) | undefined;
}

export function openDeliveries(
  core: Core,
  config: Config,
  {
    events = createEvents({ ...core, transfers: createTransfers(core) }),
    dialect = OWN_DIALECT,
    baseUrl = () => config.baseUrl ?? `http://${config.host}:${config.port}`,
    onEvent,
  }: Options = {},
): Deliveries {
  const { clock, catalogue, log } = core;
  const report = (event: DeliveryEvent): void => {
    logDelivery(log, event);
    onEvent?.(event);
  };
  const requests = outgoingRequests(config, (error) => report({ kind: "thread_ended", error }));
  const posted = createPostedEvents({
    exchange: figuresOf(catalogue),
    isTest: config.mode === "sandbox",
    dialect: new ApiDialect(dialect),
    baseUrl,
    clock,
  });
  return createDeliveries({
    ...core,
    ...posted,
    events,
    sender: createSender({ requests, credentials: new ReceiverCredentials(requests), clock }),
    recordDisabled: () => recordDisablings(core),
    log: report,
  });
}

/** Tests run the sources, which a thread cannot load. */
const IS_BUILT = import.meta.url.endsWith(".js");

function outgoingRequests({ webhookPolicy }: Config, onEnded: (error: Error) => void): Pick<OutgoingRequests, "post"> {
  return IS_BUILT ? new OutgoingThread(webhookPolicy, onEnded) : new OutgoingRequests(webhookPolicy);
}

function logDelivery(log: Core["log"], event: DeliveryEvent): void {
  const { kind } = event;
  if (kind === "failed") log.warn({ error: event.error }, "webhooks could not be delivered; retrying");
  else if (kind === "recovered") log.info({ failures: event.failures }, "webhooks are delivered again");
  else if (kind === "unreadable") log.error({ webhook_id: event.webhookId }, event.error.message);
  else if (kind === "thread_ended")
    log.error({ error: event.error }, "the thread of outgoing requests has ended and begins again: this is a bug");
  else if (kind === "disabled") {
    const { id, customerId } = event.webhook;
    log.warn({ webhook_id: id, customer_id: customerId, reason: event.reason }, "a webhook was disabled");
  } else if (kind === "expired") {
    const { webhookId, from, to } = event;
    const numbers = { from: Number(from), to: Number(to) };
    log.warn({ webhook_id: webhookId, ...numbers }, "events were not delivered to a webhook, and are no longer kept");
  } else if (kind === "returned") {
    const { webhookId, from, to } = event;
    const numbers = { from: Number(from), to: Number(to) };
    log.warn(
      { webhook_id: webhookId, ...numbers },
      "a webhook's place was behind its customer's last event, and is set to it",
    );
  }
}
