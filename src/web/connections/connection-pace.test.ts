import { createServer } from "node:https";
import { Duplex } from "node:stream";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ConnectionPace } from "./connection-pace.ts";
import { boundConnections, type Dropped } from "./connections.ts";
import { TrackedResponse } from "./tracked-response.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const OPEN = { destroyed: false };

/** With a key of P-256. */
function paced(): ConnectionPace {
  const pace = new ConnectionPace();
  pace.setCost(0.4);
  return pace;
}

/** Connections that arrive now. @returns after how many milliseconds each has started, once they have; undefined: rejected */
function arrive(pace: ConnectionPace, count: number, address: string | ((at: number) => string)) {
  const now = performance.now();
  const waits: (number | undefined)[] = new Array(count).fill(undefined);
  const admitted = waits.map((_, at) => {
    const from = typeof address === "string" ? address : address(at);
    return pace.admit(from, OPEN, () => {
      waits[at] = Math.round(performance.now() - now);
    });
  });
  return { admitted, waits };
}

/** How long each of some connections of an address that arrive now waits. */
function waitsOf(pace: ConnectionPace, count: number, address: string | ((at: number) => string)) {
  const { waits } = arrive(pace, count, address);
  vi.advanceTimersByTime(10_000);
  return waits;
}

const ONE = "203.0.113.9";

test("twenty connections of an address start at once, then one every ten milliseconds, and others are not delayed", () => {
  const pace = paced();
  const { waits } = arrive(pace, 23, ONE);
  expect(arrive(pace, 1, "203.0.113.10").waits).toEqual([0]);
  vi.advanceTimersByTime(40);
  expect(waits).toEqual([...new Array<number>(20).fill(0), 10, 20, 30]);
  expect(waitsOf(pace, 2, ONE)).toEqual([0, 10]);
  expect(waitsOf(pace, 21, ONE).at(-1)).toBe(10);
});

test("the slower the handshake, the fewer an address gets: a tenth of the thread", () => {
  const pace = new ConnectionPace();
  // Without TLS.
  expect(waitsOf(pace, 35, ONE).slice(32)).toEqual([0, 6, 12]);
  pace.setCost(6);
  expect(waitsOf(pace, 5, "203.0.113.10")).toEqual([0, 0, 0, 66, 132]);
  pace.setCost(0.4);
  expect(waitsOf(pace, 21, "203.0.113.11").slice(19)).toEqual([0, 10]);
});

test("a connection that would wait more than five seconds is rejected, and does not lengthen the wait of later ones", () => {
  const pace = paced();
  const { admitted, waits } = arrive(pace, 1_000, ONE);
  vi.advanceTimersByTime(10);
  const later = arrive(pace, 2, ONE);
  expect(later.admitted).toEqual([true, false]);
  vi.advanceTimersByTime(10_000);
  expect(waits.slice(518, 522)).toEqual([4_990, 5_000, undefined, undefined]);
  expect(admitted.slice(518, 522)).toEqual([true, true, false, false]);
  expect(later.waits).toEqual([5_000, undefined]);
});

test("an address that used its burst a moment ago gets no second one", () => {
  const pace = paced();
  // Addresses that were quiet are forgotten once a second, counted from here.
  arrive(pace, 1, "203.0.113.10");
  vi.advanceTimersByTime(900);
  arrive(pace, 20, ONE);
  vi.advanceTimersByTime(100);
  expect(waitsOf(pace, 12, ONE)).toEqual([...new Array<number>(10).fill(0), 10, 20]);
});

test("an IPv6 network of 48 bits gets as many as two addresses, however many it has", () => {
  const pace = paced();
  pace.setCost(6);
  const { waits } = arrive(pace, 15, (at) => `2001:db8:0:${at.toString(16)}::1`);
  expect(waitsOf(pace, 1, "2001:db8:1::1")).toEqual([0]);
  expect(waits).toEqual([...new Array<number>(6).fill(0), ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((at) => at * 33)]);
  // What waits for its own address delays no others of the network.
  arrive(pace, 20, "2001:db8:0:1::1");
  vi.advanceTimersByTime(500);
  const [one, other] = ["2001:db8:0:1::1", "2001:db8:0:2::1"].map((address) => arrive(pace, 1, address).waits);
  vi.advanceTimersByTime(10_000);
  expect(one?.[0]).toBeGreaterThan(500);
  expect(other?.[0]).toBeLessThan(100);
});

test.each([
  ["addresses", (nth: number) => `203.0.113.${nth}`],
  [
    "IPv6 networks of 48 bits with ever new ones of 64",
    (nth: number, ms: number) => `2001:db8:${nth}:${ms.toString(16)}::1`,
  ],
])(
  "a dozen %s at their pace share three tenths of the thread, and others do not wait for all that they have waiting",
  (_, of) => {
    const pace = paced();
    let started = 0;
    let rejected = 0;
    for (let ms = 0; ms < 20_000; ms += 10) {
      for (let nth = 1; nth <= 12; nth += 1) {
        const isAdmitted = pace.admit(of(nth, ms), OPEN, () => {
          started += 1;
        });
        if (!isAdmitted) rejected += 1;
      }
      vi.advanceTimersByTime(10);
    }
    // 300 a second of all, and 10 of each; and what was free at once.
    expect(started).toBeGreaterThan(20 * 415);
    expect(started).toBeLessThan(20 * 420 + 12 * 10 + 60 + 20);
    expect(rejected).toBeGreaterThan(10_000);
    const { waits: thirty } = arrive(pace, 30, "203.0.113.99");
    vi.advanceTimersByTime(2_000);
    // Ten are free, and each other one waits for one of each of the others at most.
    expect(thirty.slice(0, 10)).toEqual(new Array<number>(10).fill(0));
    for (const [at, wait] of thirty.slice(10).entries()) expect(wait).toBeLessThanOrEqual((at + 1) * 13 * (10 / 3) + 5);
    expect(waitsOf(pace, 1, "203.0.113.99")).toEqual([0]);
  },
);

test("who opens and closes connections without an end takes no turns with those that are gone", () => {
  const pace = paced();
  const gone = { destroyed: false };
  for (let address = 1; address <= 4; address += 1)
    for (let opened = 0; opened < 100; opened += 1)
      pace.admit(`2001:db8:${address}:${opened}::1`, gone, () => expect(gone.destroyed).toBe(false));
  for (let opened = 0; opened < 1_000; opened += 1)
    pace.admit(`203.0.${opened % 10}.1`, gone, () => expect(gone.destroyed).toBe(false));
  vi.advanceTimersByTime(50);
  gone.destroyed = true;
  vi.advanceTimersByTime(500);
  expect(waitsOf(pace, 20, ONE)).toEqual(new Array<number>(20).fill(0));
});

test("all addresses of an IPv6 network of 64 bits share one pace, on all servers of the process", () => {
  const dropped: Dropped[] = [];
  const pace = paced();
  const servers = [1, 2].map(() => createServer({ ServerResponse: TrackedResponse }));
  for (const server of servers) {
    const onDropped = (some: Dropped): unknown => dropped.push(some);
    boundConnections(server, { most: 2_000, isShared: () => false, onDropped, pace });
  }
  const arrive = (remoteAddress: string, at = 0): Duplex => {
    const socket = Object.assign(new Duplex({ read: () => {}, write: () => {} }), { remoteAddress });
    servers[at < 260 ? 0 : 1]?.emit("connection", socket);
    return socket;
  };
  const open = Array.from({ length: 530 }, (_, at) => arrive(`2001:db8:0:1::${at.toString(16)}`, at));
  expect(open.filter(({ destroyed }) => destroyed)).toHaveLength(10);
  const reason = "too many new connections from one address";
  expect(dropped).toEqual([{ count: 1, address: "2001:db8:0:1::208", reason }]);
  expect(arrive("2001:db8:0:2::1").destroyed).toBe(false);
});
