import { expect, test } from "vitest";
import { unwrap } from "../../../test/support/results.ts";
import { done } from "../../std/result.ts";
import { digestSecret, generateSecret, SecretMatcher, schemeOf } from "./secrets.ts";

const NOW = 1_000_000;
const ADDRESS = "203.0.113.9";
const MINUTE = 60_000;

test("a generated secret has 256 bits, is never the same twice, and is kept as a keyed hash", async () => {
  const secret = generateSecret();
  expect(Buffer.from(secret, "base64url")).toHaveLength(32);
  expect(generateSecret()).not.toBe(secret);
  const kept = await digestSecret(secret);
  expect(kept.scheme).toBe("hmac");
  expect(unwrap(await new SecretMatcher().match(secret, [kept], NOW, ADDRESS))).toBe(kept);
});

test("a chosen secret is kept under scrypt, and the same one twice under another salt", async () => {
  const [first, second] = await Promise.all([digestSecret("correct horse"), digestSecret("correct horse")]);
  expect([first.scheme, second.scheme]).toEqual(["scrypt", "scrypt"]);
  expect(first.digest.equals(second.digest)).toBe(false);
  expect(unwrap(await new SecretMatcher().match("correct horse", [first], NOW, ADDRESS))).toBe(first);
});

test("only 43 characters of base64url count as generated", () => {
  expect(schemeOf("a".repeat(43))).toBe("hmac");
  expect(schemeOf("a".repeat(42))).toBe("scrypt");
  expect(schemeOf("a".repeat(44))).toBe("scrypt");
  expect(schemeOf(`${"a".repeat(42)}=`)).toBe("scrypt");
});

test("a wrong secret matches nothing, whatever the scheme and also among several", async () => {
  const matcher = new SecretMatcher();
  const generated = [await digestSecret(generateSecret()), await digestSecret(generateSecret())];
  const chosen = [await digestSecret("correct horse")];
  expect(unwrap(await matcher.match(generateSecret(), generated, NOW, ADDRESS))).toBeUndefined();
  expect(unwrap(await matcher.match("battery staple", chosen, NOW, ADDRESS))).toBeUndefined();
  expect(unwrap(await matcher.match("", [...generated, ...chosen], NOW, ADDRESS))).toBeUndefined();
});

test("with nothing to compare with, a chosen secret still costs one scrypt", async () => {
  const matcher = new SecretMatcher();
  const kept = await digestSecret("correct horse");
  const timed = async (stored: (typeof kept)[]): Promise<number> => {
    const start = process.cpuUsage();
    expect(unwrap(await matcher.match("battery staple", stored, NOW, ADDRESS))).toBeUndefined();
    const { user, system } = process.cpuUsage(start);
    return user + system;
  };
  const withClient = await timed([kept]);
  expect(await timed([])).toBeGreaterThan(withClient / 4);
});

test("a chosen secret that matched is remembered for its very digest, and for five minutes", async () => {
  const matcher = new SecretMatcher();
  const kept = await digestSecret("correct horse");
  expect(unwrap(await matcher.match("correct horse", [kept], NOW, ADDRESS))).toBe(kept);
  // The salt would be needed to compute it again, so an answer without it comes from memory.
  const unsalted = { ...kept, salt: Buffer.alloc(16) };
  expect(unwrap(await matcher.match("correct horse", [unsalted], NOW + 5 * MINUTE - 1, ADDRESS))).toBe(unsalted);
  expect(unwrap(await matcher.match("correct horse", [unsalted], NOW + 5 * MINUTE, ADDRESS))).toBeUndefined();
  expect(unwrap(await matcher.match("battery staple", [kept], NOW, ADDRESS))).toBeUndefined();
  expect(unwrap(await matcher.match("correct horse", [await digestSecret("another")], NOW, ADDRESS))).toBeUndefined();
});

test("past its bound the matcher turns chosen secrets away and still compares generated ones", async () => {
  const matcher = new SecretMatcher();
  const guesses = Array.from({ length: 20 }, (_, i) => matcher.match(`guess ${i}`, [], NOW, ADDRESS));
  const generated = generateSecret();
  const kept = await digestSecret(generated);
  expect(unwrap(await matcher.match(generated, [kept], NOW, ADDRESS))).toBe(kept);
  const answers = await Promise.all(guesses);
  // On a slow machine some of the others have waited for too long.
  expect(answers.filter((answer) => answer.kind === "rejected").length).toBeGreaterThanOrEqual(3);
  expect(answers[0]).toEqual(done(undefined));
});

test("who guesses at one address makes those at another wait for no more than a comparison or two", async () => {
  const matcher = new SecretMatcher();
  const kept = await digestSecret("correct horse");
  const guesses = Array.from({ length: 6 }, (_, i) => matcher.match(`guess ${i}`, [], NOW, ADDRESS));
  let guessed = 0;
  for (const guess of guesses) void guess.then(({ kind }) => (guessed += Number(kind === "done")));
  expect(unwrap(await matcher.match("correct horse", [kept], NOW, "198.51.100.7"))).toBe(kept);
  expect(guessed).toBeLessThanOrEqual(2);
  await Promise.all(guesses);
});

test("who guesses from all over an IPv6 network of 48 bits leaves room for others", async () => {
  const matcher = new SecretMatcher();
  const kept = await digestSecret("correct horse");
  const guesses = Array.from({ length: 17 }, (_, i) =>
    matcher.match("guess", [], NOW, `2001:db8:0:${i.toString(16)}::1`),
  );
  expect(await matcher.match("correct horse", [kept], NOW, "198.51.100.7")).toEqual(done(kept));
  const taken = (await Promise.all(guesses)).filter(({ kind }) => kind === "done");
  expect(taken.length).toBeLessThan(guesses.length);
});
