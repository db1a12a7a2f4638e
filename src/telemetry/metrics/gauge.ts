import { Gauge, type Registry } from "prom-client";

export type Sample<Label extends string> = readonly [labels: Readonly<Record<Label, string>>, value: number];

/**
 * A gauge read at scrape time. Label sets missing from the result are not exported, so that stale values disappear.
 */
export function gauge<Label extends string>(
  registry: Registry,
  { name, help, labels }: { readonly name: string; readonly help: string; readonly labels: readonly Label[] },
  read: () => readonly Sample<Label>[],
): void {
  new Gauge({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    collect() {
      this.reset();
      // Without labels, a reset leaves a zero.
      if (labels.length === 0) this.remove();
      for (const [of, value] of read()) this.set(of as Record<Label, string>, value);
    },
  });
}

/** A gauge with one value; not exported while undefined. */
export function plainGauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => number | undefined | Promise<number | undefined>,
): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      this.remove();
      const value = await read();
      if (value !== undefined) this.set(value);
    },
  });
}
