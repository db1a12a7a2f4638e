/**
 * Holds all that happens against the laws and the model: every commit when it becomes visible, every answer when it is
 * given, and everything once more when nothing happens any more.
 */
import { conversionTable } from "../../src/conversions/store.ts";
import { orderTable } from "../../src/exchange/order.ts";
import type { Rejection } from "../../src/ledger/decision.ts";
import { must } from "../../src/std/assert.ts";
import { transferTable } from "../../src/transfers/store.ts";
import { checkBook } from "./book-invariants.ts";
import { checkCommit, law, MEASURED_WRONGLY_MS, units } from "./invariants.ts";
import { type AccountState, SequentialModel } from "./sequential-model.ts";
import { CLOCK_TOLERANCE_MS } from "./simulated-node.ts";
import type { Commit, SimulatedPostgres } from "./simulated-postgres.ts";
import type { Row } from "./tables.ts";
import type { Answer, Ask } from "./workload.ts";

/** A command may take effect so long after its arrival, by the clocks of the node and of the database. */
const DEADLINE_MS = 10_000;

export class Judge {
  readonly #postgres: SimulatedPostgres;
  readonly #hasSteppedClock: () => boolean;
  readonly #onBug: (error: unknown) => void;
  readonly #asks = new Map<number, Ask>();
  readonly #model = new SequentialModel(this.#asks);
  /** To whom each fence of each lease was given. */
  readonly #fences = new Map<string, string>();

  constructor(postgres: SimulatedPostgres, hasSteppedClock: () => boolean, onBug: (error: unknown) => void) {
    this.#postgres = postgres;
    this.#hasSteppedClock = hasSteppedClock;
    this.#onBug = onBug;
    postgres.onCommit((commit) => this.#attempt(() => this.#committed(commit)));
  }

  /** Told of everything that will be asked for. */
  asked(ask: Ask): void {
    this.#asks.set(ask.number, ask);
  }

  answered(ask: Ask, answer: Answer, askedAt: number): void {
    this.#attempt(() => this.#checkAnswer(ask, answer, askedAt));
  }

  /** Whether no order, cancel or conversion waits for a worker. */
  isIdle(): boolean {
    const { tables } = this.#postgres;
    const waits = (table: string, status: string) => tables.rows(table).some((row) => row.status === status);
    const isQueued = tables.rows("order_cancel").length > 0 || waits("orders", "PENDING_SUBMISSION");
    return !isQueued && !waits("conversion", "CREATED");
  }

  /** When nothing happens any more. */
  end(): void {
    const { tables } = this.#postgres;
    for (const row of tables.rows("account").filter(({ house }) => house === null)) {
      const state = this.#model.account(row.owner_id, row.asset).now;
      for (const part of ["available", "trading", "pending"] as const) {
        law(
          units(row[part]) === (state?.[part] ?? 0n),
          `account ${row.owner_id}/${row.asset} ends as the model has it`,
        );
      }
    }
    this.#checkAwaited();
    this.#checkClaims();
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
    this.#checkDeadline(commit);
    this.#checkFences(commit);
    this.#model.apply(commit, this.#postgres.time.now);
  }

  /** Ids tell when a request arrived, as far as clocks may be wrong. Orders are read for before they come to the lane. */
  #checkDeadline({ changes }: Commit): void {
    const wrongMs = this.#hasSteppedClock() ? 2 * CLOCK_TOLERANCE_MS : 0;
    const batch = changes.find(({ table }) => table === "batch");
    for (const { table, key, row, before } of changes) {
      if (batch === undefined || before !== undefined || !["transfer", "conversion"].includes(table)) continue;
      const lateMs = batch.writtenAt - Number(row?.created_at);
      law(
        lateMs <= DEADLINE_MS + MEASURED_WRONGLY_MS + wrongMs,
        `${table} ${key} takes effect in time, not ${lateMs} ms after its arrival`,
      );
    }
  }

  /** Who writes the row of a market was given its lease with the fence that stands there. */
  #checkFences({ by, changes }: Commit): void {
    for (const { table, key, row } of changes) {
      if (table === "lease") this.#fences.set(`${key} ${row?.fence}`, String(row?.holder));
      if (table !== "market_head") continue;
      const holder = this.#fences.get(`market/${key} ${row?.fence}`);
      law(holder === by, `${by} writes the head of ${key} under the fence ${row?.fence}, which is that of ${holder}`);
    }
  }

  // Answers ----------------------------------------------------------------------------------------------------------

  #checkAnswer(ask: Ask, answer: Answer, askedAt: number): void {
    if (answer.kind === "done") this.#checkDone(ask, answer.value as object, askedAt);
    else if (answer.kind === "rejected") this.#checkRefusal(ask, answer.rejection, askedAt);
    else this.#checkExists(ask, answer.id);
  }

  /** What was answered is in the tables now. */
  #checkDone(ask: Ask, value: object, askedAt: number): void {
    const { number, wish, ref } = ask;
    if (ref !== undefined) this.#checkReplicated(ask, "claim", `${ref.customerId}/${ref.kind}/${ref.refId}`);
    const { tables } = this.#postgres;
    const { id, profileId } = value as { readonly id: string; readonly profileId: string };
    const stored = (table: string): Row => {
      const key = `${profileId}/${id}`;
      // What has happened to an order or a conversion since may not be there yet.
      if (table === "transfer") this.#checkReplicated(ask, table, key);
      return must(tables.get(table, key), `what ask ${ask.number} was told is in ${table}`);
    };
    const isAs = (read: object): void => {
      const same = (one: object) => JSON.stringify(one, (_, each) => (typeof each === "bigint" ? String(each) : each));
      const told = { ...read, ...value, seq: undefined };
      law(
        same({ ...read, seq: undefined }) === same(told),
        `ask ${number} was told what is stored: ${same(value)}, ${same(read)}`,
      );
    };
    switch (wish.kind) {
      case "transfer":
      case "deposit":
        isAs(transferTable.read(stored("transfer")));
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
        law(stored("conversion").status === "CANCELLED", `conversion ${id} is cancelled`);
        break;
      case "cancel_order": {
        const key = `${wish.profileId}/${wish.id}`;
        const isClosed = (tables.get("orders", key)?.closed_at ?? null) !== null;
        law(isClosed || tables.get("order_cancel", key) !== undefined, `the cancel of ${key} is stored`);
        break;
      }
      case "deactivate":
        law(this.#was("profile", id, "INACTIVE", askedAt), `profile ${id} was taken out of use`);
        break;
      case "halt":
      case "resume":
        break;
    }
  }

  #was(table: string, key: string, status: string, from: number): boolean {
    const states = this.#model.row(table, key).between(from, this.#postgres.time.now);
    return states.some((row) => row?.status === status);
  }

  /** If the server is lost, its standby has what was answered. */
  #checkReplicated({ number }: Ask, table: string, key: string): void {
    law(this.#postgres.isReplicated(table, key), `the standby has what ask ${number} was told: ${table} ${key}`);
  }

  #checkExists(ask: Ask, id: string): void {
    const { number, ref } = ask;
    const name = ref && `${ref.customerId}/${ref.kind}/${ref.refId}`;
    law(name !== undefined, `ask ${number} has a ref_id`);
    this.#checkReplicated(ask, "claim", name);
    law(this.#postgres.tables.get("claim", name)?.id === id, `the ref_id of ask ${number} is that of ${id}`);
    law(this.#model.effects.get(number) === id, `ask ${number} has had its effect, ${id}`);
  }

  /** A refusal is right in one of the states that there were between the request and the answer. */
  #checkRefusal(ask: Ask, refusal: Rejection, askedAt: number): void {
    const { number, wish, ref } = ask;
    const now = this.#postgres.time.now;
    const claim = ref && this.#model.row("claim", `${ref.customerId}/${ref.kind}/${ref.refId}`);
    const wasFree = claim === undefined || claim.between(askedAt, now)[0] === undefined;
    law(wasFree, `ask ${number} had succeeded, and is told so: not ${refusal.code}`);
    const told = refusal as Rejection & Readonly<Record<string, unknown>>;
    const ever = (table: string, key: unknown, is: (row: Row | undefined) => boolean): boolean =>
      this.#model.row(table, String(key)).between(askedAt, now).some(is);
    const had = (profile: unknown, asset: unknown, is: (state: AccountState) => boolean): boolean =>
      this.#model
        .account(profile, asset)
        .between(askedAt, now)
        .some((state) => is(state ?? { available: 0n, trading: 0n, pending: 0n }));
    const isRight = (): boolean => {
      switch (refusal.code) {
        case "insufficient_funds":
          return (
            Number(told.available) < Number(told.needed) &&
            had(told.profileId, told.asset, ({ available }) => available === told.available)
          );
        case "profile_not_found":
          return ever("profile", told.profileId, (row) => row?.status !== "ACTIVE");
        case "conversion_not_cancellable":
          return (
            wish.kind === "cancel_conversion" &&
            this.#statusesOf("conversion", wish.id, askedAt, now).some((status) => status === told.status)
          );
        case "order_not_cancellable":
          return (
            wish.kind === "cancel_order" &&
            ever(
              "orders",
              `${wish.profileId}/${wish.id}`,
              (row) => row?.status === told.status && row?.closed_at !== null,
            )
          );
        case "profile_not_empty":
          if (told.because === "is_default") return true;
          if (told.because === "is_awaited") return ever("profile", told.profileId, (row) => Number(row?.awaited) > 0);
          return had(
            told.profileId,
            told.asset,
            ({ available, trading, pending }) => available + trading + pending === told.amount,
          );
        case "market_unavailable":
          return ever("market", told.market, (row) => row?.status === "HALTED");
        default:
          return false;
      }
    };
    law(isRight(), `ask ${number} is refused for what was so in its time: ${refusal.code}`);
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

  // In the end -------------------------------------------------------------------------------------------------------

  /** Profiles count what others will pay into them. */
  #checkAwaited(): void {
    const { tables } = this.#postgres;
    const paying = [
      ...tables.rows("orders").filter(({ closed_at }) => closed_at === null),
      ...tables.rows("conversion").filter(({ status }) => status === "CREATED"),
    ];
    for (const { id, awaited } of tables.rows("profile")) {
      const naming = paying.filter((row) => row.recipient_profile_id === id && row.profile_id !== id);
      law(Number(awaited) === naming.length, `profile ${id} awaits ${naming.length}, not ${awaited}`);
    }
  }

  /** Every ref_id leads to the record that has it. */
  #checkClaims(): void {
    const { tables } = this.#postgres;
    const records = [...tables.rows("transfer"), ...tables.rows("conversion"), ...tables.rows("orders")];
    for (const claim of tables.rows("claim").filter(({ kind }) => kind !== "nickname")) {
      const record = records.find(({ id }) => id === claim.id);
      law(record?.ref_id === claim.ref_id, `claim ${claim.ref_id} leads to its record`);
    }
    for (const { ref_id, id } of records.filter(({ ref_id }) => ref_id !== null)) {
      law(
        tables.rows("claim").some((claim) => claim.ref_id === ref_id && claim.id === id),
        `${ref_id} is claimed`,
      );
    }
  }
}
