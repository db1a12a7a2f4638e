export interface Poll {
  /** Resolves when the work in progress has ended. No more starts after the call. */
  stop(): Promise<void>;
}

/** Repeats `work` with a pause before each run, which does not keep the process alive. Failures are reported, and do not stop it. */
export function startPoll(everyMs: number, work: () => Promise<void>, onFailure: (error: unknown) => void): Poll {
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let working = Promise.resolve();
  const wait = (): void => {
    if (isStopped) return;
    timer = setTimeout(() => {
      working = work().catch(onFailure).then(wait);
    }, everyMs).unref();
  };
  wait();
  return {
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
      return working;
    },
  };
}
