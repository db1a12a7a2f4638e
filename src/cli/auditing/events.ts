/** `parbook events`: the events of all customers, those to come, and how they are rebuilt. */
import type { Command } from "commander";
import { findCustomer } from "../../customers/customers.ts";
import { findLastCutNumber, type PublishedEvent, readEventsAfter, readLatestEvents } from "../../events/all-events.ts";
import { RebuildFailed, rebuildEvents } from "../../events/publishing/rebuild.ts";
import type { Database } from "../../postgres/database.ts";
import { formatInstant } from "../../std/clock.ts";
import { pause } from "../../std/pause.ts";
import { addCommand, CommandRejected, type CommandResult, setAction, withFoundation } from "../command.ts";
import { interruptible } from "../interruption.ts";
import { type Progress, withProgress } from "../progress.ts";
import { printColoured, printError, printJson } from "../terminal.ts";
import { EventTable } from "./event-table.ts";

/** How many are printed without --follow. */
const LATEST = 100;

export function addEventCommands(program: Command): void {
  const events = addCommand(program, "events", {
    summary: `print the latest ${LATEST} events of all customers, or with --follow those to come`,
    examples: ["events", "events --follow", "events --follow --json"],
  }).option("--follow", "print each new event until Ctrl-C; with --json, a line of JSON for each");
  setAction(events, (options: FollowOptions) => (options.follow === true ? follow(options) : listLatest()));
  const rebuild = addCommand(events, "rebuild", {
    summary: "make all events again from the hash chain, with the same numbers and ids",
    examples: ["events rebuild"],
  });
  setAction(rebuild, ({ json }: { readonly json?: true }) =>
    interruptible("the events are as they were. Run it again: it begins anew", (stopping) =>
      withFoundation(({ database, holder }) =>
        withProgress({ what: "rebuilding", unit: "cuts", quiet: json, stopping }, (progress) =>
          rebuildAll(database, holder, progress),
        ),
      ),
    ),
  );
}

function listLatest(): Promise<CommandResult> {
  return withFoundation(async ({ database }) => {
    const events = await readLatestEvents(database, LATEST);
    // One head: it is no growing table.
    const { columns } = process.stdout;
    const lines = await tableOf(database).linesOf(events, { rows: events.length + 2, columns });
    const next = events.length === 0 ? "There are no events yet." : "parbook events --follow prints those to come.";
    return { json: { items: events.map(recordOf) }, prose: [...lines, next] };
  });
}

const tableOf = (database: Database) => new EventTable(async (id) => (await findCustomer(database, id))?.name);

interface FollowOptions {
  readonly follow?: true;
  readonly json?: true;
}

const POLL_MS = 200;

async function follow({ json }: FollowOptions): Promise<CommandResult> {
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
  const table = tableOf(database);
  if (!isJson) printError(["following the events of all customers from now on; Ctrl-C ends it"]);
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

async function rebuildAll(database: Database, holder: string, progress: Progress): Promise<CommandResult> {
  const watcher = { begins: (cuts: number) => progress.expect(cuts), made: (cuts: number) => progress.add(cuts) };
  const { cuts, events, firstListedCut } = await rebuildEvents(database, holder, watcher).catch((error: unknown) => {
    throw error instanceof RebuildFailed ? new CommandRejected(error.message) : error;
  });
  const old = `Those before cut ${firstListedCut} were too old to be listed (PARBOOK_EVENT_DAYS) and stay so: of them only what later ones need is kept.`;
  return {
    json: { cuts, events, first_listed_cut: Number(firstListedCut) },
    prose: [`Made ${events} events of ${cuts} cuts again.`, ...(firstListedCut > 1n ? [old] : [])],
  };
}
