/**
 * What is posted to webhooks, as `webhooks` of OpenAPI 3.1: each type of event, with the example that
 * test/events/examples.test.ts records, in both forms of the body.
 */
import { readFileSync } from "node:fs";
import { FullEventBody, ThinEventBody } from "../routes/webhooks/posted-events.ts";
import type { DocumentSchemas, Json } from "./document-schemas.ts";

const EXAMPLES = new URL("../../../docs/event-examples.ndjson", import.meta.url);

interface ExampleEvent {
  readonly id: string;
  readonly type: string;
  readonly number: number;
  readonly object_type: string;
  readonly version?: number;
  readonly object: object;
  readonly created_at: string;
  readonly is_test: boolean;
}

/** By type. */
export function eventWebhooks(schemas: DocumentSchemas, baseUrl: string): Json {
  const examples = readFileSync(EXAMPLES, "utf8").trim().split("\n");
  const events = examples.map((line) => JSON.parse(line) as ExampleEvent);
  const schema = { anyOf: [ThinEventBody, FullEventBody].map((body) => schemas.shown(body as unknown as Json)) };
  return Object.fromEntries(events.map((event) => [event.type, { post: webhookOf(event, schema, baseUrl) }]));
}

const header = (name: string, description: string): Json => ({
  ...{ name, in: "header", required: true, description },
  schema: { type: "string" },
});

const HEADERS = [
  header("webhook-id", "The same however often it is posted: the event's id; of a strict webhook, the batch's."),
  header("webhook-timestamp", "Of this attempt: seconds since 1970."),
  header("webhook-signature", "Standard Webhooks 1.0.0: `v1,...` and `v1a,...`, separated by spaces."),
];

function webhookOf(event: ExampleEvent, schema: Json, baseUrl: string): Json {
  const { id, type, created_at: time, is_test, number, object_type, version, object: data } = event;
  const thin = { id, type, source: `${baseUrl}/v2/events/${id}`, time, object: "event", is_test };
  const full = { ...thin, number, object_type, ...(version !== undefined && { version }), data };
  const examples = { thin: { value: thin }, full: { value: full } };
  return {
    operationId: `on_${type.replaceAll(".", "_")}`,
    tags: ["Webhooks"],
    summary: type,
    description:
      'Posted to webhooks that get this type, in the form that the webhook has. A strict one gets `{"object":"list","data":[...]}` of these.',
    security: [],
    parameters: HEADERS,
    requestBody: { description: "The event.", required: true, content: { "application/json": { schema, examples } } },
    responses: { default: { description: "2xx accepts it. 410 disables the webhook. All else is tried again." } },
  };
}
