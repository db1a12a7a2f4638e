/**
 * All that was said to one customer, or to the operators, about records of one kind, and what is still owed an answer.
 */
import { assert, must } from "../../src/std/assert.ts";
import type { Lifecycle, Shown } from "./lifecycles.ts";

export const MOST_RECENT = 100;

export class Answers<Asked extends { readonly refId: string }> {
  readonly #lifecycle: Lifecycle;
  /** As they were shown last, by id. */
  readonly shown = new Map<string, Shown>();
  /** The ids of those that were shown for the first time lately. */
  readonly recent: string[] = [];
  /** By ref_id: sent, and no response yet that says whether it took effect. */
  readonly unanswered = new Map<string, Asked>();
  /** The ref_ids of those for which no response will come any more. */
  readonly unknown = new Set<string>();
  /** The ref_ids of what was rejected, which leaves no record. */
  readonly rejected = new Set<string>();
  /** Whose cancel was answered. */
  readonly cancelled = new Set<string>();

  constructor(lifecycle: Lifecycle) {
    this.#lifecycle = lifecycle;
  }

  sends(asked: Asked): void {
    this.unanswered.set(asked.refId, asked);
  }

  isRejected(refId: string): void {
    this.rejected.add(refId);
    this.unanswered.delete(refId);
  }

  /** Answers to requests that were under way together come in any order: what has gone on stays known as such. */
  isShown(record: Shown): void {
    const { isClosed, mayBecome, statusOf, expectFollows } = this.#lifecycle;
    const before = this.shown.get(record.id);
    if (before === undefined || (!isClosed(before) && mayBecome(before, statusOf(record))))
      this.shown.set(record.id, record);
    else if (isClosed(before) && isClosed(record)) expectFollows(before, record);
    if (before === undefined) this.recent.push(record.id);
    if (this.recent.length > MOST_RECENT) this.recent.shift();
    if (record.ref_id !== undefined) this.unanswered.delete(record.ref_id);
  }

  /** Holds all records that the service lists against all that it has said before. */
  expectKept(listed: readonly Shown[]): void {
    const byId = new Map(listed.map((record) => [record.id, record]));
    const refIds = new Set(listed.map((record) => record.ref_id));
    assert(byId.size === listed.length, "a record is listed once");
    assert(refIds.size === listed.length, "a ref_id has one record");
    for (const refId of this.rejected) assert(!refIds.has(refId), `what was rejected is not there: ${refId}`);
    for (const before of this.shown.values()) {
      const now = must(byId.get(before.id), `${this.#lifecycle.kind} ${before.id}, which was answered, is there`);
      this.#lifecycle.expectFollows(before, now);
      this.shown.set(now.id, now);
    }
  }

  /** Whether nothing is under way: nothing waits, and every cancel that was answered has ended its record. */
  isSettled(listed: readonly Shown[]): boolean {
    return listed.every((record) =>
      this.cancelled.has(record.id) ? this.#lifecycle.isClosed(record) : !this.#lifecycle.isPending(record),
    );
  }
}
