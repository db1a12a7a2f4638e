/** `parbook events`: the events of all customers, and how they are rebuilt. */
import type { Command } from "commander";
import { findCustomer } from "../../customers/customers.ts";
import { findLastCutNumber, type PublishedEvent, readEventsAfter } from "../../events/all-events.ts";
import { RebuildFailed, rebuildEvents } from "../../events/publishing/rebuild.ts";
import type { Database } from "../../postgres/database.ts";
import { formatInstant } from "../../std/clock.ts";
import { pause } from "../../std/pause.ts";
import { addCommand, CommandRejected, type CommandResult, setAction, WrongUsage, withFoundation } from "../command.ts";
import { printColoured, printJson } from "../terminal.ts";
import { EventTable } from "./event-table.ts";

export function addEventCommands(program: Command): void {
  const events = addCommand(program, "events", {
    summary: "print the events of all customers as they are published; end with Ctrl-C",
    examples: ["events --follow", "events --follow --json"],
  }).option("--follow", "print each new event; with --json, a line of JSON for each");
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

async function follow({ follow: isFollowing, json }: FollowOptions): Promise<CommandResult> {
  if (isFollowing !== true) throw new WrongUsage("say --follow, or a command such as rebuild");
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  // Not once: Ctrl-C under npm arrives twice.
  process.on("SIGINT", stop).on("SIGTERM", stop);
  // The reader has gone, as `head` does.
  process.stdout.once("error", stop);
  const count = await withFoundation(({ database }) => printNew(database, json === true, stopping.signal));
  return { json: undefined, prose: [`${count} events.`] };
}

/** Prints what is published from now on. @returns how many events it was */
async function printNew(database: Database, isJson: boolean, stopping: AbortSignal): Promise<number> {
  let seen = await findLastCutNumber(database);
  const table = new EventTable(async (id) => (await findCustomer(database, id))?.name);
  let count = 0;
  while (!stopping.aborted) {
    const { events, lastCut } = await readEventsAfter(database, seen);
    if (isJson) for (const event of events) await printJson(recordOf(event));
    else if (events.length > 0) await printColoured(await table.linesOf(events, process.stdout));
    count += events.length;
    if (lastCut === seen) await pause(POLL_MS);
    seen = lastCut;
  }
  return count;
}

const recordOf = ({ at, customerId, number, type, objectId, version }: PublishedEvent) => ({
  at: formatInstant(at),
  customer_id: customerId,
  number: Number(number),
  type,
  object_id: objectId,
  ...(version !== undefined && { version: Number(version) }),
});

async function rebuildAll(database: Database, holder: string): Promise<CommandResult> {
  const { cuts, events, firstListedCut } = await rebuildEvents(database, holder).catch((error: unknown) => {
    throw error instanceof RebuildFailed ? new CommandRejected(error.message) : error;
  });
  const old = `Those before cut ${firstListedCut} were too old to be listed (PARBOOK_EVENT_DAYS) and stay so: of them only what later ones need is kept.`;
  return {
    json: { cuts, events, first_listed_cut: Number(firstListedCut) },
    prose: [`Made ${events} events of ${cuts} cuts again.`, ...(firstListedCut > 1n ? [old] : [])],
  };
}
