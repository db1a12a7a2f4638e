/** Whether what serving needs is there: what `/readyz` asks for on both addresses. */

/** Each answers whether something that serving needs is there, under the name that the refusal tells; or why it is not. */
export type ReadinessChecks = Readonly<Record<string, () => Promise<boolean | string>>>;

/** What has not said by then that it is there counts as missing: who balances load waits no longer than a few seconds. */
const PATIENCE_MS = 2_000;

/**
 * Returns the names of the checks that fail, with the reason if there is one. Concurrent callers share one run of the
 * checks: health checks are never limited, and a flood of them costs no more than one.
 */
export function watchReadiness(checks: ReadinessChecks, patienceMs = PATIENCE_MS): () => Promise<readonly string[]> {
  const watched = Object.entries(checks).map(([name, check]) => ({ name, holds: watch(check, patienceMs) }));
  return async () => {
    const answers = await Promise.all(watched.map(({ holds }) => holds()));
    return watched.flatMap(({ name }, at) => {
      const answer = answers[at];
      return answer === true ? [] : typeof answer === "string" ? `${name} (${answer})` : name;
    });
  };
}

/** A check that throws does not hold, and while one is under way no other is begun, however long it takes. */
function watch(check: () => Promise<boolean | string>, patienceMs: number): () => Promise<boolean | string> {
  let look: Promise<boolean | string> | undefined;
  return () => {
    look ??= check()
      .catch(() => false)
      .finally(() => {
        look = undefined;
      });
    return inTime(look, patienceMs);
  };
}

function inTime(answer: Promise<boolean | string>, patienceMs: number): Promise<boolean | string> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), patienceMs);
    void answer.then((holds) => {
      clearTimeout(timer);
      resolve(holds);
    });
  });
}
