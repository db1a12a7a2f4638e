/**
 * How far long work is, on standard error: a bar on a terminal, else a line every half a minute. Work that reports its
 * progress can be interrupted where it does.
 */
const BAR = 30;
const BAR_EVERY_MS = 100;
/** Without reports, so that a long step does not look like a hang. */
const BAR_AT_LEAST_EVERY_MS = 1_000;
const LINE_EVERY_MS = 30_000;

type Stream = Pick<NodeJS.WriteStream, "isTTY" | "write" | "columns">;

export interface ProgressOptions {
  /** Begins the line, such as "copying". */
  readonly what: string;
  /** Of `total` and `add`, such as "records". */
  readonly unit?: string;
  /** May be an estimate. Undefined: not known. */
  readonly total?: number;
  /** Nothing is shown, for output that programs read. */
  readonly quiet?: boolean | undefined;
  /** Once aborted, `add` throws its reason. */
  readonly stopping?: AbortSignal | undefined;
  readonly stream?: Stream;
}

export class Progress {
  readonly #options: ProgressOptions;
  readonly #stream: Stream;
  readonly #startedAt = performance.now();
  readonly #timer: NodeJS.Timeout | undefined;
  #what: string;
  #total: number | undefined;
  #shownAt = Number.NEGATIVE_INFINITY;
  #done = 0;

  constructor(options: ProgressOptions) {
    const { what, total, quiet = false, stream = process.stderr } = options;
    this.#what = what;
    this.#options = options;
    this.#stream = stream;
    this.#total = total;
    if (quiet) return;
    this.#timer = setInterval(() => this.#show(), stream.isTTY ? BAR_AT_LEAST_EVERY_MS : LINE_EVERY_MS).unref();
  }

  /** The next step, of work that does not know how far it is. */
  step(what: string): void {
    this.#options.stopping?.throwIfAborted();
    this.#what = what;
  }

  /** Of work that learns its total after it has begun. */
  expect(total: number): void {
    this.#total = total;
  }

  /** @throws The reason of `stopping`. */
  add(count: number): void {
    this.#options.stopping?.throwIfAborted();
    this.#done += count;
    const isDue = this.#stream.isTTY && performance.now() - this.#shownAt >= BAR_EVERY_MS;
    if (isDue && this.#timer !== undefined) this.#show();
  }

  /** All is done: an estimated total was not exact. */
  complete(): void {
    if (this.#total !== undefined) this.#total = this.#done;
  }

  /** Ends the line of the bar. */
  end(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    if (!this.#stream.isTTY) return;
    this.#show();
    this.#stream.write("\n");
  }

  #show(): void {
    this.#shownAt = performance.now();
    const text = `${this.#what}: ${this.#text()}`;
    if (!this.#stream.isTTY) {
      this.#stream.write(`${text}\n`);
      return;
    }
    // A line that wraps could not be written over. What is left of a longer one is erased (ECMA-48: EL).
    const columns = (this.#stream.columns || 80) - 1;
    const line = `${this.#bar(columns - text.length)}${text}`.slice(0, columns);
    this.#stream.write(`\r${line}\u001b[K`);
  }

  #bar(columns: number): string {
    const width = Math.min(BAR, columns - "[] ".length);
    if (this.#total === undefined || width < 3) return "";
    const part = this.#total === 0 ? 1 : Math.min(1, this.#done / this.#total);
    const filled = Math.round(width * part);
    return `[${"#".repeat(filled)}${"-".repeat(width - filled)}] `;
  }

  #text(): string {
    const seconds = (performance.now() - this.#startedAt) / 1_000;
    if (this.#total === undefined) return timeText(seconds);
    const total = Math.max(this.#total, this.#done);
    const rate = seconds > 0 ? this.#done / seconds : 0;
    const pace = rate > 0 ? `, ${rateText(rate)}, ${timeText((total - this.#done) / rate)} left` : "";
    const { unit } = this.#options;
    return `${count(this.#done)} of ${count(total)}${unit ? ` ${unit}` : ""}${pace}`;
  }
}

/** Shows how far `work` is until it ends, however it ends. */
export async function withProgress<Value>(
  options: ProgressOptions,
  work: (progress: Progress) => Promise<Value>,
): Promise<Value> {
  const progress = new Progress(options);
  try {
    const value = await work(progress);
    progress.complete();
    return value;
  } finally {
    progress.end();
  }
}

const count = (number: number): string => Math.round(number).toLocaleString("en-US");

/** In the shortest time in which there is at least one. */
function rateText(perSecond: number): string {
  if (perSecond >= 1) return `${count(perSecond)} a second`;
  return perSecond * 60 >= 1 ? `${count(perSecond * 60)} a minute` : `${count(perSecond * 3_600)} an hour`;
}

function timeText(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  return minutes < 60 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
