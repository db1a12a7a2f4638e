/** Whether what serving needs is there: what `/readyz` asks for on both addresses. */

/** Each answers whether something that serving needs is there, under the name that the refusal tells. */
export type ReadinessChecks = Readonly<Record<string, () => Promise<boolean>>>;

/** The names of the checks that do not hold. One that throws does not hold. */
export async function failingChecks(checks: ReadinessChecks): Promise<string[]> {
  const names = Object.keys(checks);
  const holds = await Promise.all(Object.values(checks).map((check) => check().catch(() => false)));
  return names.filter((_, at) => !holds[at]);
}
