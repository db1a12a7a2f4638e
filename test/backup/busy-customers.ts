/** Two customers at work, each with two requests at a time, and what they remember of it together. */
import { must } from "../../src/std/assert.ts";
import type { Ready } from "../cli/parbook.ts";
import { until } from "../support/until.ts";
import { BusyCustomer } from "./busy-customer.ts";

export class BusyCustomers {
  readonly #all = [new BusyCustomer("ann", 1), new BusyCustomer("bob", 2)];
  #day = { isOver: true };
  #working: Promise<unknown> = Promise.resolve();

  /** The file by which a service gets to know them. */
  get bootstrap(): string {
    return JSON.stringify({ customers: this.#all.map(({ entry }) => entry) });
  }

  /** A profile with money in it. */
  get treasury(): string {
    return must(this.#all[0], "there are customers").treasury;
  }

  async meet(ready: Pick<Ready, "base_url" | "auth_url">): Promise<void> {
    for (const customer of this.#all) await customer.meet(ready);
  }

  begin(): void {
    const day = { isOver: false };
    this.#day = day;
    this.#working = Promise.all(this.#all.flatMap((customer) => [customer.work(day), customer.work(day)]));
  }

  async end(): Promise<void> {
    this.#day.isOver = true;
    await this.#working;
  }

  answeredBefore(end: Date): number {
    return this.#count(({ answeredAt }) => answeredAt < end.getTime());
  }

  async untilMore(count: number): Promise<void> {
    const answers = () => this.#count(() => true);
    const wanted = answers() + count;
    await until(`there are ${count} more answers`, () => answers() >= wanted, 120);
  }

  /** Each finds what it remembers, see there; the counts are of all. */
  async expectKept(answeredBefore: Date, sentAfter?: Date): Promise<{ kept: number; gone: number }> {
    const counts = { kept: 0, gone: 0 };
    for (const customer of this.#all) {
      const { kept, gone } = await customer.expectKept(answeredBefore, sentAfter);
      counts.kept += kept;
      counts.gone += gone;
    }
    return counts;
  }

  #count(counts: (one: BusyCustomer["remembered"][number]) => boolean): number {
    return this.#all.reduce((total, { remembered }) => total + remembered.filter(counts).length, 0);
  }
}
