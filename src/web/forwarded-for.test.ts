import fastify from "fastify";
import { expect, test } from "vitest";
import { type Network, parseNetwork } from "../std/network.ts";
import { callerBehind, reduceForwardedFor } from "./forwarded-for.ts";

const PROXIES = ["10.0.0.0/8", "fd00::/8"].map((text) => parseNetwork(text) as Network);
const PEER = "10.0.0.1";
const caller = (header: string): string => callerBehind(header, PEER, PROXIES);

test("the last address that is not a trusted proxy's is the caller's, with a port or without", () => {
  const callers = {
    "5.5.5.5": "5.5.5.5",
    "5.5.5.5:1234": "5.5.5.5",
    "[2001:db8::1]:443": "2001:db8::1",
    "[2001:db8::1]": "2001:db8::1",
    "2001:db8::1": "2001:db8::1",
    "6.6.6.6, 5.5.5.5": "5.5.5.5",
    "6.6.6.6,5.5.5.5:80 , 10.0.0.9:81, [fd00::7]:82": "5.5.5.5",
    "10.0.0.9, fd00::7": "10.0.0.9",
  };
  for (const [header, address] of Object.entries(callers)) expect([header, caller(header)]).toEqual([header, address]);
});

test("what is not an address leaves the address of the proxy that passed it on", () => {
  const texts = ["", " ", "unknown", "5.5.5.5:", "5.5.5.5:123456", "5.5.5.256", "[5.5.5.5]:80", "2001:db8::1:443x"];
  texts.push("[2001:db8::1", "_hidden", "fe80::1%eth0", "<script>", '"5.5.5.5"', "6.6.6.6, unknown", "6.6.6.6,");
  for (const header of texts) expect([header, caller(header)]).toEqual([header, PEER]);
  expect(caller("6.6.6.6, unknown, 10.0.0.9")).toBe("10.0.0.9");
});

test("at most as many parts are read as there can be proxies", () => {
  expect(caller(`6.6.6.6${", 10.0.0.9".repeat(19)}`)).toBe("6.6.6.6");
  expect(caller(`6.6.6.6${", 10.0.0.9".repeat(20)}`)).toBe("10.0.0.9");
  expect(caller(",".repeat(60_000))).toBe(PEER);
});

test("the header of a peer that is not trusted is not read at all", async () => {
  const server = fastify({ trustProxy: () => true });
  reduceForwardedFor(server, PROXIES);
  server.get("/", async (request) => [request.ip, request.headers["x-forwarded-for"] ?? null]);
  const from = (remoteAddress: string, header: string) =>
    server.inject({ url: "/", remoteAddress, headers: { "x-forwarded-for": header } });
  expect((await from("192.0.2.1", ",".repeat(9_000))).json()).toEqual(["192.0.2.1", null]);
  expect((await from(PEER, "6.6.6.6, 5.5.5.5:80")).json()).toEqual(["5.5.5.5", "5.5.5.5"]);
  expect((await from(PEER, "unknown")).json()).toEqual([PEER, null]);
  await server.close();
});
