/**
 * Outgoing requests in a thread of their own. Every handshake of TLS costs what the other side makes it cost, before its
 * certificate is judged: that must be taken from nothing else that this process does.
 *
 * The thread is asked once a second whether it runs. One that has not answered for ten of these is stuck: it is terminated,
 * what it had in flight has failed, and the next request starts another one.
 */
import { Worker } from "node:worker_threads";
import { steadyClock } from "../../std/clock.ts";
import type { OutgoingPolicy } from "./outgoing-policy.ts";
import { type Answered, type OutgoingRequest, TIMEOUT_MS, type Unanswered } from "./outgoing-requests.ts";

/** To the thread: whether it runs, a request, or that its answer is no longer wanted. */
export type ToThread =
  | "heartbeat"
  | { readonly number: number; readonly request: Omit<OutgoingRequest, "signal"> }
  | { readonly number: number; readonly request: undefined };

export type FromThread = "heartbeat" | { readonly number: number; readonly outcome: Answered | Unanswered };

const HEARTBEAT_MS = 1_000;
/** In a row. Counted, because time goes on for a process that is stopped, and for the thread it does not. */
const MOST_MISSED = 10;
/** The thread keeps its own time limits. When they are over for so long, it is not running. */
const PATIENCE_MS = 10_000;
/** Of its heap: a thousand requests and answers of some KiB. */
const MAX_HEAP_MIB = 256;
/** After it has ended or was terminated, which is a bug, for so long nothing is sent. */
const REST_MS = 1_000;
const MAIN = new URL("./outgoing-thread-main.js", import.meta.url);

/** Only tests change these. */
interface ThreadOptions {
  readonly main?: URL;
  readonly heartbeatMs?: number;
}

export class OutgoingThread {
  readonly #policy: OutgoingPolicy;
  readonly #onEnded: (error: Error) => void;
  readonly #main: URL;
  readonly #heartbeatMs: number;
  readonly #waiting = new Map<number, (outcome: Answered | Unanswered) => void>();
  #worker: Worker | undefined;
  #lastNumber = 0;
  #endedAt = Number.NEGATIVE_INFINITY;

  /** @param onEnded called if the thread ends by a bug, or was stuck; the next request starts another one */
  constructor(
    policy: OutgoingPolicy,
    onEnded: (error: Error) => void,
    { main = MAIN, heartbeatMs = HEARTBEAT_MS }: ThreadOptions = {},
  ) {
    this.#policy = policy;
    this.#onEnded = onEnded;
    this.#main = main;
    this.#heartbeatMs = heartbeatMs;
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
    const worker = new Worker(this.#main, {
      workerData: this.#policy,
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB },
    });
    let missed = 0;
    worker.on("message", (message: FromThread) => {
      missed = 0;
      if (message !== "heartbeat") this.#settle(message);
    });
    const beating = setInterval(() => {
      if (missed >= MOST_MISSED) {
        end(new Error(`it was stuck: it has not answered ${missed} heartbeats`));
        void worker.terminate();
        return;
      }
      missed += 1;
      worker.postMessage("heartbeat" satisfies ToThread);
    }, this.#heartbeatMs).unref();
    const end = (error: Error): void => {
      if (this.#worker !== worker) return;
      clearInterval(beating);
      this.#worker = undefined;
      this.#endedAt = steadyClock.now();
      for (const settle of [...this.#waiting.values()]) settle(notSent(0));
      this.#onEnded(error);
    };
    worker.once("error", end).once("exit", (code) => end(new Error(`it ended with ${code}`)));
    // It ends with the process, which it does not keep from ending. Last, because a listener for messages would.
    worker.unref();
    return worker;
  }

  #settle({ number, outcome }: Exclude<FromThread, "heartbeat">): void {
    // A Buffer arrives as what it is made of.
    this.#waiting.get(number)?.(
      outcome.kind === "answered" ? { ...outcome, answer: Buffer.from(outcome.answer) } : outcome,
    );
  }
}

const notSent = (ms: number): Unanswered => ({
  kind: "unanswered",
  reason: "cancelled",
  detail: "the service did not finish it",
  ms: Math.round(ms),
});
