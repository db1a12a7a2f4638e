import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type TestDatabase, testDatabase } from "../../../test/support/database.ts";
import { unwrap } from "../../../test/support/results.ts";
import { ClockFault, formatInstant, type Instant } from "../../std/clock.ts";
import { IdSource } from "../../std/id.ts";
import { done, reject } from "../../std/result.ts";
import type { CustomerId } from "../customer-id.ts";
import type { Webhook, WebhookId } from "./webhook.ts";
import { type WebhookRequest, Webhooks } from "./webhooks.ts";

const DAY = 86_400_000;
const ids = new IdSource();
const ENCRYPTION_KEY = new Uint8Array(32).fill(7);
const ACME = { client: "acme", token: "t", address: "192.0.2.1", operation: "a request" };
const OPERATOR = { operator: "olga", operation: "webhook disable" };
const nowhere = async (): Promise<void> => {};
let customerId: CustomerId;
let now = Date.parse("2126-11-21T09:30:00.000Z") as Instant;
/** Why the clock is known to be wrong. */
let fault: string | undefined;
let testing: TestDatabase;
let webhooks: Webhooks;

beforeAll(async () => {
  testing = await testDatabase();
  webhooks = webhooksWith([]);
});

afterAll(() => testing.close());

beforeEach(async () => {
  customerId = ids.next() as CustomerId;
  await testing.owner.rows("insert into customer (id, name, created_at) values ($1, $2, now())", [
    customerId,
    customerId,
  ]);
});

function webhooksWith(encryptionKeys: readonly Uint8Array[]): Webhooks {
  return new Webhooks({
    database: testing.database,
    clock: {
      now: () => now,
      get fault() {
        return fault;
      },
    },
    ids,
    encryptionKeys,
    rules: {
      judgeUrl: (url) => (url.startsWith("https://") ? undefined : "the URL has no TLS"),
      eventTypes: ["order.filled", "order.open", "transfer.wire_deposit.completed"],
    },
  });
}

const REQUEST: WebhookRequest = {
  name: "books",
  url: "https://acme.example/events",
  types: ["order.filled", "transfer.*"],
  body: "thin",
  deliveryOrder: "per_object",
  deliveriesPerSecond: 10,
  receiverAccess: undefined,
  receiverSecret: undefined,
};

const WITH_KEY: WebhookRequest = {
  ...REQUEST,
  receiverAccess: { kind: "api_key", header: "X-Api-Key" },
  receiverSecret: "open sesame",
};

async function created(request: Partial<WebhookRequest> = {}): Promise<Webhook> {
  return unwrap(await webhooks.create(customerId, { ...REQUEST, ...request }, nowhere, ACME)).webhook;
}

async function deliverable(id: WebhookId, from = webhooks) {
  return (await from.listActive(new Map())).changed.find((webhook) => webhook.id === id);
}

test("a webhook is what was asked for, and its secret is shown once", async () => {
  const { webhook, signingSecret } = unwrap(await webhooks.create(customerId, REQUEST, nowhere, ACME));
  const { receiverSecret: _, ...settings } = REQUEST;
  expect(webhook).toEqual({
    ...settings,
    id: webhook.id,
    customerId,
    status: "ACTIVE",
    disabledReason: undefined,
    disabledAt: undefined,
    publicKeys: [expect.stringMatching(/^whpk_[A-Za-z0-9+/]{43}=$/)],
    createdAt: now,
    updatedAt: now,
    version: 1n,
  });
  expect(signingSecret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(await webhooks.find(customerId, webhook.id)).toEqual(webhook);
  expect(await webhooks.list({ customerId, order: "ASC", limit: 10 })).toEqual([webhook]);
  expect(await webhooks.findPublicKeys(webhook.id)).toEqual(webhook.publicKeys);
});

test("what happens alongside is done with it, or not at all", async () => {
  const failing = webhooks.create(
    customerId,
    REQUEST,
    async (transaction) => {
      await transaction.rows("select 1 / 0");
    },
    ACME,
  );
  await expect(failing).rejects.toThrow("division by zero");
  expect(await webhooks.list({ customerId, order: "ASC", limit: 10 })).toEqual([]);
});

test("what delivers gets its secrets in clear, which are stored encrypted", async () => {
  const encrypted = webhooksWith([ENCRYPTION_KEY]);
  const { webhook, signingSecret } = unwrap(await encrypted.create(customerId, WITH_KEY, nowhere, ACME));
  expect(await deliverable(webhook.id, encrypted)).toEqual({
    ...webhook,
    signingSecrets: expect.arrayContaining([
      { kind: "v1", secret: Buffer.from(signingSecret.slice("whsec_".length), "base64") },
      { kind: "v1a", privateKey: expect.anything() },
    ]),
    receiverSecret: "open sesame",
  });
  const stored = await testing.owner.rows<{ kind: string; secret: object }>(
    "select kind, secret from webhook_secret where webhook_id = $1 order by kind",
    [webhook.id],
  );
  const jwe = { protected: expect.any(String), iv: expect.any(String), ciphertext: expect.any(String) };
  const sealed = { ...jwe, tag: expect.any(String) };
  expect(stored).toEqual(["api_key", "v1", "v1a"].map((kind) => ({ kind, secret: sealed })));
  await expect(webhooks.findDeliverable(customerId, webhook.id)).rejects.toThrow(
    /^the secret of a webhook [0-9a-f-]{36} is encrypted, and PARBOOK_KEY_ENCRYPTION_KEY is not set$/,
  );
  unwrap(await encrypted.delete(customerId, webhook.id, ACME));
});

test("one secret cannot be put in the place of another", async () => {
  const encrypted = webhooksWith([ENCRYPTION_KEY]);
  const { webhook } = unwrap(await encrypted.create(customerId, WITH_KEY, nowhere, ACME));
  await testing.owner.rows(
    `update webhook_secret set secret = (select secret from webhook_secret where webhook_id = $1 and kind = 'v1')
      where webhook_id = $1 and kind = 'api_key'`,
    [webhook.id],
  );
  await expect(encrypted.findDeliverable(customerId, webhook.id)).rejects.toThrow("is not the key that");
  unwrap(await encrypted.delete(customerId, webhook.id, ACME));
});

test("those that deliver get the others, if the secrets of one cannot be decrypted", async () => {
  const lost = webhooksWith([new Uint8Array(32).fill(3)]);
  const key = webhooksWith([ENCRYPTION_KEY]);
  const { webhook } = unwrap(await lost.create(customerId, REQUEST, nowhere, ACME));
  const other = unwrap(await key.create(customerId, { ...REQUEST, name: "other" }, nowhere, ACME)).webhook;
  const { changed, unreadable } = await key.listActive(new Map());
  expect(changed.map(({ id }) => id)).toContain(other.id);
  expect(unreadable.map(({ webhook: { id } }) => id)).toContain(webhook.id);
  expect((await key.listActive(new Map([[webhook.id, webhook.version]]))).unreadable).toEqual([]);
  for (const { id } of [webhook, other]) unwrap(await webhooks.delete(customerId, id, ACME));
});

test("a name is given once, and free again once its webhook is deleted", async () => {
  const first = await created();
  const second = await created({ name: "other" });
  const taken = reject({ code: "webhook_name_taken", holder: first.id });
  expect(await webhooks.create(customerId, REQUEST, nowhere, ACME)).toEqual(taken);
  expect(await webhooks.update(customerId, second.id, REQUEST, ACME)).toEqual(taken);
  expect(await webhooks.delete(customerId, first.id, ACME)).toEqual(done(first));
  expect(await webhooks.update(customerId, second.id, REQUEST, ACME)).toMatchObject({ value: { name: "books" } });
});

test("a customer has at most 10 active webhooks, also when it asks for many at once", async () => {
  const asked = Array.from({ length: 14 }, async (_, i) => created({ name: `webhook ${i}` }));
  const outcomes = await Promise.allSettled(asked);
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(10);
  const full = reject({ code: "too_many_webhooks", limit: 10, of: "active" });
  expect(await webhooks.create(customerId, { ...REQUEST, name: "one more" }, nowhere, ACME)).toEqual(full);
  const [one] = await webhooks.list({ customerId, order: "ASC", limit: 1 });
  const id = one?.id as WebhookId;
  unwrap(await webhooks.disableBy(ACME, customerId, id));
  unwrap(await webhooks.create(customerId, { ...REQUEST, name: "one more" }, nowhere, ACME));
  expect(await webhooks.enable(customerId, id, nowhere, ACME)).toEqual(full);
});

test("a customer has at most 100 webhooks", async () => {
  await testing.owner.rows(
    `insert into webhook (id, customer_id, name, url, types, body, delivery_order, deliveries_per_second,
                          disabled_reason, disabled_at, created_at, updated_at, version)
     select gen_random_uuid(), $1, 'webhook ' || n, 'https://acme.example', '{*}', 'thin', 'any', 1,
            'customer', now(), now(), now(), 1 from generate_series(1, 100) n`,
    [customerId],
  );
  expect(await webhooks.create(customerId, REQUEST, nowhere, ACME)).toEqual(
    reject({ code: "too_many_webhooks", limit: 100, of: "all" }),
  );
  await testing.owner.rows("update webhook set deleted_at = now() where customer_id = $1 and name = 'webhook 1'", [
    customerId,
  ]);
  expect((await created()).status).toBe("ACTIVE");
});

test("nobody finds, changes or deletes the webhook of another customer, or one that is deleted", async () => {
  const { id } = await created();
  const other = ids.next() as CustomerId;
  const notFound = reject({ code: "webhook_not_found", webhookId: id });
  const findsNone = async (customer: CustomerId): Promise<void> => {
    expect(await webhooks.find(customer, id)).toBeUndefined();
    expect(await webhooks.findDeliverable(customer, id)).toBeUndefined();
    expect(await webhooks.list({ customerId: customer, order: "ASC", limit: 10 })).toEqual([]);
    expect(await webhooks.update(customer, id, REQUEST, ACME)).toEqual(notFound);
    expect(await webhooks.delete(customer, id, ACME)).toEqual(notFound);
    expect(await webhooks.rotateSecret(customer, id, 0, ACME)).toEqual(notFound);
    expect(await webhooks.enable(customer, id, nowhere, ACME)).toEqual(notFound);
    expect(await webhooks.disableBy(ACME, customer, id)).toEqual(notFound);
  };
  await findsNone(other);
  unwrap(await webhooks.delete(customerId, id, ACME));
  await findsNone(customerId);
  expect(await webhooks.findPublicKeys(id)).toBeUndefined();
  expect(await testing.owner.rows("select from webhook_secret where webhook_id = $1", [id])).toEqual([]);
});

test("former secrets sign until the overlap ends, or the end that they had, and at most four of a kind do", async () => {
  const { webhook, signingSecret } = unwrap(await webhooks.create(customerId, REQUEST, nowhere, ACME));
  const secrets = [signingSecret];
  const publicKeys = [...webhook.publicKeys];
  const rotate = async (overlapMs: number) => {
    const rotated = unwrap(await webhooks.rotateSecret(customerId, webhook.id, overlapMs, ACME));
    secrets.push(rotated.signingSecret);
    publicKeys.push(rotated.webhook.publicKeys[0] as string);
  };
  /** By the number of the rotation that made them. */
  const signing = (loaded: Awaited<ReturnType<typeof deliverable>>) => {
    const signs = loaded?.signingSecrets ?? [];
    expect(signs.filter(({ kind }) => kind === "v1a")).toHaveLength(signs.length / 2);
    const texts = signs.flatMap((one) => (one.kind === "v1" ? [`whsec_${one.secret.toString("base64")}`] : []));
    return texts.map((text) => secrets.indexOf(text)).toSorted();
  };
  expect(signing(await deliverable(webhook.id))).toEqual([0]);
  await rotate(DAY);
  // Asked for again because the answer was lost: the receiver has neither of these two.
  now = (now + 1) as Instant;
  await rotate(2 * DAY);
  const three = await deliverable(webhook.id);
  expect(signing(three)).toEqual([0, 1, 2]);
  expect(await webhooks.findPublicKeys(webhook.id)).toEqual(publicKeys.toReversed());
  now = (now + DAY - 1) as Instant;
  expect(signing(three)).toEqual([1, 2]);
  now = (now + DAY + 1) as Instant;
  expect(signing(three)).toEqual([2]);
  for (const _ of [3, 4, 5]) await rotate(DAY);
  expect(signing(await deliverable(webhook.id))).toEqual([2, 3, 4, 5]);
  await rotate(DAY);
  expect(signing(await deliverable(webhook.id))).toEqual([3, 4, 5, 6]);
  await rotate(0);
  expect(signing(await deliverable(webhook.id))).toEqual([7]);
});

test("a secret that has expired is removed, and takes no other's place", async () => {
  const { id } = await created();
  for (const _ of [1, 2]) unwrap(await webhooks.rotateSecret(customerId, id, DAY, ACME));
  // In the database's time, which is not the test's.
  await testing.owner.rows(
    "update webhook_secret set expires_at = now() - interval '1 s' where webhook_id = $1 and expires_at is not null",
    [id],
  );
  expect(await webhooks.findPublicKeys(id)).toHaveLength(1);
  unwrap(await webhooks.rotateSecret(customerId, id, DAY, ACME));
  expect(await webhooks.findPublicKeys(id)).toHaveLength(2);
  expect(await testing.owner.rows("select from webhook_secret where webhook_id = $1", [id])).toHaveLength(4);
});

test("while the clock is known to be wrong no secret is replaced: the former one would sign for too long", async () => {
  const { id, version } = await created();
  fault = "the clock of this node is off";
  try {
    await expect(webhooks.rotateSecret(customerId, id, DAY, ACME)).rejects.toThrow(new ClockFault(fault));
  } finally {
    fault = undefined;
  }
  expect(await webhooks.find(customerId, id)).toMatchObject({ version });
});

test("a secret for the receiver stays only while it goes to the same places", async () => {
  const { id } = await created(WITH_KEY);
  const kept = { ...WITH_KEY, name: "renamed", receiverSecret: undefined };
  unwrap(await webhooks.update(customerId, id, kept, ACME));
  expect(await deliverable(id)).toMatchObject({ name: "renamed", receiverSecret: "open sesame" });
  unwrap(await webhooks.rotateSecret(customerId, id, 0, ACME));
  expect(await deliverable(id)).toMatchObject({ receiverSecret: "open sesame" });
  const required = reject({ code: "invalid_webhook", field: "receiverSecret", rule: "is required" });
  expect(await webhooks.update(customerId, id, { ...kept, url: "https://thief.example" }, ACME)).toEqual(required);
  const oauth = { kind: "oauth", tokenUrl: "https://auth.example", clientId: "parbook", scope: undefined } as const;
  expect(await webhooks.update(customerId, id, { ...kept, receiverAccess: oauth }, ACME)).toEqual(required);
  unwrap(await webhooks.update(customerId, id, { ...kept, receiverAccess: oauth, receiverSecret: "hush" }, ACME));
  expect(await deliverable(id)).toMatchObject({ receiverAccess: oauth, receiverSecret: "hush" });
  const elsewhere = { ...oauth, tokenUrl: "https://thief.example" };
  expect(await webhooks.update(customerId, id, { ...kept, receiverAccess: elsewhere }, ACME)).toEqual(required);
  unwrap(await webhooks.update(customerId, id, REQUEST, ACME));
  expect((await deliverable(id))?.receiverSecret).toBeUndefined();
  expect(await testing.owner.rows("select from webhook_secret where webhook_id = $1 and kind = 'oauth'", [id])).toEqual(
    [],
  );
});

test("what has changed is listed for those who deliver, and what is disabled is not", async () => {
  const { id, version } = await created();
  const known = new Map([[id, version]]);
  expect((await webhooks.listActive(known)).changed.some((webhook) => webhook.id === id)).toBe(false);
  unwrap(await webhooks.update(customerId, id, { ...REQUEST, deliveriesPerSecond: 20 }, ACME));
  const { active, changed } = await webhooks.listActive(known);
  expect(active.has(id)).toBe(true);
  expect(changed.find((webhook) => webhook.id === id)).toMatchObject({ deliveriesPerSecond: 20, version: 2n });

  expect(await webhooks.disable(id, 1n, "gone", now)).toBe(false);
  expect(await webhooks.disable(id, 2n, "gone", now)).toBe(true);
  expect(await webhooks.disable(id, 3n, "gone", now)).toBe(false);
  expect((await webhooks.listActive(new Map())).active.has(id)).toBe(false);
  const disabled = { status: "DISABLED", disabledReason: "gone", disabledAt: now, version: 3n };
  expect(await webhooks.find(customerId, id)).toMatchObject(disabled);
  expect(await webhooks.disableBy(OPERATOR, customerId, id)).toMatchObject({ value: disabled });
  const active4 = { status: "ACTIVE", disabledReason: undefined, disabledAt: undefined, version: 4n };
  expect(await webhooks.enable(customerId, id, nowhere, ACME)).toMatchObject({ value: active4 });
  expect(await webhooks.enable(customerId, id, () => Promise.reject(new Error("twice")), ACME)).toMatchObject({
    value: active4,
  });
});

test.each([
  [ACME, "customer"],
  [OPERATOR, "operator"],
])("a webhook says who has disabled it, and since when", async (caller, disabledReason) => {
  const { id } = await created();
  const disabledAt = now;
  const disabled = { status: "DISABLED", disabledReason, disabledAt, updatedAt: disabledAt, version: 2n };
  expect(await webhooks.disableBy(caller, customerId, id)).toMatchObject({ value: disabled });
  now = (now + 1) as Instant;
  for (const again of [ACME, OPERATOR]) unwrap(await webhooks.disableBy(again, customerId, id));
  expect(await webhooks.find(customerId, id)).toMatchObject(disabled);
  const written = await testing.owner.rows("select details from configuration_write where subject = $1 order by at", [
    id,
  ]);
  expect(written.slice(1)).toEqual([{ details: { status: "DISABLED" } }]);
});

test("a webhook with a setting that is not allowed is neither made nor changed", async () => {
  const { id, version } = await created();
  const rule = "is not a whole number from 1 to 100";
  const rejected = reject({ code: "invalid_webhook", field: "deliveriesPerSecond", rule, value: 101 });
  const request = { ...REQUEST, name: "other", deliveriesPerSecond: 101 };
  expect(await webhooks.create(customerId, request, nowhere, ACME)).toEqual(rejected);
  expect(await webhooks.update(customerId, id, request, ACME)).toEqual(rejected);
  expect(await webhooks.list({ customerId, order: "ASC", limit: 10 })).toMatchObject([{ id, version }]);
});

test("who has changed a webhook is recorded, without secrets", async () => {
  const { webhook, signingSecret } = unwrap(await webhooks.create(customerId, WITH_KEY, nowhere, ACME));
  const { id } = webhook;
  unwrap(await webhooks.update(customerId, id, { ...WITH_KEY, receiverSecret: undefined }, ACME));
  unwrap(await webhooks.update(customerId, id, { ...WITH_KEY, receiverSecret: "sesame 2" }, ACME));
  const open = { ...WITH_KEY, receiverAccess: undefined, receiverSecret: undefined };
  for (let times = 0; times < 2; times += 1) unwrap(await webhooks.update(customerId, id, open, ACME));
  unwrap(await webhooks.rotateSecret(customerId, id, DAY, ACME));
  unwrap(await webhooks.disableBy(OPERATOR, customerId, id));
  unwrap(await webhooks.enable(customerId, id, nowhere, ACME));
  unwrap(await webhooks.delete(customerId, id, ACME));
  const written = await testing.owner.rows<{ caller: object; kind: string; details: Record<string, string> }>(
    "select caller, kind, details from configuration_write where subject = $1 order by at",
    [id],
  );
  const settings = {
    name: "books",
    url: "https://acme.example/events",
    types: "order.filled,transfer.*",
    body: "thin",
    delivery_order: "per_object",
    deliveries_per_second: "10",
    receiver_access: '{"kind":"api_key","header":"X-Api-Key"}',
  };
  const secretIds = expect.stringMatching(/^[0-9a-f-]{36},[0-9a-f-]{36}/);
  expect(written).toEqual([
    { caller: ACME, kind: "webhook", details: { ...settings, secret_ids: secretIds } },
    { caller: ACME, kind: "webhook", details: { ...settings, receiver_secret: "as before" } },
    { caller: ACME, kind: "webhook", details: { ...settings, receiver_secret: "another" } },
    { caller: ACME, kind: "webhook", details: { ...settings, receiver_access: "none", receiver_secret: "removed" } },
    { caller: ACME, kind: "webhook", details: { ...settings, receiver_access: "none" } },
    {
      caller: ACME,
      kind: "webhook",
      details: { secret_ids: secretIds, other_secrets_end_at: formatInstant((now + DAY) as Instant) },
    },
    { caller: OPERATOR, kind: "webhook", details: { status: "DISABLED" } },
    { caller: ACME, kind: "webhook", details: { status: "ACTIVE" } },
    { caller: ACME, kind: "webhook", details: { deleted_at: formatInstant(now) } },
  ]);
  expect(JSON.stringify(written)).not.toContain("sesame");
  expect(JSON.stringify(written)).not.toContain(signingSecret);
});
