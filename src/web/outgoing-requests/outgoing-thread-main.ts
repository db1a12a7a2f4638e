/** What the thread of `OutgoingThread` runs. */
import { parentPort, workerData } from "node:worker_threads";
import { must } from "../../std/assert.ts";
import type { OutgoingPolicy } from "./outgoing-policy.ts";
import { type OutgoingRequest, OutgoingRequests } from "./outgoing-requests.ts";
import type { FromThread, ToThread } from "./outgoing-thread.ts";

const port = must(parentPort ?? undefined, "it is started as a thread");
const requests = new OutgoingRequests(workerData as OutgoingPolicy);
const cancels = new Map<number, AbortController>();

port.on("message", (message: ToThread) => {
  if (message === "heartbeat") port.postMessage("heartbeat" satisfies FromThread);
  else if (message.request === undefined) cancels.get(message.number)?.abort();
  else void answer(message.number, message.request);
});

async function answer(number: number, request: Omit<OutgoingRequest, "signal">): Promise<void> {
  const cancel = new AbortController();
  cancels.set(number, cancel);
  const outcome = await requests.post({ ...request, signal: cancel.signal });
  cancels.delete(number);
  port.postMessage({ number, outcome } satisfies FromThread);
}
