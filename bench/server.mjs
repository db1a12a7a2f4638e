/**
 * The real service, with comparison routes added. Started by `service.mjs`, which requests over an IPC channel what is
 * not available over HTTP.
 */
import { writeFile } from "node:fs/promises";
import { Session } from "node:inspector/promises";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { startService } from "../dist/main.js";
import { readConfig } from "../dist/service/config/config.js";
import { createLogger } from "../dist/service/logger.js";
import { verifyAll } from "../dist/verify/verify.js";
import { fill } from "./fill.mjs";
import { UsualWay } from "./usual-way.mjs";

const config = readConfig(process.env);
const STEP_MS = 5;
const usualWay = new UsualWay();
const service = await startService({
  config,
  log: createLogger({ logLevel: "warn" }),
  addRoutes: (api) => {
    // The same body is parsed, nothing is checked or done with it.
    api.post("/bench/empty", { config: { scope: "public" }, schema: { hide: true } }, async () => ({}));
    usualWay.addRoute(api);
  },
});

const delay = monitorEventLoopDelay({ resolution: STEP_MS });
delay.enable();

const inspector = new Session();

async function newClient(operation, scopes) {
  const customerId = service.core.ids.next();
  const caller = { operator: "bench", operation };
  await service.core.customers.ensure(customerId, `Another ${customerId}`, caller);
  return (await service.core.clients.create({ customerId, scopes, networks: undefined }, caller)).value;
}

const answers = {
  /** Starts a CPU profile, or ends it and writes it to a file. */
  profile: async ({ file }) => {
    if (file === undefined) {
      inspector.connect();
      await inspector.post("Profiler.enable");
      await inspector.post("Profiler.setSamplingInterval", { interval: 1_000 });
      await inspector.post("Profiler.start");
    } else {
      await writeFile(file, JSON.stringify((await inspector.post("Profiler.stop")).profile));
      inspector.disconnect();
    }
    return "";
  },
  rows: ({ text, values }) => service.core.database.rows(text, values),
  /** In bytes: resident, and of objects that are still needed. */
  memory: () => {
    const { rss } = process.memoryUsage();
    globalThis.gc?.();
    const { heapUsed, external } = process.memoryUsage();
    return { resident: rss, kept: heapUsed + external };
  },
  /** CPU of this process in microseconds, its memory as it is, and how much the database has logged. */
  used: async () => {
    const { user, system } = process.cpuUsage();
    const [{ wal }] = await service.core.database.rows(
      "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::text as wal",
    );
    return { serviceCpu: user + system, resident: process.memoryUsage().rss, wal: Number(wal) };
  },
  /** The longest that the event loop was blocked since the last call, in milliseconds. */
  blocked: () => {
    const longest = delay.max / 1e6 - STEP_MS;
    delay.reset();
    return longest;
  },
  /** A new customer with a client that reads events. */
  eventReader: () => newClient("event-streams", ["events:read_event"]),
  /** A new customer with a client that may do everything. */
  anotherCustomer: () => newClient("webhooks", ["*"]),
  /** With the path of a file in `profile`, a CPU profile of it is written there. */
  verify: async ({ profile } = {}) => (await profiled(profile, () => verifyAll(service.core.database))).sound,
  usualWay: ({ poolSize }) => usualWay.open(config.dataDir, service.core, poolSize),
  fill: (wanted) => fill(service, wanted),
};

async function profiled(path, work) {
  if (path === undefined) return await work();
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.start");
  const result = await work();
  await writeFile(path, JSON.stringify((await session.post("Profiler.stop")).profile));
  session.disconnect();
  return result;
}

process.on("message", async ({ id, ask, question }) => {
  try {
    process.send?.({ id, answer: await answers[ask](question) });
  } catch (error) {
    process.send?.({ id, error: String(error) });
  }
});
process.send?.({ baseUrl: service.baseUrl, authUrl: service.authUrl });

let stopping;
const stop = () => {
  stopping ??= usualWay.close().then(() => service.stop());
  return stopping;
};
process.once("SIGTERM", async () => {
  await stop();
  if (process.connected) process.disconnect();
});
// The parent process is gone.
process.once("disconnect", stop);
