/**
 * The engine of one market in a process of its own, on the database of the settings: `engine-node.mjs <market> <lease
 * in milliseconds>`. It tells its parent what happens to it, and goes on until it is killed.
 */
import { prepare } from "../../scripts/prepare.mjs";

await prepare();
const { readConfig } = await import("../../dist/service/config/config.js");
const { openCore } = await import("../../dist/service/core.js");
const { createEngines } = await import("../../dist/exchange/engine/engines.js");
const { createLogger } = await import("../../dist/service/logger.js");

const [market, leaseMs] = process.argv.slice(2);
const config = readConfig(process.env);
const core = await openCore(config, "serve", createLogger(config));
const engines = createEngines({
  ...core,
  catalogue: { listMarkets: () => core.catalogue.listMarkets().filter(({ code }) => code === market) },
  leaseMs: Number(leaseMs),
  log: (event) => {
    // The outcome is reported after each round.
    if (event.kind !== "round_committed") process.send?.({ kind: event.kind, error: event.error?.message });
  },
});
engines.start();
process.send?.({ kind: "started" });
