/** What somebody waits at until it is rung. A ring while nobody waits is heard by the next who does. */
export class WakeSignal {
  #rung = false;
  #hear: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#hear?.();
  }

  /** Answers when it is rung, or was since the last wait, or when the time is over. One waits at a time. */
  async wait(ms?: number): Promise<void> {
    if (!this.#rung) await this.#untilHeard(ms);
    this.#rung = false;
  }

  async #untilHeard(ms: number | undefined): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#hear = resolve;
      if (ms !== undefined) timer = setTimeout(resolve, ms);
    });
    clearTimeout(timer);
    this.#hear = undefined;
  }
}
