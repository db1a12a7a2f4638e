import type { Brand } from "./brand.ts";
import { type Clock, type Instant, systemClock } from "./clock.ts";
import { type Random, systemRandom } from "./random.ts";

/** A UUID in its canonical form: 36 characters, lower case. */
export type Uuid = Brand<string, "Uuid">;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Reads a UUID of any version, in either case. @returns undefined if it is not one */
export function parseUuid(text: string): Uuid | undefined {
  return UUID.test(text) ? (text.toLowerCase() as Uuid) : undefined;
}

/**
 * How far the last id may be ahead of the clock. Counter overflow and corrections of a healthy clock stay far below. If
 * the clock is further back, it was wrong before; continuing from there would misdate all ids until it catches up.
 */
const MAX_AHEAD_MS = 5_000;

const HEX_DIGITS = Buffer.from("0123456789abcdef");

/**
 * Generates UUIDs of version 7 (RFC 9562, section 5.7): 48 bits of milliseconds, a counter, and random bits. The ids of a
 * process increase, also within a millisecond and when the clock is set back by less than 5 s, so that ordering by id is
 * ordering by creation. After a larger step back they restart at the clock's time; then, as between processes, 61 random
 * bits keep them unique. Every id is even; `siblingId` returns the odd one beside it.
 */
export class IdSource {
  readonly #clock: Clock;
  readonly #random: Random;
  /** Random: 64 bits of the id, and the start of the counter. */
  readonly #bytes = Buffer.alloc(9);
  readonly #text = Buffer.alloc(36, "-");
  #millis = 0;
  /** 12 bits in `rand_a`: a low random start in each millisecond, then increments (RFC 9562, section 6.2, method 1). */
  #counter = 0;

  constructor(clock: Clock = systemClock, random: Random = systemRandom) {
    this.#clock = clock;
    this.#random = random;
  }

  next(): Uuid {
    this.#random.fill(this.#bytes);
    const now = this.#clock.now();
    if (now > this.#millis || now < this.#millis - MAX_AHEAD_MS) {
      this.#millis = now;
      this.#counter = ((this.#bytes[8] as number) << 2) & 0x3ff;
    } else if (++this.#counter > 0xfff) {
      this.#millis += 1;
      this.#counter = 0;
    }
    this.#bytes[0] = 0x80 | ((this.#bytes[0] as number) & 0x3f);
    this.#bytes[7] = (this.#bytes[7] as number) & 0xfe;
    return this.#write();
  }

  /**
   * Through bytes: a concatenated string would keep all its pieces in memory, ten times its size.
   */
  #write(): Uuid {
    this.#digits(0, 8, Math.floor(this.#millis / 0x10000));
    this.#digits(9, 4, this.#millis % 0x10000);
    this.#digits(14, 4, 0x7000 | this.#counter);
    this.#digits(19, 4, this.#bytes.readUInt16BE(0));
    this.#digits(24, 4, this.#bytes.readUInt16BE(2));
    this.#digits(28, 8, this.#bytes.readUInt32BE(4));
    return this.#text.toString("latin1") as Uuid;
  }

  #digits(at: number, count: number, value: number): void {
    let rest = value;
    for (let i = at + count - 1; i >= at; i -= 1) {
      this.#text[i] = HEX_DIGITS[rest & 0xf] as number;
      rest >>>= 4;
    }
  }
}

/**
 * The odd id beside an even one, and back. The two sides of a transfer are such a pair, so the link between them needs
 * no column or index.
 */
export function siblingId(id: Uuid): Uuid {
  const last = Number.parseInt(id.slice(35), 16);
  return (id.slice(0, 35) + (last ^ 1).toString(16)) as Uuid;
}

export const isOdd = (id: Uuid): boolean => Number.parseInt(id.charAt(35), 16) % 2 === 1;

/** The even one of a pair of ids. */
export const evenOf = (id: Uuid): Uuid => (isOdd(id) ? siblingId(id) : id);

/** The creation time in a version 7 UUID: its first 48 bits. */
export function instantOf(id: Uuid): Instant {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) as Instant;
}

/** The lowest id of a creation time, to turn bounds on times into bounds on ids. */
export function lowestId(instant: Instant): Uuid {
  const time = Math.max(0, Math.min(instant, 2 ** 48 - 1))
    .toString(16)
    .padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000` as Uuid;
}
