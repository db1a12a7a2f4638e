/** Events as the lines of a table that grows downwards, with its head again on each screen. */
import type { CustomerId } from "../../customers/customer-id.ts";
import type { PublishedEvent } from "../../events/all-events.ts";
import { formatInstant } from "../../std/clock.ts";
import { printable } from "../../std/printable.ts";
import type { Colour, ColouredLine } from "../terminal.ts";

/** Standard output that is no terminal has no height. */
const SCREEN = 50;
const NAME_WIDTH = 20;
const TYPE_WIDTH = 42;
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

  /** @param height of the screen, in lines */
  async linesOf(events: readonly PublishedEvent[], height = SCREEN): Promise<ColouredLine[]> {
    const lines: ColouredLine[] = [];
    for (const event of events) {
      if (this.#left <= 0) {
        lines.push({ text: lineOf("TIME (UTC)", "CUSTOMER", "NUMBER", "EVENT", "OBJECT"), colour: "cyan" });
        this.#left = Math.max(1, height - 2);
      }
      this.#left -= 1;
      const { at, number, type, objectId } = event;
      const time = formatInstant(at).slice("2026-11-21T".length, -1);
      const text = lineOf(time, await this.#name(event.customerId), number.toString(), type, objectId);
      lines.push({ text, colour: colourOf(type) });
    }
    return lines;
  }

  async #name(customerId: CustomerId): Promise<string> {
    const known = this.#names.get(customerId);
    if (known !== undefined) return known;
    if (this.#names.size >= MOST_NAMES) this.#names.clear();
    const name = shortened(printable((await this.#nameOf(customerId)) ?? customerId));
    this.#names.set(customerId, name);
    return name;
  }
}

function lineOf(time: string, customer: string, number: string, type: string, object: string): string {
  return `${time.padEnd(12)}  ${customer.padEnd(NAME_WIDTH)}  ${number.padStart(8)}  ${type.padEnd(TYPE_WIDTH)}  ${object}`;
}

function shortened(name: string): string {
  const characters = [...name];
  return characters.length <= NAME_WIDTH ? name : `${characters.slice(0, NAME_WIDTH - 1).join("")}…`;
}

/** By what became of it: done, under way, ended without effect, or new. */
function colourOf(type: PublishedEvent["type"]): Colour {
  if (/\.(?:completed|settled|filled|created|activated|resumed)$/.test(type) && !OPENING.has(type)) return "green";
  if (/\.(?:failed|rejected|cancelled|expired|deactivated|halted)$/.test(type)) return "red";
  return OPENING.has(type) ? "grey" : "yellow";
}

/** That something began. */
const OPENING: ReadonlySet<string> = new Set(["conversion.created", "order.created", "profile.created"]);
