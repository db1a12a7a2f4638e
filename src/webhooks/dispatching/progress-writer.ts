/**
 * Writes what was delivered, of all webhooks in one statement, soon after the last one: a crash repeats what was answered
 * since. One write at a time; what fails is written with the next one.
 */
import type { Database } from "../../postgres/database.ts";
import type { Clock } from "../../std/clock.ts";
import { WakeSignal } from "../../std/wake-signal.ts";
import type { Attempt } from "../attempt.ts";
import { type WebhookChanges, writeChanges } from "../store.ts";
import type { Line } from "./line.ts";

/** As long as a write took, so that writing takes at most half of the time; within these. */
const SHORTEST_REST_MS = 20;
const LONGEST_REST_MS = 50;
const FAILURE_PAUSE_MS = 500;
const LINES_AT_ONCE = 500;
/** Attempts that wait to be written. Nothing more is sent while there are so many, so a crash repeats no more. */
const MOST_UNWRITTEN = 1_000;

interface Options {
  readonly database: Database;
  /** In which the lines were opened. */
  readonly history: string;
  readonly clock: Clock;
  readonly onFailure: (error: unknown) => void;
  /** Of each that was written; it may be stale now. */
  readonly onWritten: (line: Line) => void;
}

export class ProgressWriter {
  readonly #options: Options;
  #changed = new Set<Line>();
  /** What the write under way is about. */
  #writing: readonly Line[] = [];
  #attempts: Attempt[] = [];
  readonly #wake = new WakeSignal();
  #isFailing = false;
  #isEnded = false;

  constructor(options: Options) {
    this.#options = options;
  }

  onChange(line: Line): void {
    this.#changed.add(line);
    this.#wake.notify();
  }

  onAttempt(attempt: Attempt): void {
    this.#attempts.push(attempt);
  }

  /** So much is not written yet, or cannot be, that nothing more should be sent. */
  get isBehind(): boolean {
    return this.#isFailing || this.#attempts.length >= MOST_UNWRITTEN;
  }

  hasUnwritten(line: Line): boolean {
    return this.#changed.has(line) || this.#writing.includes(line);
  }

  async run(): Promise<void> {
    const rest = new WakeSignal();
    while (!this.#isEnded) {
      await this.#wake.wait();
      const beganMs = performance.now();
      await this.write().catch((error: unknown) => this.#options.onFailure(error));
      const restMs = Math.min(Math.max(performance.now() - beganMs, SHORTEST_REST_MS), LONGEST_REST_MS);
      await rest.wait(this.#isFailing ? FAILURE_PAUSE_MS : restMs);
    }
  }

  end(): void {
    this.#isEnded = true;
    this.#wake.notify();
  }

  /** @throws what the database throws; then nothing is lost, and may have been written */
  async write(): Promise<void> {
    while (this.#changed.size + this.#attempts.length > 0) await this.#writeSome();
  }

  async #writeSome(): Promise<void> {
    const { database, history, clock, onWritten } = this.#options;
    const lines = [...this.#changed].slice(0, LINES_AT_ONCE);
    const attempts = this.#attempts.slice(0, MOST_UNWRITTEN);
    for (const line of lines) this.#changed.delete(line);
    const taken = lines
      .filter(({ state }) => state !== "stale")
      .map((line) => ({ line, changes: line.queue.takeChanges() }))
      .flatMap(({ line, changes }) => (changes === undefined ? [] : [{ line, changes }]));
    if (taken.length + attempts.length === 0) return;
    this.#writing = taken.map(({ line }) => line);
    try {
      const written = await writeChanges(
        database.commits,
        history,
        taken.map(({ line, changes }): WebhookChanges => ({ ...changes, webhookId: line.id, version: line.version })),
        attempts,
        clock.now(),
      );
      this.#isFailing = false;
      this.#attempts.splice(0, attempts.length);
      for (const { line, changes } of taken) {
        if (written.has(line.id)) line.queue.onWritten(changes);
        else line.state = "stale";
      }
    } catch (error) {
      this.#isFailing = true;
      for (const { line, changes } of taken) line.queue.onNotWritten(changes);
      for (const line of lines) this.onChange(line);
      throw error;
    } finally {
      this.#writing = [];
    }
    for (const { line } of taken) onWritten(line);
  }
}
