import { createPublicKey, type KeyObject } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { required } from "../../../test/support/required.ts";
import { areSignedWith, missingV1aJudge } from "../../../test/webhooks/v1a-judge.ts";
import { AssertionFailed } from "../../std/assert.ts";
import { generateV1, generateV1a, readSigningSecret, signatures } from "./signing-secrets.ts";

const BODIES = ["", "{}", '{"nickname":"Zoë – 日本 💶"}', "a.b.c", "x".repeat(20_000)];

/** As the headers and the body of a delivery. The library accepts five minutes of difference. */
function delivered(secrets: Parameters<typeof signatures>[0], body: string, id = "0190d5a4-7e1b-7c3d-8a2f") {
  const timestampSeconds = Math.floor(Date.now() / 1_000);
  const signature = signatures(secrets, { id, timestampSeconds, body });
  return { id, timestamp: String(timestampSeconds), signature, body };
}

/** As the public library judges v1. */
function verifies(secret: string, { id, timestamp, signature, body }: ReturnType<typeof delivered>): boolean {
  const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
  try {
    new Webhook(secret).verify(body, headers, { jsonParse: false });
    return true;
  } catch {
    return false;
  }
}

test("the public library verifies each signature of v1, and no other body, id or secret", () => {
  const secret = generateV1();
  for (const body of BODIES) {
    const message = delivered([readSigningSecret("v1", secret)], body);
    expect(verifies(secret, message)).toBe(true);
    expect(verifies(secret, { ...message, body: `${body} ` })).toBe(false);
    expect(verifies(secret, { ...message, id: `${message.id}1` })).toBe(false);
    expect(verifies(secret, { ...message, timestamp: String(Number(message.timestamp) - 1) })).toBe(false);
    expect(verifies(generateV1(), message)).toBe(false);
  }
});

test("another implementation verifies each signature of v1a, and no other body, id or key", (context) => {
  required(context, missingV1aJudge());
  const { secret, publicKey } = generateV1a();
  const messages = BODIES.map((body) => delivered([readSigningSecret("v1a", secret)], body));
  expect(areSignedWith(publicKey, messages)).toEqual(BODIES.map(() => true));
  const changed = messages.flatMap((message) => [
    { ...message, body: `${message.body} ` },
    { ...message, id: `${message.id}1` },
    { ...message, timestamp: "1" },
  ]);
  expect(areSignedWith(publicKey, changed)).toEqual(changed.map(() => false));
  expect(areSignedWith(generateV1a().publicKey, messages)).toEqual(BODIES.map(() => false));
});

test("while secrets are rotated, a message verifies with each of them", (context) => {
  required(context, missingV1aJudge());
  const [first, second, pair] = [generateV1(), generateV1(), generateV1a()];
  const secrets = [
    readSigningSecret("v1", first),
    readSigningSecret("v1", second),
    readSigningSecret("v1a", pair.secret),
  ];
  const message = delivered(secrets, "{}");
  expect(message.signature).toMatch(/^v1,[\w+/]{43}= v1,[\w+/]{43}= v1a,[\w+/]{86}==$/);
  expect([verifies(first, message), verifies(second, message)]).toEqual([true, true]);
  expect(areSignedWith(pair.publicKey, [message])).toEqual([true]);
});

test("secrets are new each time, and written as the specification writes them", () => {
  expect(generateV1()).toMatch(/^whsec_[\w+/]{43}=$/);
  expect(generateV1()).not.toBe(generateV1());
  const pair = generateV1a();
  expect(pair).toEqual({
    secret: expect.stringMatching(/^whsk_[\w+/]{86}==$/),
    publicKey: expect.stringMatching(/^whpk_[\w+/]{43}=$/),
  });
  expect(pair.publicKey).not.toBe(generateV1a().publicKey);
  const { privateKey } = readSigningSecret("v1a", pair.secret) as { privateKey: KeyObject };
  const { x = "" } = createPublicKey(privateKey).export({ format: "jwk" });
  expect(`whpk_${Buffer.from(x, "base64url").toString("base64")}`).toBe(pair.publicKey);
});

test.each([
  ["v1", "empty", "whsec_"],
  ["v1", "short", "whsec_AAAA"],
  ["v1", "without its prefix", generateV1().slice("whsec_".length)],
  ["v1", "one for v1a", generateV1a().secret],
  ["v1a", "one for v1", generateV1()],
  ["v1a", "the public key", generateV1a().publicKey],
  ["v1a", "short", "whsk_AAAA"],
] as const)("a stored secret for %s that is %s is a bug", (kind, _what, text) => {
  expect(() => readSigningSecret(kind, text)).toThrow(AssertionFailed);
});

test("nothing is signed with nothing, nor an id that another message could have", () => {
  expect(() => delivered([], "{}")).toThrow(AssertionFailed);
  expect(() => delivered([readSigningSecret("v1", generateV1())], "{}", "a.1")).toThrow(AssertionFailed);
});
