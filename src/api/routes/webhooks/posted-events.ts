/** The bodies that are posted to webhooks: thin, or full. */
import { type Static, Type } from "typebox";
import type { WebhookBody } from "../../../customers/webhooks/webhook.ts";
import type { CustomerEvent } from "../../../events/events.ts";
import { type Clock, formatInstant } from "../../../std/clock.ts";
import type { Uuid } from "../../../std/id.ts";
import type { ApiDialect } from "../../dialect/api-dialect.ts";
import { Timestamp, UuidText } from "../../requests/schemas.ts";
import { EventBody, type EventRoutesOptions, eventBody } from "../events.ts";

const { number, object_type, version, object, type } = EventBody.properties;

const THIN = {
  id: { ...UuidText, description: "The event's, and the header webhook-id." },
  type,
  source: Type.String({ description: "Where the event is read, with its object.", format: "uri" }),
  time: { ...Timestamp, description: "When the event was made." },
  object: Type.Literal("event"),
  is_test: Type.Boolean({ description: "Whether this is a sandbox." }),
};

export const ThinEventBody = Type.Object(THIN, {
  title: "PostedEvent",
  description: "What is posted to a webhook with the body THIN.",
});

export const FullEventBody = Type.Object(
  { ...THIN, number, object_type, version, data: object },
  { title: "PostedFullEvent", description: "What is posted to a webhook with the body FULL." },
);

interface Options extends Pick<EventRoutesOptions, "exchange" | "isTest"> {
  readonly dialect: ApiDialect;
  readonly baseUrl: () => string;
  readonly clock: Clock;
}

interface PostedEvents {
  bodyOf(event: CustomerEvent, webhook: { readonly body: WebhookBody }): string;
  /** Of an event of the type `webhook.test`. */
  testBodyOf(id: Uuid, webhook: { readonly id: Uuid }): string;
}

export function createPostedEvents({ exchange, isTest, dialect, baseUrl, clock }: Options): PostedEvents {
  const urlOf = (pattern: string, id: Uuid): string => {
    const { paths } = dialect.words;
    return baseUrl() + (paths?.given(pattern) ?? pattern).replace("{id}", id);
  };
  const give = { thin: dialect.giver(ThinEventBody), full: dialect.giver(FullEventBody) };
  return {
    bodyOf: (event, { body }) => {
      const source = urlOf("/v2/events/{id}", event.id);
      const { id, type, created_at: time, is_test, ...rest } = eventBody(event, { exchange, isTest }, dialect, 0);
      const thin: Static<typeof ThinEventBody> = { id, type, source, time, object: "event", is_test };
      if (body === "thin") return JSON.stringify(give.thin(thin));
      const { number, object_type, version, object: data } = rest;
      return JSON.stringify(
        give.full({ ...thin, number, object_type, ...(version !== undefined && { version }), data }),
      );
    },
    testBodyOf: (id, webhook) =>
      JSON.stringify({
        id,
        type: "webhook.test",
        source: urlOf("/v2/webhooks/{id}", webhook.id),
        time: formatInstant(clock.now()),
        object: "event",
        is_test: isTest,
      }),
  };
}
