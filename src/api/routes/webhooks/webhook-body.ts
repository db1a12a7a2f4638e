/** A webhook in requests and responses. */
import { type Static, Type } from "typebox";
import type { ReceiverAccess } from "../../../customers/webhooks/webhook.ts";
import type { ShownWebhook, Webhook, WebhookId, WebhookRequest } from "../../../customers/webhooks/webhooks.ts";
import { formatInstant } from "../../../std/clock.ts";
import type { Uuid } from "../../../std/id.ts";
import type { Backlog } from "../../../webhooks/deliveries.ts";
import { type Every, present } from "../../domain-mapping.ts";
import { type FailingField, invalid } from "../../problems/failing-fields.ts";
import { Body, NamedEnum, ShortText, Timestamp, UuidText, uuidOf } from "../../requests/schemas.ts";

export const OneWebhook = Type.Object({ id: { ...UuidText, description: "The webhook's id." } });

export const webhookIdOf = (checked: string): WebhookId => uuidOf<WebhookId & Uuid>(checked);

const Form = NamedEnum(
  "WebhookBodyForm",
  ["THIN", "FULL"],
  "THIN, unless another is sent: which event of which type, and where to read it. FULL: also the object as it was then.",
);
const DeliveryOrder = NamedEnum(
  "WebhookDeliveryOrder",
  ["PER_OBJECT", "STRICT", "ANY"],
  "PER_OBJECT, unless another is sent: never two events of one object at once, nor out of order. STRICT: up to 100 events at a time, all in order. ANY: as they come.",
);
const DisabledReason = NamedEnum(
  "WebhookDisabledReason",
  ["CUSTOMER", "OPERATOR", "GONE", "FAILING"],
  "CUSTOMER, OPERATOR: by them. GONE: its receiver answered 410. FAILING: nothing was accepted for five days, or a STRICT webhook gave a batch up.",
);
const AccessType = NamedEnum(
  "WebhookReceiverAccessType",
  ["API_KEY", "OAUTH"],
  "API_KEY: the secret in a header. OAUTH: a token that it gets by client credentials.",
);

export const WebhookStatus = NamedEnum(
  "WebhookStatus",
  ["ACTIVE", "DISABLED"],
  "Nothing is posted to a disabled one. It keeps its place.",
);

const Name = ShortText("The caller's name for it, unique among its webhooks.");
const Url = Type.String({ description: "Where events are posted to.", minLength: 1, maxLength: 1_024 });
const Types = Type.Array(Type.String({ minLength: 1, maxLength: 100, "x-word": "enum" }), {
  description: "Which events it gets: types as EventType has them, `transfer.*` for all that begin so, `*` for all.",
  minItems: 1,
  maxItems: 100,
});
const Rate = Type.Integer({
  description: "At most so many deliveries a second, on average: 10, unless another number is sent.",
  format: "int32",
  minimum: 1,
  maximum: 100,
});

const ACCESS = {
  type: AccessType,
  header: Type.Optional(Type.String({ description: "Of API_KEY: the header.", minLength: 1, maxLength: 100 })),
  token_url: Type.Optional(
    Type.String({ description: "Of OAUTH: where tokens are asked for.", minLength: 1, maxLength: 1_000 }),
  ),
  client_id: Type.Optional(Type.String({ description: "Of OAUTH.", minLength: 1, maxLength: 1_000 })),
  scope: Type.Optional(Type.String({ description: "Of OAUTH: what is asked for.", minLength: 1, maxLength: 1_000 })),
};

const AccessBody = Type.Object(ACCESS, {
  title: "WebhookReceiverAccess",
  description: "How the receiver lets it in, beside its signature. Its secret is never shown.",
});

const NewAccessBody = Body(
  {
    ...ACCESS,
    secret: Type.Optional(
      Type.String({
        description:
          "The API key, or the client secret. It may be left out if the webhook has one and the type, `url` and `token_url` stay as they are.",
        format: "password",
        writeOnly: true,
        minLength: 1,
        maxLength: 1_000,
      }),
    ),
  },
  { title: "NewWebhookReceiverAccess", description: "How the receiver lets it in, beside its signature." },
);

export const NewWebhookBody = Body(
  {
    name: Name,
    url: Url,
    types: Types,
    body: Type.Optional(Form),
    delivery_order: Type.Optional(DeliveryOrder),
    deliveries_per_second: Type.Optional(Rate),
    receiver_access: Type.Optional(NewAccessBody),
  },
  { title: "NewWebhook" },
);

const BacklogBody = Type.Object(
  {
    events: Type.Integer({
      description:
        "Events that wait for their next attempt, or behind another one of their object; and, of any type, those behind these.",
      format: "int64",
      minimum: 0,
    }),
    since: Type.Optional({ ...Timestamp, description: "When the first of them was made. Absent: there is none." }),
    next_attempt_at: Type.Optional({
      ...Timestamp,
      description: "When the next of those is tried again that failed. Absent: there is none.",
    }),
  },
  {
    title: "WebhookBacklog",
    description: "What waits to be posted. Only in what is read, not in the answers of changes.",
  },
);

const FIELDS = {
  id: UuidText,
  name: Name,
  url: Url,
  types: Types,
  body: Form,
  delivery_order: DeliveryOrder,
  deliveries_per_second: Rate,
  receiver_access: Type.Optional(AccessBody),
  status: WebhookStatus,
  disabled_reason: Type.Optional(DisabledReason),
  disabled_at: Type.Optional(Timestamp),
  public_keys: Type.Array(Type.String(), {
    description: "Verify its signatures of `v1a`; the newest first. The former one stays while both sign.",
  }),
  created_at: Timestamp,
  updated_at: Timestamp,
};

export const WebhookBody = Type.Object(
  { ...FIELDS, backlog: Type.Optional(BacklogBody) },
  {
    title: "Webhook",
    description: "Where the caller's events are posted.",
  },
);

export const ShownWebhookBody = Type.Object(
  {
    ...FIELDS,
    signing_secret: Type.String({
      description: "Verifies its signatures of `v1`. It is shown only here.",
      format: "password",
    }),
  },
  { title: "WebhookWithSecret", description: "A webhook with its new secret." },
);

export type SentWebhook = Static<typeof NewWebhookBody>;

/** @throws Problem 400 when what the receiver's access needs is missing, or what it does not have is there */
export function webhookRequest(sent: SentWebhook): WebhookRequest {
  const { name, url, types, body = "THIN", delivery_order: order = "PER_OBJECT", receiver_access: access } = sent;
  return {
    name,
    url,
    types,
    body: FORMS[body],
    deliveryOrder: ORDERS[order],
    deliveriesPerSecond: sent.deliveries_per_second ?? 10,
    receiverAccess: access && receiverAccess(access),
    receiverSecret: access?.secret,
  };
}

const FORMS = { THIN: "thin", FULL: "full" } as const;
const ORDERS = { PER_OBJECT: "per_object", STRICT: "strict", ANY: "any" } as const;

type SentAccess = NonNullable<SentWebhook["receiver_access"]>;

const NEEDED = { API_KEY: ["header"], OAUTH: ["token_url", "client_id"] } as const;
const OF_OTHERS = { API_KEY: ["token_url", "client_id", "scope"], OAUTH: ["header"] } as const;

function receiverAccess(access: SentAccess): ReceiverAccess {
  const { type, header = "", token_url: tokenUrl = "", client_id: clientId = "", scope } = access;
  const missing = NEEDED[type].filter((name) => access[name] === undefined);
  const others = OF_OTHERS[type].filter((name) => access[name] !== undefined);
  const failing: FailingField[] = [
    ...missing.map((name) => ({ field: `receiver_access.${name}`, rule: `is required of ${type}` })),
    ...others.map((name) => ({ field: `receiver_access.${name}`, rule: `does not belong to ${type}` })),
  ];
  if (failing.length > 0) throw invalid(failing);
  return type === "API_KEY" ? { kind: "api_key", header } : { kind: "oauth", tokenUrl, clientId, scope };
}

export function webhookBody(webhook: Webhook, backlog?: Backlog): Static<typeof WebhookBody> {
  const { receiverAccess: access, disabledReason, disabledAt } = webhook;
  return present<Static<typeof WebhookBody>>({
    id: webhook.id,
    name: webhook.name,
    url: webhook.url,
    types: [...webhook.types],
    body: upper(webhook.body),
    delivery_order: upper(webhook.deliveryOrder),
    deliveries_per_second: webhook.deliveriesPerSecond,
    receiver_access: access && accessBody(access),
    status: webhook.status,
    disabled_reason: disabledReason && upper(disabledReason),
    disabled_at: disabledAt && formatInstant(disabledAt),
    public_keys: [...webhook.publicKeys],
    created_at: formatInstant(webhook.createdAt),
    updated_at: formatInstant(webhook.updatedAt),
    backlog: backlog && backlogBody(backlog),
  } satisfies Every<Static<typeof WebhookBody>>);
}

function backlogBody({ events, since, nextAttemptAt }: Backlog): Static<typeof BacklogBody> {
  return present<Static<typeof BacklogBody>>({
    events,
    since: since && formatInstant(since),
    next_attempt_at: nextAttemptAt && formatInstant(nextAttemptAt),
  });
}

function accessBody(access: ReceiverAccess): Static<typeof AccessBody> {
  if (access.kind === "api_key") return { type: "API_KEY", header: access.header };
  const { tokenUrl, clientId, scope } = access;
  return { type: "OAUTH", token_url: tokenUrl, client_id: clientId, ...(scope !== undefined && { scope }) };
}

const upper = <Word extends string>(word: Word): Uppercase<Word> => word.toUpperCase() as Uppercase<Word>;

export const shownWebhookBody = ({ webhook, signingSecret }: ShownWebhook): Static<typeof ShownWebhookBody> => ({
  ...webhookBody(webhook),
  signing_secret: signingSecret,
});
