import { afterEach, expect, test, vi } from "vitest";
import { receiver, SANDBOX, useReceivers } from "../../test/support/http/outgoing.ts";
import type { DeliverableWebhook, ReceiverAccess } from "../customers/webhooks/webhook.ts";
import { done, reject } from "../std/result.ts";
import { OutgoingRequests } from "../web/outgoing-requests/outgoing-requests.ts";
import { ReceiverCredentials } from "./receiver-access.ts";

useReceivers();

afterEach(() => {
  vi.restoreAllMocks();
});

const ID = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00";

const webhook = (receiverAccess: ReceiverAccess | undefined, version = 1n, id = ID): DeliverableWebhook =>
  ({
    id,
    version,
    receiverAccess,
    receiverSecret: "s:e cret",
  }) as DeliverableWebhook;

interface TokenAnswer {
  readonly status?: number;
  readonly body: string;
}

/** An authorization server of a receiver, which gives these answers, the last one again and again. */
async function tokenEndpoint(...answers: TokenAnswer[]) {
  const { port, received } = await receiver((_request, response) => {
    const { status = 200, body } = answers[Math.min(received.length, answers.length) - 1] as TokenAnswer;
    response.writeHead(status, { "content-type": "application/json" }).end(body);
  });
  const tokenUrl = `http://127.0.0.1:${port}/token`;
  return { received, access: { kind: "oauth", tokenUrl, clientId: "my client", scope: undefined } as const };
}

const issued = (token: string, more: object = { token_type: "Bearer", expires_in: 3600 }): TokenAnswer => ({
  body: JSON.stringify({ access_token: token, ...more }),
});

/** What JSON can hold, and `String` and `Number` throw at. */
const NO_TEXT = { toString: 1, valueOf: 1 };

const credentials = (policy = SANDBOX) => new ReceiverCredentials(new OutgoingRequests(policy));
const bearer = (token: string) => done({ authorization: `Bearer ${token}` });

test("a webhook without an agreement has no further headers", async () => {
  expect(await credentials().headersFor(webhook(undefined), undefined)).toEqual(done({}));
  expect(credentials().onRefused(webhook(undefined))).toBe(false);
});

test("an API key is in its header", async () => {
  const keyed = webhook({ kind: "api_key", header: "X-API-Key" });
  expect(await credentials().headersFor(keyed, undefined)).toEqual(done({ "x-api-key": "s:e cret" }));
  expect(credentials().onRefused(keyed)).toBe(false);
});

test("a token is asked for with the credentials in header and form, and used again", async () => {
  const { received, access } = await tokenEndpoint(issued("first"));
  const own = credentials();
  const asked = webhook({ ...access, scope: "a b" });
  expect(await own.headersFor(asked, undefined)).toEqual(bearer("first"));
  expect(await own.headersFor(asked, undefined)).toEqual(bearer("first"));
  expect(received).toHaveLength(1);
  expect(received[0]?.head.headers.authorization).toBe(
    `Basic ${Buffer.from("my+client:s%3Ae+cret").toString("base64")}`,
  );
  expect(Object.fromEntries(new URLSearchParams(received[0]?.body))).toEqual({
    grant_type: "client_credentials",
    client_id: "my client",
    client_secret: "s:e cret",
    scope: "a b",
  });
});

test("a token is asked for in a form, as JSON, and with as much of an answer as is read", async () => {
  const asked: unknown[] = [];
  const own = new ReceiverCredentials({
    post: async (request) => {
      asked.push(request);
      return { kind: "answered", status: 200, retryAfter: undefined, answer: Buffer.from(issued("x").body), ms: 1 };
    },
  });
  const access = { kind: "oauth", tokenUrl: "https://auth.example/token", clientId: "acme", scope: undefined } as const;
  expect(await own.headersFor(webhook(access), undefined)).toEqual(bearer("x"));
  expect(asked).toEqual([
    {
      url: "https://auth.example/token",
      headers: {
        authorization: `Basic ${Buffer.from("acme:s%3Ae+cret").toString("base64")}`,
        accept: "application/json",
        "content-type": "application/x-www-form-urlencoded",
      },
      body: "grant_type=client_credentials&client_id=acme&client_secret=s%3Ae+cret",
      answerBytes: 16_384,
      signal: expect.any(AbortSignal),
    },
  ]);
});

test("each webhook has a token of its own, though both are of one version and ask one server", async () => {
  const { received, access } = await tokenEndpoint(issued("1"), issued("2"));
  const own = credentials();
  const other = webhook(access, 1n, "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f02");
  expect(await own.headersFor(webhook(access), undefined)).toEqual(bearer("1"));
  expect(await own.headersFor(other, undefined)).toEqual(bearer("2"));
  expect(await own.headersFor(webhook(access), undefined)).toEqual(bearer("1"));
  expect(received).toHaveLength(2);
});

test("a token is of the credentials that it was issued for, also when a failover gives the webhook a version again", async () => {
  const { received, access } = await tokenEndpoint(issued("0"), issued("1"), issued("2"), issued("3"), issued("4"));
  const own = credentials();
  const settings = [
    webhook(access),
    webhook({ ...access, clientId: "another" }),
    webhook({ ...access, scope: "a" }),
    webhook({ ...access, tokenUrl: `${access.tokenUrl}?` }),
    { ...webhook(access), receiverSecret: "another" },
  ];
  for (const _ of [1, 2])
    for (const [i, one] of settings.entries()) expect(await own.headersFor(one, undefined)).toEqual(bearer(`${i}`));
  expect(received).toHaveLength(5);
});

test("a server that insists on one way gets the credentials in the header alone", async () => {
  for (const [status, error] of [
    [400, "invalid_request"],
    [401, "invalid_client"],
  ] as const) {
    const { received, access } = await tokenEndpoint({ status, body: JSON.stringify({ error }) }, issued("x"));
    expect(await credentials().headersFor(webhook(access), undefined)).toEqual(bearer("x"));
    expect(received[1]?.body).toBe("grant_type=client_credentials");
  }
  // Any other answer says nothing of the credentials.
  const { received, access } = await tokenEndpoint({ status: 503, body: "" }, issued("x"));
  expect(await credentials().headersFor(webhook(access), undefined)).toEqual(reject("the token endpoint answered 503"));
  expect(received).toHaveLength(1);
});

test("deliveries at the same time wait for one token", async () => {
  const { received, access } = await tokenEndpoint(issued("shared"));
  const own = credentials();
  const all = await Promise.all([1, 2, 3, 4].map(() => own.headersFor(webhook(access), undefined)));
  expect(all).toEqual([1, 2, 3, 4].map(() => bearer("shared")));
  expect(received).toHaveLength(1);
});

test("who asked for a token first may leave: the others get it, and the request ends when all have left", async () => {
  const signals: AbortSignal[] = [];
  const answers: (() => void)[] = [];
  const own = new ReceiverCredentials({
    post: ({ signal }) =>
      new Promise((resolve) => {
        signals.push(signal as AbortSignal);
        const answer = Buffer.from(issued("shared").body);
        answers.push(() => resolve({ kind: "answered", status: 200, retryAfter: undefined, answer, ms: 1 }));
        const detail = "the service stops";
        signal?.addEventListener("abort", () => resolve({ kind: "unanswered", reason: "cancelled", detail, ms: 1 }));
      }),
  });
  const access = { kind: "oauth", tokenUrl: "https://auth.example/token", clientId: "acme", scope: undefined } as const;
  const left = reject("the token endpoint: cancelled: the service stops");
  const ask = (version: bigint) => {
    const leaving = new AbortController();
    return { leaving, headers: own.headersFor(webhook(access, version), leaving.signal) };
  };
  const [first, second] = [ask(1n), ask(1n)];
  first.leaving.abort();
  expect(await first.headers).toEqual(left);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  answers[0]?.();
  expect(await second.headers).toEqual(bearer("shared"));
  const [third, fourth] = [ask(2n), ask(2n)];
  third.leaving.abort();
  fourth.leaving.abort();
  expect([await third.headers, await fourth.headers]).toEqual([left, left]);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  const fifth = ask(2n);
  answers[2]?.();
  expect(await fifth.headers).toEqual(bearer("shared"));
});

test("a token is replaced shortly before its end, and after a change of the webhook", async () => {
  const { received, access } = await tokenEndpoint(
    issued("1"),
    issued("2", { expires_in: "10" }),
    issued("3"),
    issued("4"),
  );
  const own = credentials();
  const tokenAfter = async (ms: number, version?: bigint) => {
    const now = performance.now();
    vi.spyOn(performance, "now").mockImplementation(() => now + ms);
    const headers = await own.headersFor(webhook(access, version), undefined);
    vi.restoreAllMocks();
    return headers;
  };
  expect(await tokenAfter(0)).toEqual(bearer("1"));
  expect(await tokenAfter(3_500_000)).toEqual(bearer("1"));
  expect(await tokenAfter(3_580_000)).toEqual(bearer("2"));
  expect(await tokenAfter(3_585_000)).toEqual(bearer("2"));
  expect(await tokenAfter(3_589_000)).toEqual(bearer("3"));
  expect(await tokenAfter(3_589_000, 2n)).toEqual(bearer("4"));
  expect(received).toHaveLength(4);
});

test.each([
  ["that lasts for years for a day", { expires_in: 1e9 }, 86_400 - 30],
  ["whose time is not said for five minutes", {}, 300 - 30],
])("a token %s is used, apart from its last half minute", async (_, more, seconds) => {
  const { access } = await tokenEndpoint(issued("1", more), issued("2", more));
  const own = credentials();
  const now = performance.now();
  const time = vi.spyOn(performance, "now").mockReturnValue(now);
  expect(await own.headersFor(webhook(access), undefined)).toEqual(bearer("1"));
  time.mockReturnValue(now + seconds * 1_000 - 1);
  expect(await own.headersFor(webhook(access), undefined)).toEqual(bearer("1"));
  time.mockReturnValue(now + seconds * 1_000);
  expect(await own.headersFor(webhook(access), undefined)).toEqual(bearer("2"));
});

test("a token of 8,192 characters is used", async () => {
  const { access } = await tokenEndpoint(issued("x".repeat(8_192)));
  expect(await credentials().headersFor(webhook(access), undefined)).toEqual(bearer("x".repeat(8_192)));
});

test("a token whose time is no number is used as long as one that has none", async () => {
  const { received, access } = await tokenEndpoint(issued("1", { expires_in: NO_TEXT }));
  const own = credentials();
  expect(await own.headersFor(webhook(access), undefined)).toEqual(bearer("1"));
  expect(await own.headersFor(webhook(access), undefined)).toEqual(bearer("1"));
  expect(received).toHaveLength(1);
});

test("a token that is not accepted any more is replaced, one that is new is not", async () => {
  const { received, access } = await tokenEndpoint(issued("1"), issued("2"));
  const own = credentials();
  expect(await own.headersFor(webhook(access), undefined)).toEqual(bearer("1"));
  expect(own.onRefused(webhook(access))).toBe(true);
  expect(await own.headersFor(webhook(access), undefined)).toEqual(bearer("1"));
  const now = performance.now();
  vi.spyOn(performance, "now").mockImplementation(() => now + 6_000);
  expect(own.onRefused(webhook(access))).toBe(true);
  expect(await own.headersFor(webhook(access), undefined)).toEqual(bearer("2"));
  expect(received).toHaveLength(2);
});

test.each<[string, TokenAnswer, string]>([
  ["rejects", { status: 401, body: '{"error":"invalid_client"}' }, "the token endpoint answered 401, invalid_client"],
  ["fails", { status: 500, body: "<html>" }, "the token endpoint answered 500"],
  ["says what is no code", { status: 403, body: '{"error":"<script>"}' }, "the token endpoint answered 403"],
  ["answers no JSON", { body: "token" }, "the token endpoint answered without a usable access_token"],
  ["answers null", { body: "null" }, "the token endpoint answered without a usable access_token"],
  ["answers without a token", { body: "{}" }, "the token endpoint answered without a usable access_token"],
  ["issues a number", { body: '{"access_token":1}' }, "the token endpoint answered without a usable access_token"],
  ["issues a line break", issued("a\r\nX-Admin: 1"), "the token endpoint answered without a usable access_token"],
  ["issues a long token", issued("x".repeat(8_193)), "the token endpoint answered without a usable access_token"],
  [
    "answers without end",
    { body: `{"a":"${"x".repeat(20_000)}` },
    "the token endpoint answered without a usable access_token",
  ],
  ["issues another kind", issued("x", { token_type: "DPoP" }), "the token endpoint issued a token of another type"],
  [
    "names a kind that has no text",
    issued("x", { token_type: NO_TEXT }),
    "the token endpoint issued a token of another type",
  ],
])("when the token endpoint %s there is no delivery, and the next one asks again", async (_what, answer, why) => {
  const { received, access } = await tokenEndpoint(answer);
  const own = credentials();
  expect(await own.headersFor(webhook(access), undefined)).toEqual(reject(why));
  const asked = received.length;
  expect(await own.headersFor(webhook(access), undefined)).toEqual(reject(why));
  expect(received).toHaveLength(2 * asked);
});

test("the token endpoint is under the same rules as the receiver", async () => {
  const { received, access } = await tokenEndpoint(issued("x"));
  expect(await credentials({ ...SANDBOX, allowLoopback: false }).headersFor(webhook(access), undefined)).toEqual(
    reject("the token endpoint: url_not_allowed: the address of the URL is not allowed"),
  );
  expect(received).toEqual([]);
});
