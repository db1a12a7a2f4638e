/** Whether what serving needs is there: what `/readyz` asks for on both addresses. */

/** Each answers whether something that serving needs is there, under the name that the refusal tells. */
export type ReadinessChecks = Readonly<Record<string, () => Promise<boolean>>>;

/**
 * Answers the names of the checks that do not hold. There is one look at a time, and whoever asks meanwhile hears what it
 * finds: those who watch over the service are never limited, and a flood of them costs no more than one.
 */
export function watchReadiness(checks: ReadinessChecks): () => Promise<readonly string[]> {
  let look: Promise<readonly string[]> | undefined;
  return () => {
    look ??= failingChecks(checks).finally(() => {
      look = undefined;
    });
    return look;
  };
}

/** A check that throws does not hold. */
async function failingChecks(checks: ReadinessChecks): Promise<readonly string[]> {
  const names = Object.keys(checks);
  const holds = await Promise.all(Object.values(checks).map((check) => check().catch(() => false)));
  return names.filter((_, at) => !holds[at]);
}
