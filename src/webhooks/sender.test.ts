/** What the answer of a receiver means (docs/contract/webhooks.md#what-is-posted, docs/webhooks.md). */
import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import type { DeliverableWebhook, WebhookId } from "../customers/webhooks/webhook.ts";
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";
import { done, reject } from "../std/result.ts";
import { attemptOf } from "./attempt.ts";
import { messageOf, outcomeOf } from "./sender.ts";
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
  return [tokens, await sender.send(webhook, { id: "1", body: "{}" }, {})];
}

test("what is answered 401 is posted once more at once, with another token if there may be one", async () => {
  expect(await sent(true)).toMatchObject([["Bearer 1", "Bearer 2"], { status: 204 }]);
  expect(await sent(false)).toMatchObject([["Bearer 1"], { status: 401 }]);
});

test("what is no longer wanted once there are credentials is not posted, nor once more after a 401", async () => {
  for (const [answers, outcome] of [
    [[false], "not posted"],
    [[true, false], { kind: "answered", status: 401 }],
  ] as const) {
    const posted: string[] = [];
    const asked: boolean[] = [];
    const sender = createSender({
      requests: {
        post: async ({ url }) => {
          posted.push(url);
          return { kind: "answered", status: 401, retryAfter: undefined, answer: Buffer.alloc(0), ms: 1 };
        },
      },
      credentials: { headersFor: async () => done({}), onRefused: () => true },
      clock: { now: () => NOW },
    });
    const signingSecrets = [{ kind: "v1", secret: Buffer.alloc(32) }];
    const webhook = { url: "https://former.example", signingSecrets } as unknown as DeliverableWebhook;
    const mayPost = () => {
      const answer = answers[asked.length] ?? expect.fail("it was not wanted");
      asked.push(answer);
      return answer;
    };
    const answer = await sender.send(webhook, { id: "1", body: "{}" }, { mayPost });
    expect(
      answer === "not posted" ? answer : { kind: answer.kind, ...("status" in answer && { status: answer.status }) },
    ).toEqual(outcome);
    expect([posted.length, asked]).toEqual([answers.filter((may) => may).length, answers]);
  }
});

test("without credentials nothing is posted, and the attempt says why", async () => {
  const sender = createSender({
    requests: { post: () => expect.fail("it was posted") },
    credentials: { headersFor: async () => reject("the token endpoint answered 500"), onRefused: () => true },
    clock: { now: () => NOW },
  });
  expect(await sender.send({} as DeliverableWebhook, { id: "1", body: "{}" }, {})).toEqual({
    kind: "unanswered",
    error: "the token endpoint answered 500",
    ms: 0,
  });
});

test("a message is posted with its id, the second of its attempt, a signature and what lets it in, until it is unwanted", async () => {
  const posted: unknown[] = [];
  const late = (Date.parse("2026-11-21T09:30:00Z") + 999) as Instant;
  const { signal } = new AbortController();
  const sender = createSender({
    requests: {
      post: async (request) => {
        posted.push(request);
        return { kind: "answered", status: 503, retryAfter: "120", answer: Buffer.from("later"), ms: 7 };
      },
    },
    credentials: { headersFor: async () => done({ "x-api-key": "sesame" }), onRefused: () => true },
    clock: { now: () => late },
  });
  const secret = Buffer.alloc(32, 7);
  const webhook = { url: "https://acme.example/hook", signingSecrets: [{ kind: "v1", secret }] };
  const message = { id: "evt", body: '{"a":1}' };
  expect(await sender.send(webhook as unknown as DeliverableWebhook, message, { signal })).toEqual({
    ...{ kind: "answered", status: 503, retryAfter: "120", body: Buffer.from("later"), ms: 7 },
  });
  const timestamp = String(NOW / 1_000);
  const signed = createHmac("sha256", secret).update(`evt.${timestamp}.{"a":1}`).digest("base64");
  expect(posted).toEqual([
    {
      url: "https://acme.example/hook",
      headers: {
        "x-api-key": "sesame",
        "content-type": "application/json",
        "user-agent": expect.stringMatching(/^Parbook\/\d+\.\d+\.\d+/),
        "webhook-id": "evt",
        "webhook-timestamp": timestamp,
        "webhook-signature": `v1,${signed}`,
      },
      body: '{"a":1}',
      signal,
    },
  ]);
});

test("a batch has another id than one with other events, though it begins with the same one and is as long", () => {
  const message = (deliveryOrder: string, ...ids: string[]) =>
    messageOf(
      { deliveryOrder } as DeliverableWebhook,
      ids.map((id) => ({ id, body: `"${id}"` })),
    );
  expect(message("per_object", "a")).toEqual({ id: "a", body: '"a"' });
  const [batch, same, other] = [
    ["a", "b"],
    ["a", "b"],
    ["a", "c"],
  ].map((ids) => message("strict", ...ids));
  expect(batch).toEqual({
    id: expect.stringMatching(/^a_2_[0-9a-f]{16}$/),
    body: '{"object":"list","data":["a","b"]}',
  });
  expect(same).toEqual(batch);
  expect(other?.id).not.toBe(batch?.id);
});
