import { connect } from "node:net";
import { Registry } from "prom-client";
import { test } from "vitest";
import { startToyApi } from "../../test/support/toy-api.ts";
import { until } from "../../test/support/until.ts";
import { RequestMetrics } from "./requests.ts";

test("requests that wait behind one another on a connection are under way until it breaks, and not longer", async () => {
  const registry = new Registry();
  const metrics = new RequestMetrics(registry);
  const underWay = async (): Promise<string | undefined> =>
    /requests_under_way\{server="api"\} (\d+)/.exec(await registry.metrics())?.[1];
  const never = new Promise<object>(() => {});
  const toy = await startToyApi(
    (api) => api.get("/never", { config: { scope: "public" }, schema: { hide: true } }, () => never),
    { watch: (server) => metrics.watch("api", server) },
  );
  const { hostname, port } = new URL(toy.url);
  const socket = connect(Number(port), hostname);
  socket.write("GET /never HTTP/1.1\r\nHost: toy\r\n\r\n".repeat(3));
  await until("all three have come", async () => (await underWay()) === "3");
  socket.destroy();
  await until("none is under way", async () => (await underWay()) === "0");
  await toy.close();
});
