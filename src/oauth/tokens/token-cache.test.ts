import { expect, test } from "vitest";
import type { CustomerId } from "../../customers/customer-id.ts";
import type { Instant } from "../../std/clock.ts";
import { IdSource } from "../../std/id.ts";
import { fingerprint, TokenCache, type VerifiedToken } from "./token-cache.ts";

const customerId = new IdSource().next() as CustomerId;
const HISTORY = "first";

function verified(clientId: string): VerifiedToken {
  const grant = { customerId, clientId, scopes: new Set<string>(), tokenId: "" };
  return { grant, kid: "k", issuedAt: 0 as Instant, expiresAt: 0 as Instant };
}

test("past its capacity the cache forgets the token that came first", () => {
  const cache = new TokenCache(2);
  for (const each of ["a", "b", "c"]) cache.add(each, verified(each), HISTORY);
  expect(["a", "b", "c"].map((each) => cache.get(each, HISTORY)?.grant.clientId)).toEqual([undefined, "b", "c"]);
});

test("a token that is used again takes no second place", () => {
  const cache = new TokenCache(2);
  for (const each of ["a", "b", "b"]) cache.add(each, verified(each), HISTORY);
  expect(cache.get("a", HISTORY)).toBeDefined();
});

test("a token is not known in another history of the database", () => {
  const cache = new TokenCache(2);
  cache.add("a", verified("a"), HISTORY);
  expect(cache.get("a", "second")).toBeUndefined();
});

test("a fingerprint is the SHA-256 of the token", () => {
  expect(fingerprint("abc")).toBe("ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
});
