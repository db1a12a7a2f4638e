import { expect, test } from "vitest";
import { Shares } from "./address-shares.ts";

/** How many places an address gets until it is rejected. */
function takeAll(shares: Shares, address: string): number {
  let taken = 0;
  while (shares.hasRoomFor(address)) {
    shares.take(address, undefined);
    taken += 1;
  }
  return taken;
}

test("an address has half of what is left of all places but a twentieth", () => {
  const shares = new Shares<undefined>(100);
  expect(["203.0.113.1", "203.0.113.2", "203.0.113.3"].map((address) => takeAll(shares, address))).toEqual([
    48, 24, 12,
  ]);
});

test("an IPv6 network of 64 bits has a third, and all of those in one of 48 bits no more than one address", () => {
  const shares = new Shares<undefined>(96);
  expect([1, 2, 3].map((at) => takeAll(shares, `2001:db8:0:${at}::1`))).toEqual([31, 10, 4]);
  for (let at = 4; at < 100; at += 1) takeAll(shares, `2001:db8:0:${at}::1`);
  expect(takeAll(shares, "203.0.113.1")).toBe(23);
});

test("neither an address nor an IPv6 network of 48 bits has more than the bound, however many are left", () => {
  const shares = new Shares<undefined>(100, 10);
  expect(["203.0.113.1", "203.0.113.2", "2001:db8:0:1::1"].map((address) => takeAll(shares, address))).toEqual([
    10, 10, 10,
  ]);
  expect([2, 3].map((at) => takeAll(shares, `2001:db8:0:${at}::1`))).toEqual([0, 0]);
  expect(takeAll(shares, "2001:db8:1::1")).toBe(10);
});

test("a place is free again when it was given back, once", () => {
  const shares = new Shares<undefined>(2);
  const leave = shares.take("203.0.113.1", undefined);
  expect(shares.hasRoomFor("203.0.113.1")).toBe(false);
  leave();
  leave();
  expect(shares.hasRoomFor("203.0.113.1")).toBe(true);
  expect(takeAll(shares, "203.0.113.2")).toBe(1);
});

test("a new connection replaces one of the address with the most, compared by the widest networks that differ", () => {
  const shares = new Shares<string>(100);
  const [one, beside, other] = ["2001:db8:0:1::1", "2001:db8:0:2::1", "203.0.113.1"] as const;
  const surplus = (address: string) => shares.findSurplus(address, (holder) => holder !== "kept");
  shares.take(one, "kept");
  shares.take(one, "one");
  expect(surplus(other)).toBe("one");
  expect(surplus(beside)).toBe("one");
  shares.take(beside, "beside");
  expect(surplus(other)).toBe("one");
  expect(surplus(beside)).toBe(undefined);
  for (let at = 0; at < 5; at += 1) shares.take(other, "other");
  expect(surplus("203.0.113.2")).toBe("other");
  expect(surplus(one)).toBe("other");
  expect(surplus(other)).toBe(undefined);
  expect(surplus("2001:db8:0:1::2")).toBe("other");
});

test("a newcomer looks at 32 places, and the next one at those behind them", () => {
  const shares = new Shares<string>(100);
  for (let at = 0; at < 32; at += 1) shares.take("203.0.113.1", "kept");
  shares.take("203.0.113.1", "idle");
  const surplus = () => shares.findSurplus("203.0.113.2", (holder) => holder === "idle");
  expect([surplus(), surplus()]).toEqual([undefined, "idle"]);
});
