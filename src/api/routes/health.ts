/** Liveness and readiness probes, for operators. Not in the OpenAPI document. */
import { type ReadinessChecks, watchReadiness } from "../../web/readiness.ts";
import { unavailable } from "../problems/problems.ts";
import type { Api } from "../server.ts";

export function healthRoutes(api: Api, checks: ReadinessChecks): void {
  const failingChecks = watchReadiness(checks);
  const options = {
    config: { scope: "public" as const, rate: "health" as const, admission: false as const },
    schema: { hide: true },
  };
  api.get("/healthz", options, async () => ({ status: "alive" }));
  api.get("/readyz", options, async () => {
    const missing = await failingChecks();
    if (missing.length > 0) throw unavailable(`not ready: ${missing.join(", ")}`);
    return { status: "ready" };
  });
}
