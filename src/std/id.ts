import type { Brand } from "./brand.ts";
import { type Clock, type Instant, systemClock } from "./clock.ts";
import { type Random, systemRandom } from "./random.ts";

/** A UUID in its canonical form: 36 characters, lower case. */
export type Uuid = Brand<string, "Uuid">;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Reads a UUID of any version in the canonical layout; letters may be of either case. Undefined when it is not one. */
export function parseUuid(text: string): Uuid | undefined {
  return UUID.test(text) ? (text.toLowerCase() as Uuid) : undefined;
}

/**
 * How far the last id may be ahead of the clock. What the counter runs ahead by is far less (thousands of millions of ids
 * in these seconds), and so is a correction of a clock that is taken for right: a clock that is further behind has been
 * wrong before. Ids that went on from there would date all that is stored until real time has caught up.
 */
const MOST_AHEAD_MS = 5_000;

const HEX_DIGITS = Buffer.from("0123456789abcdef");

/**
 * Makes UUIDs of version 7 (RFC 9562, section 5.7): 48 bits of milliseconds, then a counter and chance.
 * The ids of one process rise, also within a millisecond and when the clock is set back a little, so that ordering by id
 * is ordering by creation. When it is set back by more, they begin anew at its time. A millisecond that comes a second time
 * has its ids told apart by chance alone, as those of several processes always are: 61 bits. Every id is even: `siblingId` gives the odd one beside it.
 */
export class IdSource {
  readonly #clock: Clock;
  readonly #random: Random;
  /** From chance: 64 bits of the id, and where the counter starts. */
  readonly #bytes = Buffer.alloc(9);
  readonly #text = Buffer.alloc(36, "-");
  #millis = 0;
  /** 12 bits in `rand_a`: starts low at random in each new millisecond, then counts (RFC 9562, section 6.2, method 1). */
  #counter = 0;

  constructor(clock: Clock = systemClock, random: Random = systemRandom) {
    this.#clock = clock;
    this.#random = random;
  }

  next(): Uuid {
    this.#random.fill(this.#bytes);
    const now = this.#clock.now();
    if (now > this.#millis || now < this.#millis - MOST_AHEAD_MS) {
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
   * As bytes first: a text that is put together from pieces keeps all of them, ten times its own size, for as long as
   * anybody remembers the id.
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
 * The odd id beside an even one. The two sides of a transfer are such a pair: whoever knows one can name the
 * other, so the link between them needs neither a column nor an index of its own.
 */
export function siblingId(id: Uuid): Uuid {
  const last = Number.parseInt(id.slice(35), 16);
  return (id.slice(0, 35) + (last ^ 1).toString(16)) as Uuid;
}

/** When an id of ours was made: the first 48 bits of a version 7 UUID. */
export function instantOf(id: Uuid): Instant {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) as Instant;
}

/** The lowest id that can have been made at this time: a bound on ids is a bound on creation times. */
export function lowestId(instant: Instant): Uuid {
  const time = Math.max(0, Math.min(instant, 2 ** 48 - 1))
    .toString(16)
    .padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000` as Uuid;
}
