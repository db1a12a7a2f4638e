/** What of a webhook an event shows. */
import { type Static, Type } from "typebox";
import type { CustomerEvent } from "../../../events/events.ts";
import { formatInstant } from "../../../std/clock.ts";
import { NamedEnum, Timestamp, UuidText } from "../../requests/schemas.ts";

type DisabledWebhook = Extract<CustomerEvent["object"], { readonly type: "webhook" }>["value"];

/** How it was set then; its secrets and what it was delivered are in no event. */
export const WebhookEventBody = Type.Object(
  {
    id: { ...UuidText, description: "The webhook's." },
    name: Type.String({ description: "Its name then." }),
    url: Type.String({ description: "Where it posted to." }),
    status: NamedEnum("WebhookEventStatus", ["DISABLED"], "Nothing is delivered until it is enabled."),
    disabled_reason: NamedEnum(
      "WebhookEventReason",
      ["GONE", "FAILING"],
      "GONE: the receiver answered 410. FAILING: it accepted nothing for five days, or a STRICT webhook gave a batch up.",
    ),
    disabled_at: { ...Timestamp, description: "When it was disabled." },
  },
  { title: "WebhookEvent", description: "A webhook that the service has disabled." },
);

export function webhookEventBody({
  id,
  name,
  url,
  reason,
  disabledAt,
}: DisabledWebhook): Static<typeof WebhookEventBody> {
  const why = ({ gone: "GONE", failing: "FAILING" } as const)[reason];
  return { id, name, url, status: "DISABLED", disabled_reason: why, disabled_at: formatInstant(disabledAt) };
}
