import { setTimeout as pause } from "node:timers/promises";

export interface Poll {
  /** Answers when the work that is under way has ended; none begins after. */
  stop(): Promise<void>;
}

/** Does something again and again, with a pause before each time. A failure is told, and the next time comes. */
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
