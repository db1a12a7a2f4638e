/**
 * The service as it runs in earnest, with an empty POST route beside its own. Started by the benchmarks, which ask it
 * for what cannot be had over HTTP: see `service.mjs`.
 */
import { readConfig } from "../dist/config/config.js";
import { createLogger } from "../dist/logger.js";
import { startService } from "../dist/main.js";

const service = await startService(readConfig(process.env), createLogger({ logLevel: "warn" }), (api) => {
  // The same body is parsed, nothing is checked or done with it.
  api.post("/bench/empty", { config: { scope: "public" }, schema: { hide: true } }, async () => ({}));
});

const answers = {
  rows: ({ text, values }) => service.core.database.rows(text, values),
  /** In bytes: resident, and of objects that are still needed. */
  memory: () => {
    const { rss } = process.memoryUsage();
    globalThis.gc?.();
    const { heapUsed, external } = process.memoryUsage();
    return { resident: rss, kept: heapUsed + external };
  },
};

process.on("message", async ({ id, ask, question }) => {
  try {
    process.send?.({ id, answer: await answers[ask](question) });
  } catch (error) {
    process.send?.({ id, error: String(error) });
  }
});
process.send?.({ baseUrl: service.baseUrl, authUrl: service.authUrl });
process.once("SIGTERM", () => void service.stop().then(() => process.disconnect?.()));
