/** Lines that callers can cause as often as they like: of each key some are written, or they would bury all others. */
import type { Logger } from "pino";
import { CountsPerSecond } from "../web/limits/counts-per-second.ts";

/** Of each key. */
const MOST = 10;

export class LinesPerSecond {
  readonly #log: Logger;
  readonly #counts: CountsPerSecond;
  #leftOut = 0;

  constructor(log: Logger, counts = new CountsPerSecond()) {
    this.#log = log;
    this.#counts = counts;
  }

  /** @returns where to write one more line, with `left_out`, how many were not written before it; undefined: not at all */
  next(key: string): Logger | undefined {
    if (this.#counts.add(key) > MOST) {
      this.#leftOut += 1;
      return undefined;
    }
    const log = this.#leftOut > 0 ? this.#log.child({ left_out: this.#leftOut }) : this.#log;
    this.#leftOut = 0;
    return log;
  }
}
