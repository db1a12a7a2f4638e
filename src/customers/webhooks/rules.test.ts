/** What a webhook may be set to (docs/contract/webhooks.md#settings). */
import { expect, test } from "vitest";
import { PASSED, reject } from "../../std/result.ts";
import { checkWebhook } from "./rules.ts";
import type { WebhookSettings } from "./webhook.ts";

const SETTINGS: WebhookSettings = {
  name: "books",
  url: "https://acme.example/events",
  types: ["order.filled", "transfer.*"],
  body: "thin",
  deliveryOrder: "per_object",
  deliveriesPerSecond: 10,
  receiverAccess: undefined,
};
const KEY = { kind: "api_key", header: "X-Api-Key" } as const;
const OAUTH = { kind: "oauth", tokenUrl: "https://auth.example", clientId: "parbook", scope: "hooks" } as const;
const RULES = {
  judgeUrl: (url: string) => (url.startsWith("https://") ? undefined : "the URL has no TLS"),
  eventTypes: ["order.filled", "order.open", "transfer.wire_deposit.completed"],
};

const check = (change: Partial<WebhookSettings>, secret?: string, keepsSecret = false) =>
  checkWebhook({ ...SETTINGS, ...change }, secret, keepsSecret, RULES);

const LONG_URL = `https://${"x".repeat(1_017)}`;
const NO_RATE = "is not a whole number from 1 to 100";
const NO_CREDENTIAL = "is not 1 to 1000 printable ASCII characters without spaces at its ends";

test.each([
  ["name", { name: "" }, "is not 1 to 100 characters", undefined],
  ["name", { name: "x".repeat(101) }, "is not 1 to 100 characters", "x".repeat(101)],
  ["name", { name: "a\r\nb" }, "has characters that cannot be printed", "a\r\nb"],
  ["url", { url: "ftp://acme.example" }, "is not accepted: the URL has no TLS", "ftp://acme.example"],
  ["url", { url: LONG_URL }, "is longer than 1024 characters", LONG_URL],
  ["types", { types: [] }, "is not 1 to 100 types"],
  ["types", { types: Array.from({ length: 101 }, () => "*") }, "is not 1 to 100 types"],
  ["types", { types: ["*", "*"] }, "has a type twice"],
  ["deliveriesPerSecond", { deliveriesPerSecond: 0 }, NO_RATE, 0],
  ["deliveriesPerSecond", { deliveriesPerSecond: 1.5 }, NO_RATE, 1.5],
  ["deliveriesPerSecond", { deliveriesPerSecond: 101 }, NO_RATE, 101],
])("%s %j is rejected", (field, change, rule, value?: string | number) => {
  const rejection = { code: "invalid_webhook", field, rule, ...(value !== undefined && { value }) };
  expect(check(change)).toEqual(reject(rejection));
});

test.each(["order.fille", "order*", "orders.*", ""])("the type %j, which no event is of, is named apart", (type) => {
  const rule = "which no event is of: a type, transfer.* or *";
  const rejection = { code: "invalid_webhook", field: "types", rule, type };
  expect(check({ types: ["order.*", type] })).toEqual(reject(rejection));
});

test.each([
  ["tokenUrl", "ftp://auth.example", "is not accepted: the URL has no TLS"],
  ["tokenUrl", LONG_URL, "is longer than 1024 characters"],
  ["clientId", "a\r\nb", NO_CREDENTIAL],
  ["clientId", "x".repeat(1_001), NO_CREDENTIAL],
  ["scope", " hooks", NO_CREDENTIAL],
])("the %s %j of an authorization server is rejected", (field, value, rule) => {
  const rejection = { code: "invalid_webhook", field, rule, value };
  expect(check({ receiverAccess: { ...OAUTH, [field]: value } }, "hush")).toEqual(reject(rejection));
});

test("what is as long as it may be, or is left out, is accepted", () => {
  const longest = { name: "𝕏".repeat(100), url: LONG_URL.slice(0, -1), deliveriesPerSecond: 100 };
  const key = { ...KEY, header: "x".repeat(100) };
  expect(check({ ...longest, receiverAccess: key }, "x".repeat(1_000))).toEqual(PASSED);
  expect(check({ types: ["*"], deliveriesPerSecond: 1, receiverAccess: OAUTH }, "x")).toEqual(PASSED);
  expect(check({ receiverAccess: { ...OAUTH, scope: undefined } }, undefined, true)).toEqual(PASSED);
});

const NO_HEADERS = ["", "x y", "x:", "x\r\ny", "é", "x".repeat(101)];
// Rule 3: those of deliveries, and those of requests and connections (RFC 9110, section 7.6.1).
const OF_DELIVERIES = ["Accept", "accept-encoding", "Content-Type", "Host", "user-agent", "webhook-id"];
const OF_CONNECTIONS = [
  ...["connection", "Date", "Expect", "forwarded", "keep-alive", "max-forwards", "proxy-authorization"],
  ...["TE", "trailer", "Transfer-Encoding", "upgrade", "via"],
];

test.each(NO_HEADERS)("%j is not the name of a header", (header) => {
  const rule = "is not the name of a header";
  const rejection = { code: "invalid_webhook", field: "header", rule, ...(header !== "" && { value: header }) };
  expect(check({ receiverAccess: { ...KEY, header } }, "s")).toEqual(reject(rejection));
});

test.each([...OF_DELIVERIES, ...OF_CONNECTIONS])("the header %j is rejected for an API key", (header) => {
  const rule = "is a header that deliveries or connections have themselves";
  const rejection = { code: "invalid_webhook", field: "header", rule, value: header };
  expect(check({ receiverAccess: { ...KEY, header } }, "s")).toEqual(reject(rejection));
});

test.each([undefined, "", " x", "x ", "a\nb", "é", "x".repeat(1_001)])(
  "the secret %j is rejected, and not repeated",
  (secret) => {
    const rule = secret === undefined ? "is required" : NO_CREDENTIAL;
    for (const receiverAccess of [KEY, OAUTH])
      expect(check({ receiverAccess }, secret)).toEqual(
        reject({ code: "invalid_webhook", field: "receiverSecret", rule }),
      );
  },
);
