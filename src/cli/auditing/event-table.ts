/** Events as the lines of a table that grows downwards, with its head again on each screen. */
import type { CustomerId } from "../../customers/customer-id.ts";
import type { PublishedEvent } from "../../events/all-events.ts";
import { EVENT_TYPES } from "../../events/event-types.ts";
import { formatInstant } from "../../std/clock.ts";
import { printable } from "../../std/printable.ts";
import type { Colour, ColouredLine } from "../terminal.ts";

/** Standard output, which has neither if it is no terminal, and 0 of a terminal that does not know its size. */
interface Screen {
  readonly rows?: number;
  readonly columns?: number;
}

const ROWS = 50;
const TIME_WIDTH = "09:30:00.007".length;
const NAME = { least: 8, most: 20 };
const NUMBER_WIDTH = 8;
const TYPE_WIDTH = Math.max(...EVENT_TYPES.map((type) => type.length));
/** A UUID, or of it the end: its beginning is a time. */
const OBJECT = { least: 8, most: 36 };
const GAP = "  ";
/** Names that are remembered: they never change. */
const MOST_NAMES = 10_000;

export class EventTable {
  readonly #nameOf: (customerId: CustomerId) => Promise<string | undefined>;
  readonly #names = new Map<CustomerId, string>();
  /** Lines that still fit below the head. */
  #left = 0;

  constructor(nameOf: (customerId: CustomerId) => Promise<string | undefined>) {
    this.#nameOf = nameOf;
  }

  async linesOf(events: readonly PublishedEvent[], { rows, columns }: Screen = {}): Promise<ColouredLine[]> {
    const lines: ColouredLine[] = [];
    const widths = widthsIn(columns || undefined);
    for (const event of events) {
      if (this.#left <= 0) {
        lines.push({ text: lineOf(widths, "TIME (UTC)", "CUSTOMER", "NUMBER", "EVENT", "OBJECT"), colour: "cyan" });
        this.#left = Math.max(1, (rows || ROWS) - 2);
      }
      this.#left -= 1;
      const { at, number, type, objectId } = event;
      const time = formatInstant(at).slice("2026-11-21T".length, -1);
      const text = lineOf(widths, time, await this.#name(event.customerId), number.toString(), type, objectId);
      lines.push({ text, colour: colourOf(type) });
    }
    return lines;
  }

  async #name(customerId: CustomerId): Promise<string> {
    const known = this.#names.get(customerId);
    if (known !== undefined) return known;
    if (this.#names.size >= MOST_NAMES) this.#names.clear();
    const name = printable((await this.#nameOf(customerId)) ?? customerId);
    this.#names.set(customerId, name);
    return name;
  }
}

interface Widths {
  readonly name: number;
  /** 0: there is no room for it. */
  readonly object: number;
}

/** So that no line is wrapped: the object is shortened first, then left out, then the name is shortened. */
function widthsIn(columns: number | undefined): Widths {
  if (columns === undefined) return { name: NAME.most, object: OBJECT.most };
  const left = columns - TIME_WIDTH - NUMBER_WIDTH - TYPE_WIDTH - 3 * GAP.length;
  const object = Math.min(OBJECT.most, left - NAME.most - GAP.length);
  if (object >= OBJECT.least) return { name: NAME.most, object };
  return { name: Math.max(NAME.least, Math.min(NAME.most, left)), object: 0 };
}

function lineOf(
  { name, object: objectWidth }: Widths,
  ...[time, customer, number, type, object]: readonly [string, string, string, string, string]
): string {
  const cells = [time.padEnd(TIME_WIDTH), beginningOf(customer, name).padEnd(name), number.padStart(NUMBER_WIDTH)];
  if (objectWidth === 0) return [...cells, type].join(GAP);
  return [...cells, type.padEnd(TYPE_WIDTH), endOf(object, objectWidth)].join(GAP);
}

function beginningOf(text: string, width: number): string {
  const characters = [...text];
  return characters.length <= width ? text : `${characters.slice(0, width - 1).join("")}…`;
}

function endOf(text: string, width: number): string {
  return text.length <= width ? text : `…${text.slice(1 - width)}`;
}

/** By what became of it: done, under way, ended without effect, or new. */
function colourOf(type: PublishedEvent["type"]): Colour {
  if (/\.(?:completed|settled|filled|created|activated|resumed)$/.test(type) && !OPENING.has(type)) return "green";
  if (/\.(?:failed|rejected|cancelled|expired|deactivated|halted)$/.test(type)) return "red";
  return OPENING.has(type) ? "grey" : "yellow";
}

/** That something began. */
const OPENING: ReadonlySet<string> = new Set(["conversion.created", "order.created", "profile.created"]);
