/** Work beside a loop that must not wait for it: one run at a time. */
export class Aside {
  readonly #onFailure: (error: unknown) => void;
  #running: Promise<void> | undefined;
  #isFailing = false;

  constructor(onFailure: (error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  /** Whether the last run that has ended failed. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  /** Does nothing while the run before it goes on. */
  begin(work: () => Promise<void>): void {
    this.#running ??= this.#run(work).finally(() => {
      this.#running = undefined;
    });
  }

  /** Resolves when nothing runs. */
  async ended(): Promise<void> {
    await this.#running;
  }

  async #run(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#isFailing = false;
    } catch (error) {
      this.#isFailing = true;
      this.#onFailure(error);
    }
  }
}
