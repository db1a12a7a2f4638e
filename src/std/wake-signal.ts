/** A signal for one waiter at a time. A notification without a waiter is kept for the next wait. */
export class WakeSignal {
  #notified = false;
  #resolve: (() => void) | undefined;

  notify(): void {
    this.#notified = true;
    this.#resolve?.();
  }

  /** Resolves on a notification, also one since the last wait, or after `ms`. */
  async wait(ms?: number): Promise<void> {
    if (!this.#notified) await this.#untilNotified(ms);
    this.#notified = false;
  }

  async #untilNotified(ms: number | undefined): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#resolve = resolve;
      if (ms !== undefined) timer = setTimeout(resolve, ms);
    });
    clearTimeout(timer);
    this.#resolve = undefined;
  }
}
