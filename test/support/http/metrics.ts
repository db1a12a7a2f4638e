/** The text of /metrics, as Prometheus reads it. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Scrape {
  readonly text: string;
  readonly samples: readonly Sample[];
  /** Of all families, those without a sample as well; of a histogram with its three suffixes. */
  readonly names: ReadonlySet<string>;
  /** The values of a metric whose labels contain these, added up; undefined when there is none. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined;
}

export async function scrape(url: string | undefined): Promise<Scrape> {
  if (url === undefined) throw new Error("this service serves no metrics");
  const answer = await fetch(url);
  if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}`);
  const text = await answer.text();
  const samples = text.split("\n").flatMap(readLine);
  return {
    text,
    samples,
    names: namesIn(text),
    value: (name, labels = {}) => {
      const found = samples.filter(
        (sample) =>
          sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
      );
      return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
    },
  };
}

function readLine(line: string): Sample[] {
  if (line === "" || line.startsWith("#")) return [];
  const [, name = "", , inside = "", value = ""] = /^(\w+)(\{(.*)\})? (\S+)$/.exec(line) ?? [];
  if (name === "") throw new Error(`not a line of the text format: ${line}`);
  const labels = [...inside.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, text]) => [label, text]);
  return [{ name, labels: Object.fromEntries(labels), value: Number(value) }];
}

function namesIn(text: string): Set<string> {
  const names = new Set<string>();
  for (const [, name = "", type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    names.add(name);
    if (type !== "histogram") continue;
    for (const suffix of ["bucket", "sum", "count"]) names.add(`${name}_${suffix}`);
  }
  return names;
}
