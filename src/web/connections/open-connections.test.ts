import { Socket } from "node:net";
import { expect, test } from "vitest";
import { noteValidToken, OpenConnections } from "./open-connections.ts";

const socketOf = (address: string, port: number, localAddress = "198.51.100.1"): Socket =>
  Object.defineProperties(new Socket(), {
    remoteAddress: { value: address },
    remotePort: { value: port },
    localAddress: { value: localAddress },
    localPort: { value: 443 },
  });

test("connections from one port to two addresses of the server are two", () => {
  const connections = new OpenConnections(10);
  const [first, second] = ["198.51.100.1", "198.51.100.2"].map((local) => {
    const [lower, upper] = [socketOf("192.0.2.1", 40_000, local), socketOf("192.0.2.1", 40_000, local)];
    expect(connections.add("192.0.2.1", lower, expect.fail)).toBe(true);
    return { lower, upper };
  }) as [{ lower: Socket; upper: Socket }, { lower: Socket; upper: Socket }];
  connections.noteSecure(first.upper);
  expect(connections.othersOfFlood(first.upper, "192.0.2.1")).toEqual([second.lower]);
  expect(connections.othersOfFlood(second.lower, "192.0.2.1")).toEqual([first.upper]);
});

test("a connection whose port was used before is known by it when the former one has closed", () => {
  const connections = new OpenConnections(10);
  const add = (socket: Socket): void => expect(connections.add("192.0.2.1", socket, expect.fail)).toBe(true);
  const [former, other] = [socketOf("192.0.2.1", 40_000), socketOf("192.0.2.1", 40_001)];
  const latter = socketOf("192.0.2.1", 40_000);
  for (const socket of [former, other, latter]) add(socket);
  former.emit("close");
  expect(connections.othersOfFlood(latter, "192.0.2.1")).toEqual([other]);
  // It is known no more: nothing is spared as its own.
  latter.emit("close");
  expect(connections.othersOfFlood(latter, "192.0.2.1")).toEqual([other]);
  connections.noteSecure(latter);
  other.emit("close");
  expect(connections.othersOfFlood(latter, "192.0.2.1")).toEqual([]);
});

test("a flood ends the connections of its address on which no token was used, or one of its own customer", () => {
  const connections = new OpenConnections(10);
  const [flooding, unknown, own, other] = [1, 2, 3, 4].map((port) => {
    const socket = socketOf("192.0.2.1", port);
    expect(connections.add("192.0.2.1", socket, expect.fail)).toBe(true);
    return socket;
  }) as [Socket, Socket, Socket, Socket];
  noteValidToken(own, "ann");
  noteValidToken(other, "bob");
  expect(connections.othersOfFlood(flooding, "192.0.2.1")).toEqual([unknown]);
  noteValidToken(flooding, "ann");
  expect(connections.othersOfFlood(flooding, "192.0.2.1")).toEqual([unknown, own]);
});

test("of connections with TLS the upper one ends, not the accepted one below it", () => {
  const connections = new OpenConnections(4);
  const add = (address: string, port: number): [Socket, Socket] => {
    const [lower, upper] = [socketOf(address, port), socketOf(address, port)];
    expect(connections.add(address, lower, () => undefined)).toBe(true);
    connections.noteSecure(upper);
    return [lower, upper];
  };
  const [lower, upper] = add("192.0.2.1", 1);
  const [flooding] = add("192.0.2.1", 2);
  expect(connections.othersOfFlood(flooding, "192.0.2.1")).toEqual([upper]);
  // With a fourth one there is no room.
  for (const other of [2, 3, 4]) add(`192.0.2.${other}`, 3);
  expect([lower.destroyed, upper.destroyed]).toEqual([false, true]);
});

test("an address has 500, though many more are left", () => {
  const connections = new OpenConnections(10_000);
  const has = (address: string, count: number): boolean =>
    Array.from({ length: count }, (_, port) => connections.add(address, socketOf(address, port), expect.fail)).every(
      Boolean,
    );
  expect([has("192.0.2.1", 500), has("192.0.2.1", 1), has("192.0.2.2", 500)]).toEqual([true, false, true]);
});
