/** Processes a bulk: reads its items, has them executed as its mode says, and answers what became of each. */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Caller } from "../../../ledger/caller.ts";
import { OutcomeUnknown } from "../../../postgres/database.ts";
import { must } from "../../../std/assert.ts";
import { TurnsOfWork } from "../../../std/turns-of-work.ts";
import type { BulkItem, ItemOutcome, Transfers } from "../../../transfers/transfers.ts";
import { ITEMS_WAITING } from "../../access/bulk-admission.ts";
import { invalidToken, isToBeVerified } from "../../access/guard.ts";
import { present, problemInWords } from "../../domain-mapping.ts";
import { knownProblem } from "../../error-handler.ts";
import { invalid } from "../../problems/failing-fields.ts";
import { Problem, unavailable } from "../../problems/problems.ts";
import type { DomainRejection } from "../../problems/rejection-problems.ts";
import { logOf } from "../../request-id.ts";
import { readItem } from "../../requests/validation.ts";
import { TransferBody, transferBody } from "../transfer-record.ts";
import { moveOf } from "../transfers.ts";
import { type BulkBody, type BulkResult, ItemBody, type ItemResult, type ItemStatus, STATUSES } from "./bulk-body.ts";

/** No item is begun later after the request. Many clients give up after half a minute. */
const MAX_MS = 20_000;
/** How long items are read before other requests have their turn. By time: a wrong item costs many times what a right one does. */
const READ_MS = 2;

export interface Bulk {
  readonly transfers: Transfers;
  readonly request: FastifyRequest & { readonly body: BulkBody };
  readonly reply: FastifyReply;
  readonly kind: "internal" | "platform";
}

/** An item as it was read: a transfer, or the problem that it would get alone. */
interface ReadItem {
  readonly sent: unknown;
  readonly refId: string | undefined;
  readonly read: BulkItem | Problem;
}

/** What became of an item. */
interface Ending {
  readonly status: ItemStatus;
  readonly transfer?: ItemResult["transfer"];
  readonly problem?: Problem;
  /** Of an item that exists: the history of the ledger in which it was found. One look-up finds all of a bulk. */
  readonly history?: string;
}

/** An item whose ref_id belongs to an earlier transfer, which is still to be read. */
interface Taken {
  readonly taken: BulkItem;
  readonly sent: unknown;
}

/** @throws Problem if the bulk itself is wrong, or none of its items could be tried */
export async function processBulk(bulk: Bulk): Promise<BulkResult> {
  const items = await readItems(bulk);
  rejectRepeated(items);
  const endings = await process(bulk, items);
  const wasTried = endings.some(({ status, problem }) => status !== "UNKNOWN" && problem?.status !== 503);
  if (!wasTried) throw worstOf(endings)?.problem ?? unavailable("none of the items could be tried");
  return resultOf(bulk, items, endings);
}

/** What stands for all: who may have posted one must not read that nothing was done. */
function worstOf(endings: readonly Ending[]): Ending | undefined {
  return (
    endings.find(({ problem }) => problem?.cause instanceof OutcomeUnknown) ??
    endings.find(({ status }) => status === "UNKNOWN") ??
    endings[0]
  );
}

// Read ---------------------------------------------------------------------------------------------------------------

async function readItems(bulk: Bulk): Promise<ReadItem[]> {
  const items: ReadItem[] = [];
  const turns = new TurnsOfWork(READ_MS);
  for (const sent of bulk.request.body.items) {
    if (turns.isOver) await turns.next();
    items.push(readOne(bulk, sent));
  }
  return items;
}

function readOne({ request, kind }: Bulk, sent: unknown): ReadItem {
  const item = readItem(request, sent, ItemBody);
  if (item.kind === "rejected") return { sent, refId: shownRefId(sent), read: item.rejection };
  const refId = item.value.ref_id;
  try {
    return { sent, refId, read: { ...moveOf(kind, request.grant.customerId, item.value), refId } };
  } catch (thrown) {
    if (thrown instanceof Problem) return { sent, refId, read: thrown };
    throw thrown;
  }
}

/** Of an item that may be of any form. */
function shownRefId(sent: unknown): string | undefined {
  const { ref_id: refId } = (sent ?? {}) as { readonly ref_id?: unknown };
  return typeof refId === "string" && refId.length <= 200 && refId.isWellFormed() ? refId : undefined;
}

/** @throws Problem 400: of two items with one ref_id only one could take effect */
function rejectRepeated(items: readonly ReadItem[]): void {
  const first = new Map<string, number>();
  for (const [index, { refId }] of items.entries()) {
    if (refId === undefined) continue;
    const earlier = first.get(refId);
    if (earlier !== undefined) {
      const rule = `is that of items[${earlier}] too`;
      throw invalid([{ field: `items[${index}].ref_id`, value: refId, rule }]);
    }
    first.set(refId, index);
  }
}

// Execute ------------------------------------------------------------------------------------------------------------

function process(bulk: Bulk, items: readonly ReadItem[]): Promise<Ending[]> | Ending[] {
  const { mode, dry_run: isDryRun = false } = bulk.request.body;
  if (mode === "independent" && !isDryRun) return moveEach(bulk, items);
  const wrong = items.findIndex(({ read }) => read instanceof Problem);
  if (mode === "independent" || wrong === -1) return inOneCommand(bulk, items);
  return items.map(({ read }, i) =>
    i === wrong && read instanceof Problem ? { status: "REJECTED", problem: read } : { status: "NOT_TRIED" },
  );
}

async function inOneCommand({ transfers, request }: Bulk, items: readonly ReadItem[]): Promise<Ending[]> {
  const { mode, dry_run: isDryRun = false } = request.body;
  const moves = items.flatMap(({ read }) => (read instanceof Problem ? [] : [read]));
  const bulk = { customerId: request.grant.customerId, items: moves };
  const execute = () =>
    isDryRun ? transfers.tryMoves(bulk, mode, request.caller) : transfers.moveAll(bulk, request.caller);
  const outcomes = moves.length === 0 ? [] : await request.server.bulkAdmission.command(request, execute);
  // In an atomic bulk an item that exists rejects the others, unless they all exist: then it is a retry.
  const mayExist = mode === "independent" || outcomes.every(({ kind }) => kind === "exists");
  const remaining = outcomes.values();
  return items.map(({ read, sent }) => {
    if (read instanceof Problem) return { status: "REJECTED", problem: read };
    const outcome = must(remaining.next().value, "each transfer has an outcome");
    return endingOf(outcome, { mayExist, isDryRun, problemOf: (why) => problemOf(request, why, sent) });
  });
}

interface How {
  readonly mayExist: boolean;
  readonly isDryRun: boolean;
  readonly problemOf: (why: DomainRejection) => Problem;
}

function endingOf(outcome: ItemOutcome, { mayExist, isDryRun, problemOf }: How): Ending {
  if (outcome.kind === "not_tried") return { status: "NOT_TRIED" };
  if (outcome.kind === "rejected") return { status: "REJECTED", problem: problemOf(outcome.rejection) };
  if (outcome.kind === "done" && isDryRun) return { status: "WOULD_COMPLETE" };
  const transfer = transferBody(outcome.record);
  if (outcome.kind === "done") return { status: "COMPLETED", transfer };
  if (mayExist && outcome.isSame) return { status: "EXISTS", transfer, history: outcome.history };
  return { status: "REJECTED", problem: problemOf({ code: "already_exists", field: "ref_id", existing: transfer }) };
}

function problemOf({ server }: FastifyRequest, why: DomainRejection, sent: unknown): Problem {
  return problemInWords(server.dialect, why, { body: sent, bodySchema: ItemBody, record: TransferBody });
}

/**
 * As commands of their own, begun in the order of the request: as many at once as are admitted without waiting, and a few
 * that wait.
 */
async function moveEach(bulk: Bulk, items: readonly ReadItem[]): Promise<Ending[]> {
  const { request, reply } = bulk;
  // Once for all: each access makes another.
  const { caller } = request;
  const until = performance.now() + MAX_MS;
  const endings: (Ending | Taken)[] = [];
  const remaining = items.entries();
  const admitsOne = () => request.server.bulkAdmission.admitsItem(request);
  const work = async (mayBegin: () => boolean): Promise<void> => {
    while (mayBegin()) {
      const next = remaining.next();
      if (next.done === true) return;
      const [index, item] = next.value;
      const isOver = reply.raw.destroyed || performance.now() > until;
      const isGranted = !isToBeVerified(request) || (await request.server.isStillGranted(request));
      if (isOver) endings[index] = notTried("the bulk took too long");
      else
        endings[index] = isGranted
          ? await moveOne(bulk, item, caller)
          : { status: "NOT_TRIED", problem: invalidToken() };
    }
  };
  const workers = Array.from({ length: ITEMS_WAITING }, () => work(() => true));
  while (workers.length < items.length && admitsOne()) workers.push(work(admitsOne));
  await Promise.all(workers);
  return withTransfers(bulk, endings);
}

async function moveOne(
  { transfers, request }: Bulk,
  { read, sent }: ReadItem,
  caller: Caller,
): Promise<Ending | Taken> {
  if (read instanceof Problem) return { status: "REJECTED", problem: read };
  try {
    const outcome = await request.server.bulkAdmission.item(request, () => transfers.move(read, caller));
    if (outcome === undefined) return notTried("the service is at capacity: too many requests are waiting");
    if (outcome.kind === "exists") return { taken: read, sent };
    if (outcome.kind === "done") return { status: "COMPLETED", transfer: transferBody(outcome.value) };
    return { status: "REJECTED", problem: problemOf(request, outcome.rejection, sent) };
  } catch (thrown) {
    return unknown(request, thrown);
  }
}

const notTried = (why: string): Ending => ({ status: "NOT_TRIED", problem: unavailable(why) });

const unknown = (request: FastifyRequest, thrown: unknown): Ending => ({
  status: "UNKNOWN",
  problem: knownProblem(thrown, request) ?? bugIn(request, thrown),
});

function bugIn(request: FastifyRequest, thrown: unknown): Problem {
  logOf(request).error({ err: thrown }, "item of a bulk failed: bug");
  return new Problem(500, "internal error: quote the request_id when you report it", { cause: thrown });
}

/** Reads the transfers to which the ref_ids of items belong, all at once. */
async function withTransfers(bulk: Bulk, endings: readonly (Ending | Taken)[]): Promise<Ending[]> {
  const taken = endings.flatMap((ending) => ("taken" in ending ? [ending.taken] : []));
  const remaining = (await existingOf(bulk, taken)).values();
  return endings.map((ending) => {
    if (!("taken" in ending)) return ending;
    const found = must(remaining.next().value, "each ref_id that is taken belongs to a transfer");
    if ("status" in found) return found;
    const problemOfItem = (why: DomainRejection): Problem => problemOf(bulk.request, why, ending.sent);
    return endingOf(found, { mayExist: true, isDryRun: false, problemOf: problemOfItem });
  });
}

/** If they cannot be read they are UNKNOWN: the caller is told all the same what became of the other items. */
async function existingOf(
  { transfers, request }: Bulk,
  items: readonly BulkItem[],
): Promise<readonly (ItemOutcome | Ending)[]> {
  if (items.length === 0) return [];
  try {
    return await transfers.findExisting({ customerId: request.grant.customerId, items });
  } catch (thrown) {
    const ending = unknown(request, thrown);
    return items.map(() => ending);
  }
}

// Answer -------------------------------------------------------------------------------------------------------------

function resultOf({ request }: Bulk, items: readonly ReadItem[], endings: readonly Ending[]): BulkResult {
  const { ref_id, mode, dry_run = false } = request.body;
  const results = endings.map(({ status, transfer, problem }, index) =>
    present<ItemResult>({
      index,
      ref_id: items[index]?.refId,
      status,
      transfer,
      problem: problem && request.server.problemBodyOf(request, problem),
    }),
  );
  const ledger_history = endings.find(({ history }) => history !== undefined)?.history;
  const counts = countsOf(endings);
  return present<BulkResult>({ id: request.id, ref_id, mode, dry_run, counts, ledger_history, items: results });
}

function countsOf(endings: readonly Ending[]): BulkResult["counts"] {
  const counts = { completed: 0, rejected: 0, exists: 0, not_tried: 0, would_complete: 0, unknown: 0 };
  const names = Object.keys(STATUSES) as (keyof typeof STATUSES)[];
  for (const name of names) counts[name] = endings.filter(({ status }) => status === STATUSES[name]).length;
  return counts;
}
