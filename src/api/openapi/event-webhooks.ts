/**
 * The types of events as `webhooks` of OpenAPI 3.1: what a reader of the list or the stream receives, each with the example
 * that test/events/examples.test.ts records. Nothing is posted anywhere yet.
 */
import { readFileSync } from "node:fs";
import type { Json } from "./document-schemas.ts";

const EXAMPLES = new URL("../../../docs/event-examples.ndjson", import.meta.url);

/** By type. Refers to the schema `Event`. */
export function eventWebhooks(): Json {
  const examples = readFileSync(EXAMPLES, "utf8").trim().split("\n");
  const events = examples.map((line) => JSON.parse(line) as { readonly type: string });
  return Object.fromEntries(events.map((event) => [event.type, { post: webhookOf(event) }]));
}

function webhookOf(event: { readonly type: string }): Json {
  const media = { schema: { $ref: "#/components/schemas/Event" }, example: event };
  return {
    operationId: `on_${event.type.replaceAll(".", "_")}`,
    tags: ["Events"],
    summary: event.type,
    description:
      "As `GET /v2/events` lists it, and `data` of the stream `/v2/events/stream`. It is not posted to callers.",
    security: [],
    requestBody: { description: "The event.", required: true, content: { "application/json": media } },
    responses: { default: { description: "None is expected." } },
  };
}
