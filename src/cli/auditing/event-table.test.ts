import { expect, test } from "vitest";
import type { CustomerId } from "../../customers/customer-id.ts";
import type { PublishedEvent } from "../../events/all-events.ts";
import type { Instant } from "../../std/clock.ts";
import { EventTable } from "./event-table.ts";

const CUSTOMER = "0190d5a4-1111-7000-8001-000000000001" as CustomerId;

function eventOf(number: number, type: PublishedEvent["type"]): PublishedEvent {
  const at = Date.UTC(2026, 10, 21, 9, 30, 0, 7) as Instant;
  return { at, customerId: CUSTOMER, number: BigInt(number), type, objectId: "0190d5a4", version: 1n };
}

test("events are lines with their time, customer, number, type and object, under a head", async () => {
  const table = new EventTable(async () => "Acme");
  expect(await table.linesOf([eventOf(1, "order.created"), eventOf(2, "order.filled")])).toEqual([
    {
      text: "TIME (UTC)    CUSTOMER                NUMBER  EVENT                                        OBJECT",
      colour: "cyan",
    },
    {
      text: "09:30:00.007  Acme                         1  order.created                                0190d5a4",
      colour: "grey",
    },
    {
      text: "09:30:00.007  Acme                         2  order.filled                                 0190d5a4",
      colour: "green",
    },
  ]);
});

test("each screen has the head, and what has failed or is under way has a colour of its own", async () => {
  const table = new EventTable(async () => "Acme");
  const types = ["order.open", "order.rejected", "market.halted", "transfer.wire_deposit.pending"] as const;
  const lines = await table.linesOf(
    types.map((type, place) => eventOf(place + 1, type)),
    { rows: 4 },
  );
  expect(lines.map(({ colour }) => colour)).toEqual(["cyan", "yellow", "red", "cyan", "red", "yellow"]);
  // A terminal that does not know its size has one head for long.
  const many = await new EventTable(async () => "Acme").linesOf(
    Array.from({ length: 49 }, (_, place) => eventOf(place + 1, "order.open")),
    { rows: 0 },
  );
  expect(many.flatMap(({ colour }, place) => (colour === "cyan" ? [place] : []))).toEqual([0, 49]);
});

test("a narrow terminal shows the end of the object, then none, then a shorter name, and never a line too long", async () => {
  const shown = async (columns: number) => {
    const table = new EventTable(async () => "A customer of 21 char");
    const event = { ...eventOf(1, "transfer.platform_transfer_credit.completed"), objectId: CUSTOMER };
    return (await table.linesOf([event], { columns })).map(({ text }) => text.trimEnd());
  };
  expect(await shown(127)).toEqual([
    "TIME (UTC)    CUSTOMER                NUMBER  EVENT                                        OBJECT",
    "09:30:00.007  A customer of 21 ch…         1  transfer.platform_transfer_credit.completed  0190d5a4-1111-7000-8001-000000000001",
  ]);
  expect(await shown(100)).toEqual([
    "TIME (UTC)    CUSTOMER                NUMBER  EVENT                                        OBJECT",
    "09:30:00.007  A customer of 21 ch…         1  transfer.platform_transfer_credit.completed  …00000001",
  ]);
  // The least that is shown of an object are eight characters.
  expect((await shown(99)).at(-1)).toMatch(/ {2}…0000001$/);
  expect((await shown(98)).at(-1)).toMatch(/completed$/);
  // A terminal that does not know its size.
  expect(await shown(0)).toEqual(await shown(127));
  expect(await shown(80)).toEqual([
    "TIME (UTC)    CUSTOMER       NUMBER  EVENT",
    "09:30:00.007  A customer…         1  transfer.platform_transfer_credit.completed",
  ]);
});

test("a name is asked for once, and shown short and without what a terminal would obey", async () => {
  const asked: CustomerId[] = [];
  const table = new EventTable(async (id) => {
    asked.push(id);
    return "\u001b[2JA very long name of a customer";
  });
  const [, line] = await table.linesOf([eventOf(1, "order.open"), eventOf(2, "order.open")]);
  expect(asked).toEqual([CUSTOMER]);
  expect(line?.text.slice(14, 36)).toBe("\\u001b[2JA very lon…  ");
});
