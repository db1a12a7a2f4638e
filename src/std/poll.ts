import { setTimeout as pause } from "node:timers/promises";

export interface Poll {
  /** Resolves when the work in progress has ended. No more starts after the call. */
  stop(): Promise<void>;
}

/** Repeats `work` with a pause before each run. Failures are reported, and do not stop it. */
export function startPoll(everyMs: number, work: () => Promise<void>, onFailure: (error: unknown) => void): Poll {
  const stopping = new AbortController();
  const ended = (async () => {
    while (await pausedInFull(everyMs, stopping.signal)) await work().catch(onFailure);
  })();
  return {
    stop: () => {
      stopping.abort();
      return ended;
    },
  };
}

function pausedInFull(ms: number, signal: AbortSignal): Promise<boolean> {
  return pause(ms, true, { signal }).catch(() => false);
}
