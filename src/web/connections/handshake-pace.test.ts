import { createServer } from "node:https";
import { Duplex } from "node:stream";
import { expect, onTestFinished, test, vi } from "vitest";
import { boundConnections, type Dropped } from "./connections.ts";
import { HandshakePace } from "./handshake-pace.ts";
import { TrackedResponse } from "./tracked-response.ts";

test("twenty handshakes of an address start at once, then one every ten milliseconds, and others are not delayed", () => {
  let now = 0;
  const pace = new HandshakePace(() => now);
  const waits = Array.from({ length: 23 }, () => pace.next("203.0.113.9"));
  expect(waits).toEqual([...new Array<number>(20).fill(0), 10, 20, 30]);
  expect(pace.next("203.0.113.10")).toBe(0);
  now = 40;
  expect([pace.next("203.0.113.9"), pace.next("203.0.113.9")]).toEqual([0, 10]);
  now = 10_000;
  expect(Array.from({ length: 21 }, () => pace.next("203.0.113.9")).at(-1)).toBe(10);
});

test("the slower the handshake, the fewer an address gets: a tenth of the thread", () => {
  const pace = new HandshakePace(() => 0);
  pace.setCost(6);
  expect(Array.from({ length: 5 }, () => pace.next("203.0.113.9"))).toEqual([0, 0, 0, 60, 120]);
  pace.setCost(0.4);
  expect(Array.from({ length: 21 }, () => pace.next("203.0.113.10")).slice(19)).toEqual([0, 10]);
});

test("a handshake that would wait more than five seconds is rejected, and does not lengthen the wait of later ones", () => {
  let now = 0;
  const pace = new HandshakePace(() => now);
  const waits = Array.from({ length: 1_000 }, () => pace.next("203.0.113.9"));
  expect(waits.slice(518, 522)).toEqual([4_990, 5_000, undefined, undefined]);
  now = 10;
  expect([pace.next("203.0.113.9"), pace.next("203.0.113.9")]).toEqual([5_000, undefined]);
});

test("an address that used its burst a moment ago gets no second one", () => {
  let now = 0;
  const pace = new HandshakePace(() => now);
  // Addresses that were quiet are forgotten once a second, counted from here.
  pace.next("203.0.113.10");
  now = 900;
  for (let made = 0; made < 20; made += 1) pace.next("203.0.113.9");
  now = 1_000;
  const waits = Array.from({ length: 12 }, () => pace.next("203.0.113.9"));
  expect(waits).toEqual([...new Array<number>(10).fill(0), 10, 20]);
});

test("an IPv6 network of 48 bits gets as many handshakes as four addresses, however many it has", () => {
  let now = 0;
  const pace = new HandshakePace(() => now);
  pace.setCost(6);
  const waits = Array.from({ length: 15 }, (_, at) => pace.next(`2001:db8:0:${at.toString(16)}::1`));
  expect(waits).toEqual([...new Array<number>(12).fill(0), 15, 30, 45]);
  expect(pace.next("2001:db8:1::1")).toBe(0);
  // What waits for its own address delays no others of the network.
  now = 10_000;
  for (let made = 0; made < 20; made += 1) pace.next("2001:db8:0:1::1");
  now = 10_200;
  expect(pace.next("2001:db8:0:1::1")).toBeGreaterThan(800);
  expect(pace.next("2001:db8:0:2::1")).toBeLessThan(100);
});

test("a dozen addresses at their pace share four tenths of the thread, and others' few handshakes do not wait for them", () => {
  let now = 0;
  const pace = new HandshakePace(() => now);
  let started = 0;
  let dropped = 0;
  for (; now < 20_000; now += 10) {
    for (let address = 1; address <= 12; address += 1) {
      const wait = pace.next(`203.0.113.${address}`);
      if (wait === undefined) dropped += 1;
      else if (now + wait < 20_000) started += 1;
    }
  }
  // 400 a second of all, and 10 of each; and what was free at once.
  expect(started).toBeGreaterThan(20 * 520);
  expect(started).toBeLessThan(20 * 520 + 12 * 10 + 80 + 20);
  expect(dropped).toBeGreaterThan(8_000);
  const few = Array.from({ length: 11 }, () => pace.next("203.0.113.99"));
  // The next one waits behind all.
  expect(few).toEqual([...new Array<number>(10).fill(0), 4_992.5]);
  now += 100;
  expect(pace.next("203.0.113.99")).toBe(0);
});

test("all addresses of an IPv6 network of 64 bits share one pace", () => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const server = createServer({ ServerResponse: TrackedResponse });
  const dropped: Dropped[] = [];
  boundConnections(server, { most: 2_000, isShared: () => false, onDropped: (some) => dropped.push(some) });
  const arrive = (remoteAddress: string): Duplex => {
    const socket = Object.assign(new Duplex({ read: () => {}, write: () => {} }), { remoteAddress });
    server.emit("connection", socket);
    return socket;
  };
  const open = Array.from({ length: 530 }, (_, at) => arrive(`2001:db8:0:1::${at.toString(16)}`));
  expect(open.filter(({ destroyed }) => destroyed)).toHaveLength(10);
  const reason = "too many TLS handshakes from one address";
  expect(dropped).toEqual([{ count: 1, address: "2001:db8:0:1::208", reason }]);
  expect(arrive("2001:db8:0:2::1").destroyed).toBe(false);
});
