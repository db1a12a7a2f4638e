/** How busy the thread of this process is. */
const SAMPLE_MS = 100;

export class ThreadLoad {
  #last = performance.eventLoopUtilization();
  #sampledAtMs = performance.now();
  #utilization = 0;

  /** Which part of the time it was busy, from 0 to 1: of the last tenth of a second, or since somebody asked. */
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
