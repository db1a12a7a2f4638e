import { Gauge, type Registry } from "prom-client";

/** One value, and what it is of. */
export type Reading<Label extends string> = readonly [labels: Readonly<Record<Label, string>>, value: number];

/**
 * A gauge that is read when it is asked for. What is not among the readings is not there: a value that nobody knows any
 * more must not go on being served.
 */
export function gauge<Label extends string>(
  registry: Registry,
  { name, help, labels }: { readonly name: string; readonly help: string; readonly labels: readonly Label[] },
  read: () => readonly Reading<Label>[],
): void {
  new Gauge({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    collect() {
      this.reset();
      // Without labels a reset leaves a zero, which would be a value.
      if (labels.length === 0) this.remove();
      for (const [of, value] of read()) this.set(of as Record<Label, string>, value);
    },
  });
}

/** A gauge with one value, or none while that is not known. */
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
