/** What the holder of an IPv6 network of 48 bits may do with all of its 65,536 networks of 64 bits together. */
import { expect, test } from "vitest";
import { arrive, REQUEST, silentServer } from "../../../test/support/http/bounded-server.ts";
import { readCertificate } from "../../../test/support/http/certificate.ts";
import { until } from "../../../test/support/until.ts";

const network = (at: number): string => `2001:db8:1:${at.toString(16)}::9`;
const isDestroyed = ({ destroyed }: { readonly destroyed: boolean }): boolean => destroyed;

test("as many pipelined requests wait as those of four addresses", async () => {
  const { server, asked } = silentServer(undefined, 200);
  const open = Array.from({ length: 40 }, (_, at) => arrive(server, network(at)));
  for (const socket of open) socket.push(REQUEST.repeat(16));
  await until("the last connection has ended", () => open.at(-1)?.destroyed === true);
  // 34 connections with 15 behind the first each and 2 behind that of the 35th are 512.
  expect(open.map(isDestroyed)).toEqual([...new Array<boolean>(34).fill(false), ...new Array<boolean>(6).fill(true)]);
  expect(asked()).toBe(34 * 16 + 3 + 5);
  arrive(server, "2001:db8:2::9").push(REQUEST.repeat(16));
  await until("another's have come", () => asked() === 34 * 16 + 8 + 16);
});

test("as many small pieces of requests are read as those of four addresses", async () => {
  const { server, dropped } = silentServer(readCertificate(), 200);
  const open = Array.from({ length: 6 }, (_, at) => arrive(server, network(at), "secureConnection"));
  const other = arrive(server, "2001:db8:2::9", "secureConnection");
  for (const socket of [...open, other]) {
    socket.push("GET / HTTP/1.1\r\nX: ");
    for (let sent = 0; sent < 1_900; sent += 1) socket.push("a");
  }
  await until("one has ended", () => open.some(isDestroyed));
  await until("the last has been read", () => other.readableLength === 0);
  expect([...open, other].map(isDestroyed)).toEqual([false, false, false, false, true, true, false]);
  expect(dropped).toEqual([{ count: 1, address: network(4), reason: "too many small pieces of requests" }]);
});
