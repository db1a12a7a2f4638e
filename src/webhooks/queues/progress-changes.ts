/** Whether the progress of a webhook has changed since it was written. One write at a time. */
import type { Changes, Progress } from "./delivery-queue.ts";
import type { OpenRows } from "./open-rows.ts";

export class ProgressChanges {
  #written: Progress;

  constructor(written: Progress) {
    this.#written = written;
  }

  take(current: Progress, rows: OpenRows): Changes | undefined {
    if (!rows.hasChanges && isEqual(current, this.#written)) return undefined;
    return { progress: current, rows: rows.takeChanges() };
  }

  onWritten({ progress }: Changes): void {
    this.#written = progress;
  }
}

function isEqual(a: Progress, b: Progress): boolean {
  return (
    a.readTo === b.readTo &&
    a.accepted.length === b.accepted.length &&
    a.accepted.every((number, place) => number === b.accepted[place]) &&
    a.batchEnd === b.batchEnd &&
    a.failingSince === b.failingSince &&
    a.lastFailureAt === b.lastFailureAt &&
    a.lastSuccessAt === b.lastSuccessAt
  );
}
