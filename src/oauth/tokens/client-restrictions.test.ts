import { expect, test, vi } from "vitest";
import type { Clients } from "../../customers/clients/clients.ts";
import type { Instant } from "../../std/clock.ts";
import { type Network, parseNetwork } from "../../std/network.ts";
import { ClientRestrictions } from "./client-restrictions.ts";

const NOW = Date.parse("2026-11-21T09:30:00.000Z") as Instant;

test("it lists clients disabled within the lifetime of a token, with clock skew", async () => {
  const listRestricted = vi.fn<Clients["listRestricted"]>(async () => []);
  await new ClientRestrictions({ clients: { listRestricted }, clock: { now: () => NOW } }).read();
  expect(listRestricted).toHaveBeenCalledExactlyOnceWith(Date.parse("2026-11-21T08:20:01.000Z"));
});

test("a clock that is ahead for a while makes it forget no client: its tokens will be valid again", async () => {
  let [ahead, elapsed] = [0, 0];
  const listRestricted = vi.fn<Clients["listRestricted"]>(async () => []);
  const clock = { now: () => (NOW + elapsed + ahead) as Instant };
  const restrictions = new ClientRestrictions({ clients: { listRestricted }, clock, elapsedMs: () => elapsed });
  const lookBack = async (): Promise<number> => {
    await restrictions.read();
    return NOW + elapsed - (listRestricted.mock.lastCall?.[0] ?? 0);
  };
  const usual = await lookBack();
  ahead = 2 * 3_600_000;
  elapsed += 60_000;
  expect(await lookBack()).toBe(usual - 6_000);
  ahead = -3_600_000;
  elapsed += 2_000;
  expect(await lookBack()).toBe(usual + 3_600_000);
  // One that was behind is caught up with.
  ahead = 0;
  elapsed += 11 * 3_600_000;
  expect(await lookBack()).toBe(usual);
});

test("a client is admitted from its networks, a disabled one from nowhere, any other from everywhere", async () => {
  const networks = [parseNetwork("192.0.2.0/24") as Network];
  let listed = [
    { clientId: "leaver", networks: (): Network[] => [] },
    { clientId: "office", networks: () => networks },
  ];
  const clients = { listRestricted: async () => listed };
  const restrictions = new ClientRestrictions({ clients, clock: { now: () => NOW } });
  await restrictions.read();
  const admitted = (address: string) =>
    ["leaver", "office", "anybody"].filter((clientId) => restrictions.admits(clientId, address));
  expect(admitted("192.0.2.1")).toEqual(["office", "anybody"]);
  expect(admitted("::ffff:192.0.2.1")).toEqual(["office", "anybody"]);
  expect(admitted("198.51.100.1")).toEqual(["anybody"]);
  listed = [];
  await restrictions.read();
  expect(admitted("198.51.100.1")).toEqual(["leaver", "office", "anybody"]);
});
