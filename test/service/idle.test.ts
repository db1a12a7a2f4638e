/** A loop that does not wait for what it is about would be right, and keep a core or the database busy. */
import { get } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { pause } from "../../src/std/pause.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

async function transactionsOf({ db: { owner, ownerConnection } }: TestService): Promise<number> {
  const [row] = await owner.rows<{ count: string }>(
    "select xact_commit + xact_rollback as count from pg_stat_database where datname = $1",
    [ownerConnection.database],
  );
  return Number(row?.count);
}

test("a service to which nothing happens does next to nothing, however many wait for something", async () => {
  const service = await startTestService();
  onTestFinished(() => service.close());
  const acme = await service.customer("Acme");
  const headers = { authorization: `Bearer ${acme.token}` };
  const webhook = { name: "orders", url: "http://127.0.0.1:9/", types: ["order.filled"] };
  expect((await service.call("POST", "/v2/webhooks", { as: acme.token, body: webhook })).status).toBe(200);
  let isOpen = false;
  const stream = get(`${service.baseUrl}/v2/events/stream`, { headers }, (response) => {
    response.on("error", () => undefined).once("data", () => (isOpen = true));
  });
  onTestFinished(() => void stream.on("error", () => undefined).destroy());
  await until("the stream is open", () => isOpen);
  const waiting = fetch(`${service.baseUrl}/v2/events?wait_millis=4000&after_number=1`, { headers });
  await pause(1_000);
  const [before, cpu] = [await transactionsOf(service), process.cpuUsage()];
  await pause(2_000);
  const used = process.cpuUsage(cpu);
  // Seen: 90, for leases, clocks, keys and what other nodes might have done, and 90 ms.
  expect((await transactionsOf(service)) - before).toBeLessThan(300);
  expect((used.user + used.system) / 1_000).toBeLessThan(1_000);
  expect(await (await waiting).json()).toMatchObject({ events: [] });
});
