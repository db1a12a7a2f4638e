import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { syncBuiltinESMExports } from "node:module";
import { isIPv4 } from "node:net";
import os from "node:os";
import { expect, onTestFinished, test, vi } from "vitest";
import { type Instant, steadyClock } from "../../std/clock.ts";
import { parseNetwork } from "../../std/network.ts";
import { resolveWith } from "./addresses.ts";
import { MACHINE } from "./connect.ts";

const TYPES = { A: 1, AAAA: 28 } as const;

/** A DNS server with these addresses. A name that it lacks does not exist; one without addresses gets no answer. */
async function dnsServer(names: Readonly<Record<string, readonly string[]>>): Promise<Resolver> {
  const socket = createSocket("udp4");
  onTestFinished(() => void socket.close());
  socket.on("message", (query, { port, address }) => {
    const end = query.indexOf(0, 12) + 5;
    const [name, type] = [nameIn(query), query.readUInt16BE(end - 4)];
    const known = names[name];
    if (known?.length === 0) return;
    const answers = (known ?? []).filter((each) => type === (isIPv4(each) ? TYPES.A : TYPES.AAAA)).map(record);
    const header = Buffer.from([
      query[0] ?? 0,
      query[1] ?? 0,
      0x81,
      known ? 0x80 : 0x83,
      0,
      1,
      0,
      answers.length,
      0,
      0,
      0,
      0,
    ]);
    socket.send(Buffer.concat([header, query.subarray(12, end), ...answers]), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const resolver = new Resolver({ timeout: 10_000, tries: 1 });
  resolver.setServers([`127.0.0.1:${socket.address().port}`]);
  return resolver;
}

function nameIn(query: Buffer): string {
  const labels: string[] = [];
  for (let at = 12; query[at] !== 0; at += 1 + (query[at] ?? 0)) {
    labels.push(query.toString("latin1", at + 1, at + 1 + (query[at] ?? 0)));
  }
  return labels.join(".");
}

/** RFC 1035, section 4.1.3, for the name of the question. */
function record(address: string): Buffer {
  const { bits = 0n, family = 4 } = parseNetwork(address) ?? {};
  const bytes = Buffer.from(bits.toString(16).padStart(family === 4 ? 8 : 32, "0"), "hex");
  return Buffer.concat([
    Buffer.from([0xc0, 12, 0, family === 4 ? TYPES.A : TYPES.AAAA, 0, 1, 0, 0, 0, 0, 0, bytes.length]),
    bytes,
  ]);
}

const never = new AbortController().signal;

test("a name has its addresses of both kinds, IPv4 first", async () => {
  const resolver = await dnsServer({
    "both.example": ["2001:db8::1", "192.0.2.1", "192.0.2.2"],
    "six.example": ["2001:db8::1"],
  });
  const addresses = await resolveWith(resolver, "both.example", never);
  expect([...addresses].sort()).toEqual(["192.0.2.1", "192.0.2.2", "2001:db8::1"]);
  expect(addresses[2]).toBe("2001:db8::1");
  expect(await resolveWith(resolver, "six.example", never)).toEqual(["2001:db8::1"]);
});

test("of a name with many addresses the first sixteen are looked at", async () => {
  const many = Array.from({ length: 25 }, (_, i) => `192.0.2.${i + 1}`);
  const resolver = await dnsServer({ "many.example": many });
  expect(await resolveWith(resolver, "many.example", never)).toHaveLength(16);
});

test("a name that does not exist has none", async () => {
  const resolver = await dnsServer({});
  await expect(resolveWith(resolver, "none.example", never)).rejects.toMatchObject({ code: "ENOTFOUND" });
});

test("a server that does not answer is waited for until the caller gives up", async () => {
  const resolver = await dnsServer({ "silent.example": [] });
  const giving = new AbortController();
  const waiting = resolveWith(resolver, "silent.example", giving.signal);
  giving.abort();
  await expect(waiting).rejects.toMatchObject({ code: "ECANCELLED" });
});

test("localhost is this machine, whatever DNS says", async () => {
  const resolver = await dnsServer({ localhost: ["192.0.2.1"], "a.localhost": ["192.0.2.1"] });
  for (const name of ["localhost", "LOCALHOST.", "a.localhost"]) {
    expect(await resolveWith(resolver, name, never)).toEqual(["127.0.0.1", "::1"]);
  }
});

test("an address that this machine gets is its own a second later", () => {
  const now = steadyClock.now;
  // Ahead of the tests before this one in its process: some move the clock by an hour.
  const start = 86_400_000;
  let later = start;
  vi.spyOn(steadyClock, "now").mockImplementation(() => (now() + later) as Instant);
  onTestFinished(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });
  expect(MACHINE.ownAddresses()).toContain("127.0.0.1");
  const interfaces = vi.spyOn(os, "networkInterfaces");
  interfaces.mockReturnValue({ eth9: [{ address: "203.0.113.77" }] } as never);
  syncBuiltinESMExports();
  later = start + 1_500;
  expect(MACHINE.ownAddresses()).toEqual(["203.0.113.77"]);
  // What is remembered now is right for the tests after this one too.
  interfaces.mockRestore();
  syncBuiltinESMExports();
  later = start + 3_000;
  expect(MACHINE.ownAddresses()).toContain("127.0.0.1");
});
