/** What the answer of a receiver means (docs/contract/webhooks.md#what-is-posted, docs/webhooks.md). */
import { expect, test } from "vitest";
import type { DeliverableWebhook, WebhookId } from "../customers/webhooks/webhook.ts";
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";
import { done, reject } from "../std/result.ts";
import { attemptOf } from "./attempt.ts";
import { outcomeOf } from "./sender.ts";
import { createSender } from "./signed-sender.ts";

const NOW = Date.parse("2026-11-21T09:30:00Z") as Instant;
const answered = (status: number, retryAfter?: string) =>
  ({ kind: "answered", status, retryAfter, body: Buffer.alloc(0), ms: 40.4 }) as const;
const failed = (error: string, retryAfterMs?: number) => ({ kind: "failed", error, retryAfterMs });

test.each([
  [200, undefined, { kind: "accepted" }],
  [299, "60", { kind: "accepted" }],
  [302, undefined, failed("answered 302")],
  [410, "60", { kind: "gone", error: "answered 410" }],
  [429, "120", failed("answered 429", 120_000)],
  [503, "120", failed("answered 503", 120_000)],
  // Of these two alone (docs/webhooks.md).
  [500, "120", failed("answered 500")],
  // RFC 9110, section 10.2.3: a date, in one of its three forms.
  [503, "Sat, 21 Nov 2026 09:32:00 GMT", failed("answered 503", 120_000)],
  [503, "Sat, 21 Nov 2026 09:29:00 GMT", failed("answered 503", 0)],
  [503, "soon", failed("answered 503")],
])("the status %d with Retry-After %s", (status, retryAfter, outcome) => {
  expect(outcomeOf(answered(status, retryAfter), NOW)).toEqual(outcome);
});

test("without an answer an attempt has failed, with the reason cut to what is stored", () => {
  const error = "x".repeat(600);
  expect(outcomeOf({ kind: "unanswered", error, ms: 15_000 }, NOW)).toEqual(failed("x".repeat(500)));
});

test("an attempt was made when its request began", () => {
  const what = { webhookId: "w" as WebhookId, id: "a" as Uuid, messageId: "m", number: 7n, events: 1 };
  expect(attemptOf(what, answered(204), { kind: "accepted" }, NOW)).toEqual({
    ...what,
    at: NOW - 40,
    ms: 40,
    status: 204,
    error: undefined,
    answer: undefined,
  });
});

/** Sends to a receiver that accepts the second token only. @returns the tokens that it got, and what the sender answered */
async function sent(hasAnother: boolean): Promise<unknown[]> {
  const tokens: unknown[] = [];
  const sender = createSender({
    requests: {
      post: async ({ headers }) => {
        tokens.push(headers.authorization);
        const status = headers.authorization === "Bearer 2" ? 204 : 401;
        return { kind: "answered", status, retryAfter: undefined, answer: Buffer.alloc(0), ms: 1 };
      },
    },
    credentials: {
      headersFor: async () => done({ authorization: `Bearer ${tokens.length + 1}` }),
      onRefused: () => hasAnother,
    },
    clock: { now: () => NOW },
  });
  const webhook = { signingSecrets: [{ kind: "v1", secret: Buffer.alloc(32) }] } as unknown as DeliverableWebhook;
  return [tokens, await sender.send(webhook, { id: "1", body: "{}" })];
}

test("what is answered 401 is posted once more at once, with another token if there may be one", async () => {
  expect(await sent(true)).toMatchObject([["Bearer 1", "Bearer 2"], { status: 204 }]);
  expect(await sent(false)).toMatchObject([["Bearer 1"], { status: 401 }]);
});

test("without credentials nothing is posted, and the attempt says why", async () => {
  const sender = createSender({
    requests: { post: () => expect.fail("it was posted") },
    credentials: { headersFor: async () => reject("the token endpoint answered 500"), onRefused: () => true },
    clock: { now: () => NOW },
  });
  expect(await sender.send({} as DeliverableWebhook, { id: "1", body: "{}" })).toEqual({
    kind: "unanswered",
    error: "the token endpoint answered 500",
    ms: 0,
  });
});
