/** Whether the process is alive, and whether it can serve. For whoever runs it, so not in the API's document. */
import { unavailable } from "../problems.ts";
import type { Api } from "../server.ts";

/** Each answers whether something that serving needs is there, under the name that the problem tells. */
export type ReadinessChecks = Readonly<Record<string, () => Promise<boolean>>>;

export function healthRoutes(api: Api, checks: ReadinessChecks): void {
  const options = { config: { scope: "public" as const }, schema: { hide: true } };
  api.get("/healthz", options, async () => ({ status: "alive" }));
  api.get("/readyz", options, async () => {
    const missing = await failing(checks);
    if (missing.length > 0) throw unavailable(`not ready: ${missing.join(", ")}`);
    return { status: "ready" };
  });
}

/** The names of the checks that do not hold. One that throws does not hold. */
async function failing(checks: ReadinessChecks): Promise<string[]> {
  const names = Object.keys(checks);
  const holds = await Promise.all(Object.values(checks).map((check) => check().catch(() => false)));
  return names.filter((_, at) => !holds[at]);
}
