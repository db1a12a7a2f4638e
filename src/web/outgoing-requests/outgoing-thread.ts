/**
 * Outgoing requests in a thread of their own. Every handshake of TLS costs what the other side makes it cost, before its
 * certificate is judged: that must be taken from nothing else that this process does.
 */
import { Worker } from "node:worker_threads";
import { steadyClock } from "../../std/clock.ts";
import type { OutgoingPolicy } from "./outgoing-policy.ts";
import { type Answered, type OutgoingRequest, TIMEOUT_MS, type Unanswered } from "./outgoing-requests.ts";

/** To the thread: a request, or that its answer is no longer wanted. */
export type ToThread =
  | { readonly number: number; readonly request: Omit<OutgoingRequest, "signal"> }
  | { readonly number: number; readonly request: undefined };

export interface FromThread {
  readonly number: number;
  readonly outcome: Answered | Unanswered;
}

/** The thread keeps its own time limits. When they are over for so long, it is not running. */
const PATIENCE_MS = 10_000;
/** Of its heap: a thousand requests and answers of some KiB. */
const MAX_HEAP_MIB = 256;
/** After it has ended, which is a bug, for so long nothing is sent. */
const REST_MS = 1_000;
const MAIN = new URL("./outgoing-thread-main.js", import.meta.url);

export class OutgoingThread {
  readonly #policy: OutgoingPolicy;
  readonly #onEnded: (error: Error) => void;
  readonly #waiting = new Map<number, (outcome: Answered | Unanswered) => void>();
  #worker: Worker | undefined;
  #lastNumber = 0;
  #endedAt = Number.NEGATIVE_INFINITY;

  /** @param onEnded called if the thread ends by a bug; the next request starts another one */
  constructor(policy: OutgoingPolicy, onEnded: (error: Error) => void) {
    this.#policy = policy;
    this.#onEnded = onEnded;
  }

  /** As `OutgoingRequests.post`. */
  post({ signal, ...request }: OutgoingRequest): Promise<Answered | Unanswered> {
    const begun = steadyClock.now();
    const worker = this.#running();
    if (worker === undefined || signal?.aborted) return Promise.resolve(notSent(0));
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    return new Promise((resolve) => {
      const settle = (outcome: Answered | Unanswered): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", cancel);
        this.#waiting.delete(number);
        resolve(outcome);
      };
      const giveUp = (): void => {
        worker.postMessage({ number, request: undefined } satisfies ToThread);
        settle(notSent(steadyClock.now() - begun));
      };
      const cancel = (): void => giveUp();
      const timer = setTimeout(giveUp, (request.timeoutMs ?? TIMEOUT_MS) + PATIENCE_MS);
      signal?.addEventListener("abort", cancel);
      this.#waiting.set(number, settle);
      worker.postMessage({ number, request } satisfies ToThread);
    });
  }

  #running(): Worker | undefined {
    if (steadyClock.now() - this.#endedAt < REST_MS) return undefined;
    this.#worker ??= this.#start();
    return this.#worker;
  }

  #start(): Worker {
    const worker = new Worker(MAIN, {
      workerData: this.#policy,
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB },
    });
    // It ends with the process, which it does not keep from ending.
    worker.unref();
    worker.on("message", ({ number, outcome }: FromThread) => {
      // A Buffer arrives as what it is made of.
      this.#waiting.get(number)?.(
        outcome.kind === "answered" ? { ...outcome, answer: Buffer.from(outcome.answer) } : outcome,
      );
    });
    const end = (error: Error): void => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      this.#endedAt = steadyClock.now();
      for (const settle of [...this.#waiting.values()]) settle(notSent(0));
      this.#onEnded(error);
    };
    worker.once("error", end).once("exit", (code) => end(new Error(`it ended with ${code}`)));
    return worker;
  }
}

const notSent = (ms: number): Unanswered => ({
  kind: "unanswered",
  reason: "cancelled",
  detail: "the service did not finish it",
  ms: Math.round(ms),
});
