/** Readiness checks, for `/readyz` on both servers. */

/** By name, as in the response. Each returns true, or false, or the reason why the service cannot serve. */
export type ReadinessChecks = Readonly<Record<string, () => Promise<boolean | string>>>;

/** A check that takes longer has failed: load balancers wait no longer than a few seconds. */
const TIME_LIMIT_MS = 2_000;

/**
 * Returns the names of the checks that fail, with the reason if there is one. Concurrent callers share one run of the
 * checks: health checks are never limited, and a flood of them costs no more than one.
 */
export function watchReadiness(checks: ReadinessChecks, limitMs = TIME_LIMIT_MS): () => Promise<readonly string[]> {
  const watched = Object.entries(checks).map(([name, check]) => ({ name, holds: watch(check, limitMs) }));
  return async () => {
    const answers = await Promise.all(watched.map(({ holds }) => holds()));
    return watched.flatMap(({ name }, at) => {
      const answer = answers[at];
      return answer === true ? [] : typeof answer === "string" ? `${name} (${answer})` : name;
    });
  };
}

/** A check that throws has failed. While a run is in progress, however long, no other starts. */
function watch(check: () => Promise<boolean | string>, limitMs: number): () => Promise<boolean | string> {
  let running: Promise<boolean | string> | undefined;
  return () => {
    running ??= check()
      .catch(() => false)
      .finally(() => {
        running = undefined;
      });
    return inTime(running, limitMs);
  };
}

function inTime(answer: Promise<boolean | string>, limitMs: number): Promise<boolean | string> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), limitMs);
    void answer.then((holds) => {
      clearTimeout(timer);
      resolve(holds);
    });
  });
}
