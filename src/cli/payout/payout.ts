/** `parbook payout run`: transfers from a CSV file, in bulks. */
import { isUtf8 } from "node:buffer";
import { type Command, Option } from "commander";
import { findService } from "../../service/data-directory.ts";
import { formatInstant, type Instant } from "../../std/clock.ts";
import { fileErrorText } from "../../std/file-error.ts";
import { instantOf, parseUuid, type Uuid } from "../../std/id.ts";
import { writeAtomically } from "../../std/write-atomically.ts";
import { readPath } from "../arguments.ts";
import {
  addCommand,
  addGroup,
  CommandFailed,
  CommandRejected,
  type CommandResult,
  commandConfig,
  setAction,
} from "../command.ts";
import { readInputFile } from "../input-file.ts";
import { untilStopped } from "../interruption.ts";
import { type Progress, withProgress } from "../progress.ts";
import { shellWord } from "../shell-word.ts";
import { printError } from "../terminal.ts";
import { BulkClient, type Target } from "./bulk-client.ts";
import type { LineResult, Payout, PayoutLine } from "./payout-file.ts";

/** Small enough to see progress, and large enough that the request costs little beside its transfers. */
const ITEMS = 100;
/** Of these items: a bulk has 1 MiB at most, and the largest line 10 KB. */
const BYTES = 1_000_000;
/** How often a line that was not tried, or whose outcome is not known, is sent again. */
const MOST_ROUNDS = 8;
const MOST_BYTES = 100 * 1_048_576;

interface Options {
  readonly client: string;
  readonly secretFile: string;
  readonly kind: Target["kind"];
  readonly url?: string;
  readonly result?: string;
  readonly dryRun?: true;
  readonly json?: true;
}

export function addPayoutCommands(program: Command): void {
  const payout = addGroup(program, "payout", "pay many at once");
  const run = addCommand(payout, "run", {
    summary: "send the transfers of a CSV file to a service, each once however often the file is run",
    examples: [
      "payout run salaries.csv --client 0190d5a4-... --secret-file acme.secret",
      "payout run salaries.csv --client 0190d5a4-... --secret-file acme.secret --dry-run",
      "payout run salaries.result.csv --client 0190d5a4-... --secret-file acme.secret",
    ],
  })
    .argument("<file>", "CSV with the columns from_profile_id, to_profile_id, amount, asset and ref_id", readPath)
    .requiredOption("--client <id>", "the API client, with the scope of these transfers")
    .requiredOption("--secret-file <path>", "the file that has its secret", readPath)
    .option("--url <origin>", "where the API is; default: the service that runs on the data directory")
    .option("--result <path>", "where to write what became of each line; default: <file>.result.csv", readPath)
    .option("--dry-run", "only try each 100 lines, and name those that would be rejected; writes no result");
  run.addOption(
    new Option("--kind <kind>", "to other customers' profiles, or between one's own")
      .choices(["platform", "internal"])
      .default("platform"),
  );
  setAction(run, runPayout);
}

async function runPayout(file: string, options: Options): Promise<CommandResult> {
  const payout = await readFileOf(file);
  return untilStopped((stopping) => send(file, payout, options, stopping));
}

/** @throws CommandFailed if a line cannot be sent; all such lines have been printed */
async function readFileOf(file: string): Promise<Payout> {
  const { readPayout } = await import("./payout-file.ts");
  const { CsvError } = await import("csv-parse/sync");
  const bytes = await readInputFile(file, MOST_BYTES);
  // Bytes of another encoding would all become one character, and two ref_ids the same.
  if (!isUtf8(bytes)) throw new CommandRejected("the file is not UTF-8 text: save it as CSV in UTF-8");
  let payout: Payout;
  try {
    payout = readPayout(bytes.toString());
  } catch (error) {
    if (error instanceof CsvError) throw new CommandRejected(`the file is not CSV: ${error.message}`);
    throw error;
  }
  if (payout.wrong.length === 0) return payout;
  printError(["nothing was sent, because of these lines:", ...payout.wrong]);
  throw new CommandFailed();
}

async function send(file: string, payout: Payout, options: Options, stopping: AbortSignal): Promise<CommandResult> {
  const { isOpenLine, resultText } = await import("./payout-file.ts");
  const { checkReplaceable, resultFileOf } = await import("./result-file.ts");
  const results = new Map<PayoutLine, LineResult>();
  for (const line of payout.lines) if (line.result !== undefined && !isOpenLine(line)) results.set(line, line.result);
  const open = payout.lines.filter(isOpenLine);
  const client = new BulkClient(await targetOf(options), stopping);
  const isDryRun = options.dryRun === true;
  const resultFile = options.result ?? resultFileOf(file);
  if (!isDryRun && resultFile !== file) await checkReplaceable(resultFile, payout, MOST_BYTES);
  const commandOf = (path: string): string => `parbook payout run ${shellWord(path)} ${optionsText(options)}`;
  const again = commandOf(resultFile);
  /** @returns why not, and what to do, in lines: the payments are made all the same */
  const save = async (): Promise<readonly string[]> => {
    if (isDryRun) return [];
    try {
      await writeAtomically(
        resultFile,
        resultText(payout, (line) => results.get(line)),
        0o600,
      );
      return [];
    } catch (error) {
      const why = fileErrorText(error) ?? (error as Error).message;
      return [
        `the result could not be written: ${why}`,
        `nothing is paid twice: once there is room, or to another place, get it with: ${commandOf(file)} --result PATH`,
      ];
    }
  };
  /** @returns those that are done, by the file or by what was answered, and that the service lacks */
  const look = (): Promise<readonly PayoutLine[]> => {
    const done = payout.lines.filter(isDoneBy(results));
    const about = { what: "looking for what is done", unit: "lines", total: done.length, quiet: options.json };
    return withProgress(about, (progress) => missingOf(client, done, results, progress));
  };
  const noteOfDone = (detail: string | undefined): void => {
    for (const line of payout.lines.filter(isDoneBy(results)))
      results.set(line, { ...(results.get(line) ?? UNANSWERED), detail });
  };
  let missing: readonly PayoutLine[] = [];
  let refIds: ReadonlyMap<string, string> = new Map();
  try {
    missing = await look();
    if (missing.length > 0) refIds = await client.refIdsOf(missing.flatMap(transferIdOf).slice(0, ITEMS));
    else {
      noteOfDone(undefined);
      const about = { what: isDryRun ? "trying" : "sending", unit: "lines", total: open.length, quiet: options.json };
      await withProgress(about, (progress) => sendAll(client, open, isDryRun, results, progress));
      // Whatever was answered: the ledger may have been restored to an earlier moment since, in the middle of a bulk too.
      if (!isDryRun && open.length > 0) for (const line of await look()) results.set(line, LOST);
    }
  } catch (error) {
    const answered = open.filter((line) => !UNSETTLED.has(results.get(line)?.status ?? "UNKNOWN")).length;
    noteOfDone("it was answered; the run ended before it looked whether the service still has it");
    // A result that says no more than the file must not replace that of a run before it.
    const unsaved = answered > 0 ? await save() : [];
    const why = stopping.aborted ? "interrupted" : (error as Error).message;
    const next = isDryRun || unsaved.length > 0 ? unsaved : [`go on with: ${answered > 0 ? again : commandOf(file)}`];
    printError([`${why}: ${answered} of ${open.length} lines were answered`, ...next]);
    if (stopping.aborted || error instanceof CommandRejected) throw new CommandFailed();
    throw error;
  }
  if (missing.length > 0) throw new CommandRejected(notHere(missing, refIds));
  const unsaved = await save();
  const sent = payout.lines.filter((line) => isOpenLine(line) || results.get(line) === LOST);
  if (unsaved.length === 0) return summaryOf(payout, sent, results, isDryRun ? undefined : { resultFile, again });
  printError(unsaved);
  return { ...summaryOf(payout, sent, results, undefined), failed: true };
}

/**
 * The lines that the service does not have, though they are done by the file or by what was answered. The others were all found
 * in one look, in one history of the ledger. Otherwise they are looked for again: what was found first may have gone since, if
 * the ledger was restored to an earlier moment meanwhile. That something is missing may be the first sign of it.
 * @throws CommandRejected if the service does not say
 */
async function missingOf(
  client: BulkClient,
  done: readonly PayoutLine[],
  results: ReadonlyMap<PayoutLine, LineResult>,
  progress: Pick<Progress, "add">,
): Promise<readonly PayoutLine[]> {
  const missing = new Set<PayoutLine>();
  for (let round = 1; round <= MOST_ROUNDS; round += 1) {
    if (round > 1) await client.pause(round);
    const rest = done.filter((line) => !missing.has(line));
    const found = new Map<PayoutLine, LineResult>();
    const histories = await sendAll(client, rest, true, found, round === 1 ? progress : UNSEEN);
    if ([...found.values()].some(({ status }) => UNSETTLED.has(status))) break;
    const gone = rest.filter((line) => !isThere(found.get(line), results.get(line)));
    for (const line of gone) missing.add(line);
    if (gone.length === 0 && histories.size <= 1 && !histories.has(undefined)) return [...missing];
  }
  throw new CommandRejected("the service does not say whether it has what is done already");
}

/** By what the service has of a line, and what is known of it. */
function isThere(found: LineResult | undefined, known: LineResult | undefined): boolean {
  return found?.status === "EXISTS" && found.transferId === (known?.transferId ?? found.transferId);
}

const UNSEEN: Pick<Progress, "add"> = { add: () => undefined };

/** Of the run that paid the line, unless somebody wrote it into the file. */
function transferIdOf({ result }: PayoutLine): Uuid[] {
  const id = parseUuid(result?.transferId ?? "");
  return id === undefined ? [] : [id];
}

/**
 * A file without results pays a line again unless its ref_id is that of the first payment. So it is advised only where that
 * payment is gone, which nobody but the operator knows.
 * @param refIds of the transfers that some of the lines were paid as, by their ids
 */
function notHere(missing: readonly PayoutLine[], refIds: ReadonlyMap<string, string>): string {
  const paid = missing.flatMap((line) =>
    transferIdOf(line).flatMap((id) => {
      const refId = refIds.get(id);
      return refId === undefined ? [] : { number: line.number, id, refId };
    }),
  );
  const [first] = paid;
  if (first !== undefined) {
    const { number, id, refId } = first;
    const lines = paid.length === 1 ? "" : ` (${paid.length} such lines)`;
    return `line ${number} was paid as transfer ${id} with the ref_id ${JSON.stringify(refId)}, but is different in the file now${lines}: nothing was sent. Undo what was changed and run this file again; without its results it could pay twice`;
  }
  const what = missing.length === 1 ? "a line is" : `${missing.length} lines are`;
  return `${what} done by the file, but this service has no such transfer of this client's customer, beginning with line ${missing[0]?.number}: nothing was sent. Either --url is another service, --client is another customer's, ref_ids were changed since, or the service was restored from a backup. Only after a restore, with the ref_ids of the first run, run the file without results: it pays what was lost. In all other cases that pays twice`;
}

const LOST: LineResult = {
  status: "UNKNOWN",
  detail: "it was done, and is gone: the service was restored to an earlier moment meanwhile",
};

/**
 * In rounds: what was not tried, or is not known, is sent again.
 * @returns the histories of the ledger in which lines were found that exist
 */
async function sendAll(
  client: BulkClient,
  open: readonly PayoutLine[],
  isDryRun: boolean,
  results: Map<PayoutLine, LineResult>,
  progress: Pick<Progress, "add">,
): Promise<ReadonlySet<string | undefined>> {
  const histories = new Set<string | undefined>();
  let remaining = open;
  for (let round = 1; remaining.length > 0 && round <= MOST_ROUNDS; round += 1) {
    if (round > 1) await client.pause(round);
    const unsettled: PayoutLine[] = [];
    for (const some of bulksOf(remaining)) {
      const items = some.map(({ item }) => item);
      const { results: answered, history } = await client.send(items, isDryRun);
      for (const [i, line] of some.entries()) results.set(line, answered[i] ?? UNANSWERED);
      if (answered.some(({ status }) => status === "EXISTS")) histories.add(history);
      const before = unsettled.length;
      unsettled.push(...some.filter((_, i) => UNSETTLED.has(answered[i]?.status ?? "UNKNOWN")));
      progress.add(some.length - (unsettled.length - before));
    }
    remaining = unsettled;
  }
  return histories;
}

/** As many lines as go into one bulk, by number and by size. */
function* bulksOf(lines: readonly PayoutLine[]): Generator<PayoutLine[]> {
  let bulk: PayoutLine[] = [];
  let bytes = 0;
  for (const line of lines) {
    const length = Buffer.byteLength(JSON.stringify(line.item));
    if (bulk.length === ITEMS || (bulk.length > 0 && bytes + length > BYTES)) {
      yield bulk;
      [bulk, bytes] = [[], 0];
    }
    bulk.push(line);
    bytes += length;
  }
  if (bulk.length > 0) yield bulk;
}

const UNSETTLED: ReadonlySet<string> = new Set(["NOT_TRIED", "UNKNOWN"]);

const UNANSWERED: LineResult = { status: "UNKNOWN" };

async function targetOf({ client, secretFile, kind, url }: Options): Promise<Target> {
  const secret = (await readInputFile(secretFile)).toString().trim();
  if (url !== undefined) return { url: url.replace(/\/+$/, ""), kind, clientId: client, secret };
  const { dataDir } = commandConfig();
  const service = await findService(dataDir);
  if (service === undefined)
    throw new CommandRejected(`no service runs on the data directory ${dataDir}: name one by --url`);
  return { url: service.baseUrl, kind, clientId: client, secret };
}

function optionsText({ client, secretFile, kind, url }: Options): string {
  const named = { client, "secret-file": secretFile, ...(kind === "internal" && { kind }), ...(url && { url }) };
  return Object.entries(named)
    .map(([name, value]) => `--${name} ${shellWord(value)}`)
    .join(" ");
}

function summaryOf(
  { lines }: Payout,
  sent: readonly PayoutLine[],
  results: ReadonlyMap<PayoutLine, LineResult>,
  written: { readonly resultFile: string; readonly again: string } | undefined,
): CommandResult {
  const counts: Record<string, number> = {};
  const doneBefore = lines.length - sent.length;
  for (const line of sent) {
    const status = results.get(line)?.status ?? "UNKNOWN";
    counts[status] = (counts[status] ?? 0) + 1;
  }
  const rejected = lines.filter((line) => results.get(line)?.status === "REJECTED");
  const lost = lines.filter((line) => results.get(line) === LOST).length;
  const isOpen = lines.some((line) => !ENDS.has(results.get(line)?.status ?? ""));
  const existing = madeBetween(sent.flatMap((line) => existingId(results.get(line))));
  const numbers = [
    ...(doneBefore === 0 ? [] : [`${doneBefore} done before`]),
    ...Object.entries(counts).map(
      ([status, count]) =>
        `${count} ${status}${status === "EXISTS" && existing ? ` (made ${spanText(existing)})` : ""}`,
    ),
  ];
  return {
    json: {
      counts,
      done_before: doneBefore,
      ...(existing && { exists_made: { first: formatInstant(existing.first), last: formatInstant(existing.last) } }),
      ...(written && { result: written.resultFile }),
      lines: lines.map((line) => ({ line: line.number, ref_id: line.item.ref_id, ...results.get(line) })),
    },
    prose: [
      `${lines.length} lines: ${numbers.join(", ")}`,
      ...rejected.map((line) => `line ${line.number}: ${results.get(line)?.detail ?? "no reason given"}`),
      ...(lost === 0
        ? []
        : [`The service was restored to an earlier moment meanwhile: ${lost} lines that were done are gone`]),
      ...(written === undefined ? [] : [`Result: ${written.resultFile}`]),
      ...(written !== undefined && isOpen ? [`What is not done can be sent again: ${written.again}`] : []),
    ],
    failed: isOpen,
  };
}

/** The transfer that a line of this run found with its ref_id. */
function existingId(result: LineResult | undefined): Uuid[] {
  const id = result?.status === "EXISTS" ? parseUuid(result.transferId ?? "") : undefined;
  return id === undefined ? [] : [id];
}

interface Span {
  readonly first: Instant;
  readonly last: Instant;
}

/** When these transfers were made, by their ids: last month's, if a file has kept last month's ref_ids. */
function madeBetween(ids: readonly Uuid[]): Span | undefined {
  const times = ids.map(instantOf).toSorted((a, b) => a - b);
  const [first, last] = [times[0], times.at(-1)];
  return first === undefined || last === undefined ? undefined : { first, last };
}

function spanText({ first, last }: Span): string {
  const [from, to] = [minuteText(first), minuteText(last)];
  return from === to ? `${from} UTC` : `${from} to ${to} UTC`;
}

/** Such as 2026-10-31 09:12. */
const minuteText = (at: Instant): string => formatInstant(at).slice(0, 16).replace("T", " ");

const isDoneBy =
  (results: ReadonlyMap<PayoutLine, LineResult>) =>
  (line: PayoutLine): boolean =>
    ENDS.has(results.get(line)?.status ?? "");

const ENDS: ReadonlySet<string> = new Set(["COMPLETED", "EXISTS", "WOULD_COMPLETE"]);
