/** The service as it runs in earnest, with an empty POST route beside its own. Started by the benchmarks. */
import { pino } from "pino";
import { readConfig } from "../dist/config/config.js";
import { startService } from "../dist/main.js";

const service = await startService(readConfig(process.env), pino({ level: "warn" }), (api) => {
  // The same body is parsed, nothing is checked or done with it.
  api.post("/bench/empty", { config: { scope: "public" }, schema: { hide: true } }, async () => ({}));
});
process.send?.({ baseUrl: service.baseUrl, authUrl: service.authUrl });
process.once("SIGTERM", () => void service.stop().then(() => process.disconnect?.()));
