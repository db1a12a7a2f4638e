/** How far a long command is: a bar on a terminal, else a line every half a minute. On standard error. */
const BAR = 30;
const BAR_EVERY_MS = 100;
const LINE_EVERY_MS = 30_000;

type Stream = Pick<NodeJS.WriteStream, "isTTY" | "write">;

export class Progress {
  readonly #total: number;
  readonly #stream: Stream;
  readonly #now: () => number;
  readonly #startedAt: number;
  #shownAt: number;
  #done = 0;

  /** @param now monotonic, in milliseconds */
  constructor(total: number, stream: Stream = process.stderr, now: () => number = () => performance.now()) {
    this.#total = total;
    this.#stream = stream;
    this.#now = now;
    this.#startedAt = now();
    this.#shownAt = this.#stream.isTTY ? Number.NEGATIVE_INFINITY : this.#startedAt;
  }

  add(count: number): void {
    this.#done += count;
    if (this.#now() - this.#shownAt >= (this.#stream.isTTY ? BAR_EVERY_MS : LINE_EVERY_MS)) this.#show();
  }

  /** Ends the line of the bar. */
  end(): void {
    if (!this.#stream.isTTY) return;
    this.#show();
    this.#stream.write("\n");
  }

  #show(): void {
    this.#shownAt = this.#now();
    if (!this.#stream.isTTY) {
      this.#stream.write(`${this.#text()}\n`);
      return;
    }
    const filled = Math.round((BAR * this.#done) / this.#total);
    // The rest of a longer line before is erased (ECMA-48: EL).
    this.#stream.write(`\r[${"#".repeat(filled)}${"-".repeat(BAR - filled)}] ${this.#text()}\u001b[K`);
  }

  #text(): string {
    const seconds = (this.#now() - this.#startedAt) / 1_000;
    const rate = seconds > 0 ? this.#done / seconds : 0;
    const left = rate > 0 ? `, ${timeText((this.#total - this.#done) / rate)} left` : "";
    return `${count(this.#done)} of ${count(this.#total)}, ${count(Math.round(rate))} a second${left}`;
  }
}

const count = (number: number): string => number.toLocaleString("en-US");

function timeText(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  return minutes < 60 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
