/** How busy the thread of this process is. */

/** Of the time of the thread: above it, what can wait leaves it to others. */
export const BUSY = 0.8;

/** Shorter than the time between two adaptations of the pace of webhooks, so that each has a new figure. */
const SAMPLE_MS = 50;

export class ThreadLoad {
  #last = performance.eventLoopUtilization();
  #sampledAtMs = performance.now();
  #utilization = 0;

  /** Which part of the time it was busy, from 0 to 1: since it was asked for before, at least a twentieth of a second. */
  get utilization(): number {
    const nowMs = performance.now();
    if (nowMs - this.#sampledAtMs < SAMPLE_MS) return this.#utilization;
    this.#sampledAtMs = nowMs;
    const before = this.#last;
    this.#last = performance.eventLoopUtilization();
    this.#utilization = performance.eventLoopUtilization(this.#last, before).utilization;
    return this.#utilization;
  }
}
