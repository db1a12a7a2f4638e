/** How secrets of webhooks are stored when the encryption key changes. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestDatabase, testDatabase } from "../../../test/support/database.ts";
import { unwrap } from "../../../test/support/results.ts";
import type { Database } from "../../postgres/database.ts";
import { systemClock } from "../../std/clock.ts";
import { IdSource } from "../../std/id.ts";
import type { CustomerId } from "../customer-id.ts";
import { WebhookSecrets } from "./secrets.ts";
import type { Webhook } from "./webhook.ts";
import { type WebhookRequest, Webhooks } from "./webhooks.ts";

const ids = new IdSource();
const [FORMER, NEXT] = [new Uint8Array(32).fill(7), new Uint8Array(32).fill(9)];
const customerId = ids.next() as CustomerId;
let testing: TestDatabase;

beforeAll(async () => {
  testing = await testDatabase();
  await testing.owner.rows("insert into customer (id, name, created_at) values ($1, 'Acme', now())", [customerId]);
});
afterAll(() => testing.close());

const webhooksWith = (...encryptionKeys: readonly Uint8Array[]): Webhooks =>
  webhooksOn(testing.database, encryptionKeys);

const webhooksOn = (database: Database, encryptionKeys: readonly Uint8Array[] = []): Webhooks =>
  new Webhooks({
    database,
    clock: systemClock,
    ids,
    encryptionKeys,
    rules: { judgeUrl: () => undefined, eventTypes: ["order.filled"] },
  });

/** With three secrets. */
async function created(name: string, ...encryptionKeys: readonly Uint8Array[]): Promise<Webhook> {
  const request: WebhookRequest = {
    name,
    url: "https://acme.example/",
    types: ["*"],
    body: "thin",
    deliveryOrder: "any",
    deliveriesPerSecond: 10,
    receiverAccess: { kind: "api_key", header: "X-Api-Key" },
    receiverSecret: "open sesame",
  };
  const caller = { operator: "olga", operation: "webhook create" };
  const made = await webhooksWith(...encryptionKeys).create(customerId, request, async () => undefined, caller);
  return unwrap(made).webhook;
}

test("with another encryption key they are encrypted anew, and without one they stay as they are", async () => {
  const made = [await created("in clear"), await created("encrypted", FORMER)];
  const before = await Promise.all(
    made.map(({ id }, place) => webhooksWith(...(place === 0 ? [] : [FORMER])).findDeliverable(customerId, id)),
  );
  expect(await webhooksWith().encryptSecretsAnew()).toEqual({ encrypted: 0, unreadable: 0 });
  expect(await webhooksWith(NEXT).encryptSecretsAnew()).toEqual({ encrypted: 3, unreadable: 3 });
  expect(await webhooksWith(NEXT, FORMER).encryptSecretsAnew()).toEqual({ encrypted: 3, unreadable: 0 });
  expect(await webhooksWith(NEXT, FORMER).encryptSecretsAnew()).toEqual({ encrypted: 0, unreadable: 0 });
  const after = await Promise.all(made.map(({ id }) => webhooksWith(NEXT).findDeliverable(customerId, id)));
  expect(after).toEqual(before);
  expect(after.map((webhook) => webhook?.receiverSecret)).toEqual(["open sesame", "open sesame"]);
  for (const { id } of made)
    await expect(webhooksWith(FORMER).findDeliverable(customerId, id)).rejects.toThrow("is not the key that");
});

test("a webhook that was deleted since it was read has none, and is left out", async () => {
  const [kept, deleted] = [await created("kept"), await created("deleted")];
  const remove = async ({ id }: Webhook) =>
    unwrap(await webhooksWith().delete(customerId, id, { operator: "olga", operation: "webhook delete" }));
  await remove(deleted);
  const secrets = new WebhookSecrets({ database: testing.database, clock: systemClock, ids, encryptionKeys: [] });
  const { opened, unreadable } = await secrets.open([deleted, kept]);
  expect([opened.map(({ id }) => id), unreadable]).toEqual([[kept.id], []]);
  await remove(kept);
});

test("a webhook that was changed since it was read is left out: its secret is not for the receiver that it had", async () => {
  const former = await created("moved");
  const settings = { ...former, url: "https://other.example/", receiverAccess: former.receiverAccess };
  const caller = { operator: "olga", operation: "webhook set" };
  unwrap(
    await webhooksWith().update(customerId, former.id, { ...settings, receiverSecret: "for the other one" }, caller),
  );
  const secrets = new WebhookSecrets({ database: testing.database, clock: systemClock, ids, encryptionKeys: [] });
  expect(await secrets.open([former])).toEqual({ opened: [], unreadable: [] });
  // A change between the two reads.
  const reads: string[] = [];
  const changing = async (text: string) => {
    reads.push(text);
    if (text.includes("from webhook_secret") && reads.length === 2)
      unwrap(await webhooksWith().update(customerId, former.id, { ...settings, receiverSecret: "newest" }, caller));
  };
  const rows = async (text: string, values: readonly unknown[]) => {
    await changing(text);
    return testing.database.rows(text, values);
  };
  const found = await webhooksOn({ rows } as never).findDeliverable(customerId, former.id);
  expect([found?.url, found?.receiverSecret, reads.length]).toEqual(["https://other.example/", "newest", 4]);
  unwrap(await webhooksWith().delete(customerId, former.id, caller));
});

test("more than a page of them is encrypted anew", async () => {
  for (let i = 0; i < 8; i += 1) {
    const { id } = await created(`webhook ${i}`, FORMER);
    // One row for each of fifteen times.
    await testing.owner.rows(
      `insert into webhook_secret (id, webhook_id, kind, secret, created_at)
       select gen_random_uuid(), webhook_id, 'api_key', '"in clear"', now()
         from webhook_secret cross join generate_series(1, 15) where webhook_id = $1 and kind = 'v1'`,
      [id],
    );
  }
  expect(await webhooksWith(NEXT, FORMER).encryptSecretsAnew()).toEqual({ encrypted: 8 * 18, unreadable: 0 });
  expect(await webhooksWith(NEXT).encryptSecretsAnew()).toEqual({ encrypted: 0, unreadable: 0 });
});
