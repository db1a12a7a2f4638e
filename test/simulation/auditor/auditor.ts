/**
 * Checks everything against the invariants and the model: every commit when it becomes visible, every outcome when a node
 * returns it, and the final state.
 */
import { conversionTable } from "../../../src/conversions/conversion.ts";
import { legalHoldTable } from "../../../src/customers/legal-holds/store.ts";
import { orderTable } from "../../../src/exchange/order.ts";
import type { Rejection } from "../../../src/ledger/decision.ts";
import { must } from "../../../src/std/assert.ts";
import { creditOf, debitOf, type TransferRecord, transferTable } from "../../../src/transfers/transfer.ts";
import type { Step } from "../../../src/transfers/transfers.ts";
import type { Commit, SimulatedPostgres } from "../postgres/simulated-postgres.ts";
import type { Row } from "../postgres/tables.ts";
import { CLOCK_TOLERANCE_MS } from "../simulated-node.ts";
import type { Answer, WorkloadCommand } from "../workload.ts";
import { checkBook } from "./book-invariants.ts";
import { claimOf, effectOf, paidBefore } from "./bulks.ts";
import { checkCut } from "./event-invariants.ts";
import { checkCommit, checkHistory, invariant, MEASURED_WRONGLY_MS, units } from "./invariants.ts";
import { type AccountState, SequentialModel } from "./sequential-model.ts";

/** How long after its arrival a command may take effect, by the clocks of the node and of the database. */
const DEADLINE_MS = 10_000;

/** How many steps lead to a status that a batch may have passed over. */
const STEPS_TO: Readonly<Record<string, number>> = { requested: 1, approved: 2, sent: 3 };

export class Auditor {
  readonly #postgres: SimulatedPostgres;
  readonly #hasSteppedClock: () => boolean;
  readonly #onBug: (error: unknown) => void;
  readonly #commands = new Map<number, WorkloadCommand>();
  readonly #model = new SequentialModel(this.#commands);
  /** The holder of each fencing token of each lease. */
  readonly #fences = new Map<string, string>();

  constructor(postgres: SimulatedPostgres, hasSteppedClock: () => boolean, onBug: (error: unknown) => void) {
    this.#postgres = postgres;
    this.#hasSteppedClock = hasSteppedClock;
    this.#onBug = onBug;
    postgres.onCommit((commit) => this.#attempt(() => this.#committed(commit)));
  }

  /** Call before the command is sent. */
  sent(command: WorkloadCommand): void {
    this.#commands.set(command.number, command);
  }

  answered(command: WorkloadCommand, answer: Answer, sentAt: number): void {
    this.#attempt(() => this.#checkAnswer(command, answer, sentAt));
  }

  /** Whether no order, cancellation or conversion is pending. */
  isIdle(): boolean {
    const { tables } = this.#postgres;
    const isPending = (table: string, status: string) => tables.rows(table).some((row) => row.status === status);
    const isQueued = tables.rows("order_cancel").length > 0 || isPending("orders", "PENDING_SUBMISSION");
    return !isQueued && !isPending("conversion", "CREATED");
  }

  /** Call when the system is idle. */
  end(): void {
    const { tables } = this.#postgres;
    for (const row of tables.rows("account").filter(({ house }) => house === null)) {
      const state = this.#model.account(row.owner_id, row.asset).now;
      for (const part of ["available", "trading", "pending"] as const) {
        invariant(
          units(row[part]) === (state?.[part] ?? 0n),
          `account ${row.owner_id}/${row.asset} ends as in the model`,
        );
      }
    }
    this.#checkAwaited();
    this.#checkClaims();
    checkHistory(tables);
  }

  #attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#onBug(error);
    }
  }

  #committed(commit: Commit): void {
    checkCommit(commit, this.#postgres.tables);
    checkBook(commit, this.#postgres.tables);
    checkCut(commit, this.#postgres.tables);
    this.#checkDeadline(commit);
    this.#checkFences(commit);
    this.#model.apply(commit, this.#postgres.time.now);
  }

  /**
   * Ids contain the time of arrival, within the clock tolerance. Orders are excluded: they read from the database before they
   * reach the lane.
   */
  #checkDeadline({ changes }: Commit): void {
    const wrongMs = this.#hasSteppedClock() ? 2 * CLOCK_TOLERANCE_MS : 0;
    const batch = changes.find(({ table }) => table === "batch");
    for (const { table, key, row, before } of changes) {
      if (batch === undefined || before !== undefined || !["transfer", "conversion", "legal_hold"].includes(table))
        continue;
      const lateMs = batch.writtenAt - Number(row?.created_at);
      invariant(
        lateMs <= DEADLINE_MS + MEASURED_WRONGLY_MS + wrongMs,
        `${table} ${key} takes effect in time, not ${lateMs} ms after its arrival`,
      );
    }
  }

  /** Only the holder of a market's lease writes its row, with the fencing token of that lease. */
  #checkFences({ by, changes }: Commit): void {
    for (const { table, key, row } of changes) {
      if (table === "lease") this.#fences.set(`${key} ${row?.fence}`, String(row?.holder));
      if (table !== "market_head") continue;
      const holder = this.#fences.get(`market/${key} ${row?.fence}`);
      invariant(holder === by, `${by} writes the head of ${key} with the fencing token ${row?.fence} of ${holder}`);
    }
  }

  // Answers ----------------------------------------------------------------------------------------------------------

  #checkAnswer(command: WorkloadCommand, answer: Answer, sentAt: number): void {
    if (answer.kind === "done")
      for (const value of [answer.value].flat()) this.#checkDone(command, value as object, sentAt);
    else if (answer.kind === "rejected") this.#checkRejection(command, answer.rejection, sentAt);
    else if (command.action.kind === "bulk")
      for (const { refId } of command.action.request.items) this.#checkItemExists(command, refId);
    else this.#checkExists(command, answer.id);
  }

  /** What was returned is stored. */
  #checkDone(command: WorkloadCommand, value: object, sentAt: number): void {
    const { number, action, ref } = command;
    if (ref !== undefined && ref.kind !== "transfer")
      this.#checkReplicated(command, "claim", `${ref.customerId}/${ref.kind}/${ref.refId}`);
    const { tables } = this.#postgres;
    const { id, profileId, customerId } = value as Readonly<Record<"id" | "profileId" | "customerId", string>>;
    const stored = (table: string): Row => {
      const key = `${table === "transfer" ? customerId : profileId}/${id}`;
      // Later changes of an order or a conversion may not be replicated yet.
      if (table === "transfer") this.#checkReplicated(command, table, key);
      return must(tables.get(table, key), `the result of command ${command.number} is in ${table}`);
    };
    const isAs = (read: object): void => {
      const same = (one: object) => JSON.stringify(one, (_, each) => (typeof each === "bigint" ? String(each) : each));
      const returned = { ...read, ...value, version: undefined };
      invariant(
        same({ ...read, version: undefined }) === same(returned),
        `command ${number} returned what is stored: ${same(value)}, ${same(read)}`,
      );
    };
    switch (action.kind) {
      case "transfer":
      case "bulk":
        isAs(debitOf(transferTable.read(stored("transfer"))));
        break;
      case "deposit":
        isAs({ ...creditOf(transferTable.read(stored("transfer"))), steps: (value as TransferRecord).steps });
        break;
      case "withdraw":
        isAs({ ...debitOf(transferTable.read(stored("transfer"))), steps: (value as TransferRecord).steps });
        break;
      case "step":
        invariant(this.#wasStep(action.customerId, action.id, action.step, sentAt), `transfer ${id} took the step`);
        break;
      case "hold": {
        const { liftedAt, liftedBy, ...placed } = legalHoldTable.read(stored("legal_hold"));
        isAs({ ...value, ...placed });
        break;
      }
      case "lift":
        invariant(stored("legal_hold").lifted_at !== null, `legal hold ${id} is lifted`);
        break;
      case "convert": {
        const { status, updatedAt, settledAt, cancelledAt, ...rest } = conversionTable.read(stored("conversion"));
        isAs({ ...value, ...rest });
        break;
      }
      case "order": {
        const first = this.#model.row("orders", `${profileId}/${id}`).between(0, Number.POSITIVE_INFINITY)[1];
        isAs(orderTable.read(must(first, `order ${id} is stored`)));
        break;
      }
      case "cancel_conversion":
        invariant(stored("conversion").status === "CANCELLED", `conversion ${id} is cancelled`);
        break;
      case "cancel_order": {
        const key = `${action.profileId}/${action.id}`;
        const isClosed = (tables.get("orders", key)?.closed_at ?? null) !== null;
        invariant(isClosed || tables.get("order_cancel", key) !== undefined, `the cancellation of ${key} is stored`);
        break;
      }
      case "deactivate":
        invariant(this.#was("profile", id, "INACTIVE", sentAt), `profile ${id} was deactivated`);
        break;
      case "halt":
      case "resume":
        break;
    }
  }

  #wasStep(customerId: string, id: string, step: Step, from: number): boolean {
    const states = this.#model.row("external_transfer", `${customerId}/${id}`).between(from, this.#postgres.time.now);
    // Another command of the same batch may have taken the next step.
    return states.some((row) => row?.status === step.to || Number(row?.version) > 1);
  }

  #was(table: string, key: string, status: string, from: number): boolean {
    const states = this.#model.row(table, key).between(from, this.#postgres.time.now);
    return states.some((row) => row?.status === status);
  }

  /** After a failover, the standby has everything that was confirmed. */
  #checkReplicated({ number }: WorkloadCommand, table: string, key: string): void {
    invariant(
      this.#postgres.isReplicated(table, key),
      `the standby has the result of command ${number}: ${table} ${key}`,
    );
  }

  #checkExists(command: WorkloadCommand, id: string): void {
    const { number, ref } = command;
    invariant(ref !== undefined, `command ${number} has a ref_id`);
    const isTransfer = ref.kind === "transfer";
    const [table, key] = isTransfer
      ? ["transfer", `${ref.customerId}/${id}`]
      : ["claim", `${ref.customerId}/${ref.kind}/${ref.refId}`];
    this.#checkReplicated(command, table, key);
    const row = this.#postgres.tables.get(table, key);
    invariant(row?.id === id && row.ref_id === ref.refId, `the ref_id of command ${number} belongs to ${id}`);
    invariant(this.#model.effects.get(effectOf(command, ref.refId)) === id, `command ${number} took effect as ${id}`);
  }

  #checkItemExists(command: WorkloadCommand, refId: string): void {
    const id = this.#model.effects.get(effectOf(command, refId));
    const row = this.#postgres.tables.rows("transfer").find((each) => each.ref_id === refId);
    invariant(id !== undefined && row?.id === id, `${refId} of command ${command.number} took effect as ${row?.id}`);
    this.#checkReplicated(command, "transfer", `${row.customer_id}/${id}`);
  }

  /** A rejection must be right in some state between the request and the response. */
  #checkRejection(command: WorkloadCommand, rejection: Rejection, sentAt: number): void {
    const { number, action, ref } = command;
    const now = this.#postgres.time.now;
    const refs = action.kind === "bulk" ? action.request.items.map(claimOf) : [ref].flatMap((one) => one ?? []);
    const claims = refs.map(({ customerId, kind, refId }) =>
      this.#model.row("claim", `${customerId}/${kind}/${refId}`),
    );
    const wasFree = claims.every((claim) => claim.between(sentAt, now)[0] === undefined);
    invariant(wasFree, `command ${number} had succeeded and is not rejected with ${rejection.code}`);
    const details = rejection as Rejection & Readonly<Record<string, unknown>>;
    const ever = (table: string, key: unknown, is: (row: Row | undefined) => boolean): boolean =>
      this.#model.row(table, String(key)).between(sentAt, now).some(is);
    const had = (profile: unknown, asset: unknown, is: (state: AccountState) => boolean): boolean =>
      this.#model
        .account(profile, asset)
        .between(sentAt, now)
        .some((state) => is(state ?? { available: 0n, trading: 0n, pending: 0n }));
    const isRight = (): boolean => {
      switch (rejection.code) {
        case "insufficient_funds":
          return (
            Number(details.available) < Number(details.needed) &&
            had(
              details.profileId,
              details.asset,
              ({ available }) => available + paidBefore(action, details) === details.available,
            )
          );
        case "profile_not_found":
          return ever("profile", details.profileId, (row) => row?.status !== "ACTIVE");
        case "step_not_allowed":
          return (
            action.kind === "step" &&
            this.#model
              .row("external_transfer", `${action.customerId}/${action.id}`)
              .between(sentAt, now)
              .some(
                (row) =>
                  row?.status === details.status || Number(row?.version) > (STEPS_TO[String(details.status)] ?? 9),
              )
          );
        case "conversion_not_cancellable":
          return (
            action.kind === "cancel_conversion" &&
            this.#statusesOf("conversion", action.id, sentAt, now).some((status) => status === details.status)
          );
        case "order_not_cancellable":
          return (
            action.kind === "cancel_order" &&
            ever(
              "orders",
              `${action.profileId}/${action.id}`,
              (row) => row?.status === details.status && row?.closed_at !== null,
            )
          );
        case "profile_not_empty":
          if (details.because === "is_default") return true;
          if (details.because === "is_recipient")
            return ever("profile", details.profileId, (row) => Number(row?.incoming_count) > 0);
          return had(
            details.profileId,
            details.asset,
            ({ available, trading, pending }) => available + trading + pending === details.amount,
          );
        case "market_unavailable":
          return ever("market", details.market, (row) => row?.status === "HALTED");
        default:
          return false;
      }
    };
    invariant(isRight(), `command ${number} is rejected for a reason that was true at the time: ${rejection.code}`);
  }

  #statusesOf(table: string, id: string, from: number, to: number): unknown[] {
    const row = must(
      this.#postgres.tables.rows(table).find((each) => each.id === id),
      `${table} ${id} is there`,
    );
    return this.#model
      .row(table, `${row.profile_id}/${id}`)
      .between(from, to)
      .map((state) => state?.status);
  }

  // Final state -------------------------------------------------------------------------------------------------------

  /** `incoming_count` counts the open orders and conversions of others that pay into the profile. */
  #checkAwaited(): void {
    const { tables } = this.#postgres;
    const paying = [
      ...tables.rows("orders").filter(({ closed_at }) => closed_at === null),
      ...tables.rows("conversion").filter(({ status }) => status === "CREATED"),
    ];
    for (const { id, incoming_count } of tables.rows("profile")) {
      const naming = paying.filter((row) => row.recipient_profile_id === id && row.profile_id !== id);
      invariant(
        Number(incoming_count) === naming.length,
        `profile ${id} awaits ${naming.length}, not ${incoming_count}`,
      );
    }
  }

  /** Every claim has its record, and every ref_id its claim; those of transfers need none. */
  #checkClaims(): void {
    const { tables } = this.#postgres;
    const records = [...tables.rows("conversion"), ...tables.rows("orders"), ...tables.rows("legal_hold")];
    for (const claim of tables.rows("claim").filter(({ kind }) => kind !== "nickname")) {
      const record = records.find(({ id }) => id === claim.id);
      invariant(record?.ref_id === claim.ref_id, `claim ${claim.ref_id} has its record`);
    }
    for (const { ref_id, id } of records.filter(({ ref_id }) => ref_id !== null)) {
      invariant(
        tables.rows("claim").some((claim) => claim.ref_id === ref_id && claim.id === id),
        `${ref_id} is claimed`,
      );
    }
  }
}
