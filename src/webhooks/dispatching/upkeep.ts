/** What a process that delivers does beside its looks, which must not wait for it: it records and removes. */
import { Aside } from "./aside.ts";
import type { DispatcherOptions } from "./options.ts";
import { Retention } from "./retention.ts";

export class Upkeep {
  readonly #options: DispatcherOptions;
  readonly #retention: Retention;
  readonly #retaining: Aside;
  readonly #recording: Aside;
  /** Whether a disabled webhook may not be recorded yet: also one of a process that died. */
  hasUnrecorded = true;

  constructor(options: DispatcherOptions, onFailure: (error: unknown) => void) {
    this.#options = options;
    this.#retention = new Retention(options);
    this.#retaining = new Aside(onFailure);
    this.#recording = new Aside(onFailure);
  }

  get isFailing(): boolean {
    return this.#recording.isFailing || this.#retaining.isFailing;
  }

  /** Begins what is due and is not being done. */
  begin(): void {
    this.#retaining.begin(() => this.#retention.run());
    if (this.hasUnrecorded) this.#recording.begin(() => this.#record());
  }

  async ended(): Promise<void> {
    await Promise.all([this.#recording.ended(), this.#retaining.ended()]);
  }

  async #record(): Promise<void> {
    this.hasUnrecorded = false;
    try {
      await this.#options.recordDisabled();
    } catch (error) {
      this.hasUnrecorded = true;
      throw error;
    }
  }
}
