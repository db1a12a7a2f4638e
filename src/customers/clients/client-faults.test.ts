/** What clients do while the clock is wrong, or the database takes no writes. */
import { expect, test } from "vitest";
import { TESTER } from "../../../test/support/movements.ts";
import { until } from "../../../test/support/until.ts";
import type { Database } from "../../postgres/database.ts";
import { ClockFault, type Instant } from "../../std/clock.ts";
import { IdSource } from "../../std/id.ts";
import { done } from "../../std/result.ts";
import { Clients } from "./clients.ts";
import { digestSecret, generateSecret } from "./secrets.ts";

const NOW = Date.parse("2026-11-21T09:30:00.000Z") as Instant;
const AWAY = new Error("the database is read-only");

async function clientsWith(secret: string, fault?: string) {
  const ids = new IdSource();
  const client = { client_id: "acme", customer_id: ids.next(), scopes: ["*"], networks: null, disabled_at: null };
  const row = { ...client, ...(await digestSecret(secret)), id: ids.next(), expires_at: null, last_used_at: null };
  const database = {
    rows: async () => [row],
    commits: { rows: () => Promise.reject(AWAY) },
    transaction: () => expect.fail("something was to be written"),
  };
  const reported: unknown[] = [];
  const clients = new Clients({
    database: database as unknown as Database,
    clock: { now: () => NOW, fault },
    ids,
    onUnrecordedUse: (...report) => void reported.push(report),
  });
  const known = done({ clientId: "acme", customerId: client.customer_id, scopes: ["*"] });
  return { clients, reported, known };
}

test("a use that cannot be recorded is reported, each time, and rejects nobody", async () => {
  const secret = generateSecret();
  const { clients, reported, known } = await clientsWith(secret);
  for (const times of [1, 2]) {
    expect(await clients.authenticate("acme", secret, "192.0.2.1")).toEqual(known);
    await until("it is reported", () => reported.length === times);
  }
  expect(reported).toEqual([1, 2].map(() => ["acme", AWAY]));
});

test("while the clock is known to be wrong no secret is replaced: the former one would be valid for too long", async () => {
  const fault = "the clock of this node is off";
  const { clients } = await clientsWith(generateSecret(), fault);
  await expect(clients.rotateSecret("acme", 60_000, TESTER)).rejects.toThrow(new ClockFault(fault));
});
