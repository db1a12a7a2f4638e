/** `parbook events`: the events of all customers, and how they are made again. */
import type { Command } from "commander";
import { readEntries } from "../../events/event-rows.ts";
import { RebuildFailed, rebuildEvents } from "../../events/rebuild.ts";
import { findLastCut, readRowsOfCuts, type StoredRow } from "../../events/store.ts";
import type { Database } from "../../postgres/database.ts";
import { formatInstant } from "../../std/clock.ts";
import { pause } from "../../std/pause.ts";
import { addCommand, CommandRejected, type CommandResult, setAction, WrongUsage, withFoundation } from "../command.ts";
import { printJson, printLines } from "../terminal.ts";

export function addEventCommands(program: Command): void {
  const events = addCommand(program, "events", {
    summary: "print the events of all customers as they are published; end with Ctrl-C",
    examples: ["events --follow", "events --follow --json"],
  }).option("--follow", "print each new event");
  setAction(events, follow);
  const rebuild = addCommand(events, "rebuild", {
    summary: "make all events again from the hash chain, with the same numbers and ids",
    examples: ["events rebuild"],
  });
  setAction(rebuild, () => withFoundation(({ database, holder }) => rebuildAll(database, holder)));
}

interface FollowOptions {
  readonly follow?: true;
  readonly json?: true;
}

const POLL_MS = 200;
/** Rows that are printed at once. */
const ROWS = 500;

async function follow({ follow: isFollowing, json }: FollowOptions): Promise<CommandResult> {
  if (isFollowing !== true) throw new WrongUsage("say --follow, or a command such as rebuild");
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stopping.abort());
  const count = await withFoundation(({ database }) => printNew(database, json === true, stopping.signal));
  return { json: { events: count }, prose: [`${count} events.`] };
}

/** Prints what is published from now on. @returns how many events it was */
async function printNew(database: Database, isJson: boolean, stopping: AbortSignal): Promise<number> {
  let seen = (await findLastCut(database))?.number ?? 0n;
  let count = 0;
  while (!stopping.aborted) {
    const last = (await findLastCut(database))?.number ?? 0n;
    // A cut is printed as a whole: it has a bound.
    const until = last > seen + BigInt(ROWS) ? seen + BigInt(ROWS) : last;
    const rows = until > seen ? await readRowsOfCuts(database, seen + 1n, until) : [];
    for (const row of rows) {
      count += row.count;
      if (isJson) for (const record of recordsOf(row)) await printJson(record);
      else await printLines(recordsOf(row).map(lineOf));
    }
    seen = until;
    if (seen === last) await pause(POLL_MS);
  }
  return count;
}

const recordsOf = (row: StoredRow) =>
  readEntries(row).map(({ number, type, objectId, version }) => ({
    at: formatInstant(row.at),
    customer_id: row.customerId,
    number: Number(number),
    type,
    object_id: objectId,
    ...(version !== undefined && { version: Number(version) }),
  }));

function lineOf(record: ReturnType<typeof recordsOf>[number]): string {
  const { at, customer_id: customer, number, type, object_id: object } = record;
  return `${at}  ${customer}  ${String(number).padStart(8)}  ${type.padEnd(48)}  ${object}`;
}

async function rebuildAll(database: Database, holder: string): Promise<CommandResult> {
  const { cuts, events } = await rebuildEvents(database, holder).catch((error: unknown) => {
    throw error instanceof RebuildFailed ? new CommandRejected(error.message) : error;
  });
  return { json: { cuts, events }, prose: [`Made ${events} events of ${cuts} cuts again.`] };
}
