/** Tests of webhooks that wait for their turn, because a receiver takes its time. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { gate } from "../../support/gate.ts";
import { TESTER } from "../../support/movements.ts";
import { startTestService } from "../../support/service.ts";
import { until } from "../../support/until.ts";

test("a test that waits for its turn is not posted once its client is disabled", async () => {
  const service = await startTestService();
  onTestFinished(() => service.close());
  const { opened, open } = gate();
  let posts = 0;
  const receiver = createServer(async (_request, response) => {
    posts += 1;
    await opened;
    response.writeHead(204).end();
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  onTestFinished(() => void receiver.close().closeAllConnections());
  const acme = await service.customer();
  const call = (method: string, path: string, body?: object) =>
    service.call(method, `/v2/webhooks${path}`, { as: acme.token, body });
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  const { body: webhook } = await call("POST", "", { name: "books", url, types: ["order.filled"] });

  const tests = Array.from({ length: 6 }, () => call("POST", `/${webhook.id}/test`));
  await until("some are under way", () => posts > 0);
  await service.service.core.clients.disable(acme.clientId, TESTER);
  await until("its token is rejected", async () => (await call("GET", "")).status === 401);
  const before = posts;
  open();
  const statuses = (await Promise.all(tests)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(before);
  expect(statuses.filter((status) => status === 401).length).toBeGreaterThan(0);
  expect(posts).toBe(before);
});
