import { expect, test } from "vitest";
import { type Limited, RateLimiter } from "./rate-limiter.ts";
import { DEFAULT_RATES } from "./rates.ts";

/** Six requests at once, then one in fifty seconds. */
const SLOW = { ...DEFAULT_RATES, rest: 0.02 };

function start() {
  const clock = { now: 0 };
  const limited: Limited[] = [];
  const limiter = new RateLimiter(SLOW, { now: () => clock.now, onLimited: (one) => limited.push(one) });
  return { clock, limited, limiter };
}

test("the headers say what a bucket holds, in whole seconds, rounded up", () => {
  const { clock, limiter } = start();
  limiter.ofClient("rest", "acme");
  clock.now = 500;
  expect(limiter.ofClient("rest", "acme")).toEqual({
    admitted: true,
    headers: { "ratelimit-limit": "6", "ratelimit-remaining": "4", "ratelimit-reset": "100" },
    retryAfter: 0,
  });
  expect(limiter.ofClient("rest", "acme", 6)).toEqual({
    admitted: false,
    headers: {
      ...{ "ratelimit-limit": "6", "ratelimit-remaining": "4", "ratelimit-reset": "100" },
      "retry-after": "100",
    },
    retryAfter: 100,
  });
});

test("what counts as several requests counts so for the network of 48 bits too, of which the rest stays", () => {
  const { limited, limiter } = start();
  const ask = (network: number, cost: number): boolean =>
    limiter.ofAddress("rest", `2001:db8:0:${network}::1`, cost).admitted;
  expect([1, 2, 3, 4].map((network) => ask(network, 5))).toEqual([true, true, true, true]);
  // Of 24 tokens four are left. What an address has not takes none of them.
  expect(Array.from({ length: 5 }, () => ask(1, 2))).toEqual([false, false, false, false, false]);
  expect([ask(5, 5), ask(6, 4), ask(7, 1)]).toEqual([false, true, false]);
  expect(limited).toEqual(new Array(7).fill({ rate: "rest", caller: "address" }));
});

test("what an admitted request counts as besides is taken from its address, and from its network of 48 bits", () => {
  const { limiter } = start();
  const remaining = (address: string): string | undefined =>
    limiter.ofAddress("rest", address).headers["ratelimit-remaining"];
  expect([remaining("203.0.113.9"), remaining("2001:db8:0:1::1")]).toEqual(["5", "5"]);
  limiter.alsoOfAddress("rest", "203.0.113.9", 2);
  for (let network = 1; network <= 4; network += 1) {
    limiter.ofAddress("rest", `2001:db8:0:${network}::1`);
    limiter.alsoOfAddress("rest", `2001:db8:0:${network}::1`, 100);
  }
  expect([remaining("203.0.113.9"), remaining("203.0.113.10")]).toEqual(["2", "5"]);
  expect(limiter.ofAddress("rest", "2001:db8:0:1::1").admitted).toBe(false);
  // Those of the fifth are left, but its network has none.
  expect(limiter.ofAddress("rest", "2001:db8:0:5::1").admitted).toBe(false);
});

test("a client that is known by its secret has a bucket at each address, an IPv6 network of 64 bits being one", () => {
  const { limited, limiter } = start();
  const six = (client: string, address: string): boolean[] =>
    Array.from({ length: 7 }, () => limiter.ofClientAt("rest", client, address).admitted);
  const untilEmpty = [...new Array<boolean>(6).fill(true), false];
  for (const [client, address] of [
    ["acme", "203.0.113.9"],
    ["acme", "203.0.113.10"],
    ["borealis", "203.0.113.9"],
    ["acme", "2001:db8:0:1::1"],
  ] as const)
    expect(six(client, address)).toEqual(untilEmpty);
  expect(limiter.ofClientAt("rest", "acme", "2001:db8:0:1::2").admitted).toBe(false);
  expect(limiter.ofClientAt("rest", "acme", "2001:db8:0:2::1").admitted).toBe(true);
  expect(limited).toEqual(new Array(5).fill({ rate: "rest", caller: "client" }));
});

test("what is proven or asked from all over an IPv6 network of 48 bits has the buckets of four addresses", () => {
  const { limiter } = start();
  const addresses = Array.from({ length: 9 }, (_, at) => `2001:db8:0:${at}::1`);
  const known = addresses.flatMap((address) =>
    Array.from({ length: 6 }, () => limiter.ofClientAt("rest", "acme", address).admitted),
  );
  expect(known.filter(Boolean)).toHaveLength(24);
  expect(limiter.ofClientAt("rest", "borealis", "2001:db8:0:9::1").admitted).toBe(true);
  expect(limiter.ofClientAt("rest", "acme", "2001:db8:1:1::1").admitted).toBe(true);
  const asked = addresses.flatMap((address) =>
    Array.from({ length: 3_000 }, () => limiter.ofHealth(address)?.admitted === true),
  );
  expect(asked.filter(Boolean)).toHaveLength(12_000);
  expect(limiter.ofHealth("2001:db8:1:1::1")?.admitted).toBe(true);
});

test("health checks of an IPv6 network of 64 bits are counted together, and are counted as such", () => {
  const { limited, limiter } = start();
  const asked = Array.from(
    { length: 3_001 },
    (_, at) => limiter.ofHealth(`2001:db8:0:1::${at.toString(16)}`)?.admitted,
  );
  expect(asked.filter((admitted) => admitted === true)).toHaveLength(3_000);
  expect(limiter.ofHealth("2001:db8:0:2::1")?.admitted).toBe(true);
  expect(limiter.ofHealth("127.0.0.1")).toBe(undefined);
  expect(limited).toEqual([{ rate: "health", caller: "address" }]);
});
