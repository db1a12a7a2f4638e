/**
 * Parbook without concurrency or failures: one command after the other on balances in a map. It replays the committed
 * commands in the order of the commits, from the clients' requests, and must move the same money. It keeps every state, so
 * that a rejection can be checked against the states of its time.
 */

import type { ExecutionId } from "../../../src/exchange/execution.ts";
import { matchJournalId } from "../../../src/exchange/execution-id.ts";
import { readChanges } from "../../../src/ledger/change-history.ts";
import { must } from "../../../src/std/assert.ts";
import { siblingId, type Uuid } from "../../../src/std/id.ts";
import { assets, catalogue } from "../fixtures.ts";
import type { Commit } from "../postgres/simulated-postgres.ts";
import type { Row } from "../postgres/tables.ts";
import { callerOf, operatorOf, type WorkloadCommand } from "../workload.ts";
import { checkBulk, effectOf, itemOf } from "./bulks.ts";
import { statusesAfter } from "./external-transfer-steps.ts";
import { type History, historyOf } from "./history.ts";
import { invariant, units } from "./invariants.ts";
import { crossed, inWords, issued, journalsInOrder, type Moves, moveOf, moves } from "./journals.ts";

const ONE = 10n ** 18n;
const times = (a: bigint, b: bigint): bigint => (a * b) / ONE;

export interface AccountState {
  readonly available: bigint;
  readonly trading: bigint;
  readonly pending: bigint;
}

const NOTHING: AccountState = { available: 0n, trading: 0n, pending: 0n };

export class SequentialModel {
  readonly accounts = new Map<string, History<AccountState>>();
  /** By table and key. */
  readonly rows = new Map<string, History<Row>>();
  readonly #commands: ReadonlyMap<number, WorkloadCommand>;
  /** By command, and by the ref_id of an item of a bulk, the id of the record that it created. */
  readonly effects = new Map<string, string>();
  readonly #orders = new Map<string, { held: bigint; filled: bigint; gross: bigint }>();
  #at = 0;
  #commit: Commit = { by: "", changes: [] };

  constructor(commands: ReadonlyMap<number, WorkloadCommand>) {
    this.#commands = commands;
  }

  account(owner: unknown, asset: unknown): History<AccountState> {
    return historyOf(this.accounts, `${owner} ${asset}`);
  }

  row(table: string, key: string): History<Row> {
    return historyOf(this.rows, `${table} ${key}`);
  }

  apply(commit: Commit, at: number): void {
    this.#at = at;
    this.#commit = commit;
    this.#noteEffects();
    for (const { id, cause, postings } of journalsInOrder(this.#rowsOf("posting"))) {
      const [expected, done] = [this.#expected(id, cause), moves(...postings.map(moveOf))];
      invariant(
        inWords(expected) === inWords(done),
        `${cause} ${id} moves ${inWords(expected)}; but it moved ${inWords(done)}`,
      );
      this.#move(done);
    }
    this.#checkOrders();
    this.#checkSteps();
    for (const { table, key, row } of commit.changes) {
      if (row !== undefined && table !== "posting" && table !== "batch") this.row(table, key).add(at, row);
    }
  }

  #rowsOf(table: string): Row[] {
    return this.#commit.changes.flatMap((change) =>
      change.table === table && change.row !== undefined ? [change.row] : [],
    );
  }

  /** Every new record belongs to one command, and every command has at most one. */
  #noteEffects(): void {
    for (const { table, key, row, before } of this.#commit.changes) {
      if (before !== undefined || row === undefined || !RECORDS.includes(table)) continue;
      const command = this.#commandOf(row);
      if (command === undefined) continue;
      const effect = effectOf(command, row.ref_id);
      const had = this.effects.get(effect);
      invariant(had === undefined, `command ${effect} takes effect once, but it had ${had} and now has ${key}`);
      this.effects.set(effect, String(row.id));
      const by = this.#callersOf(table, key, row);
      const wanted = table === "legal_hold" ? operatorOf(command) : callerOf(command);
      const isRecorded = by.length === 1 && JSON.stringify(by[0]) === JSON.stringify(wanted);
      invariant(isRecorded, `${table} ${key} was requested by command ${command.number}, not by ${JSON.stringify(by)}`);
      if (command.action.kind === "bulk") {
        checkBulk(command.action.request, row, (name) => this.#rowsOf(name));
        this.row("claim", `${row.customer_id}/transfer/${row.ref_id}`).add(this.#at, row);
      }
      if (command.ref === undefined) continue;
      const { customerId, kind, refId } = command.ref;
      if (kind === "transfer") {
        invariant(row.ref_id === refId && row.customer_id === customerId, `${table} ${key} has its ref_id`);
        this.row("claim", `${customerId}/${kind}/${refId}`).add(this.#at, row);
        continue;
      }
      const claim = this.#rowsOf("claim").find((each) => each.ref_id === refId && each.kind === kind);
      invariant(claim?.id === row.id && claim?.customer_id === customerId, `${table} ${key} has claimed its ref_id`);
    }
  }

  /** The callers of a new record, as its batch has them. */
  #callersOf(table: string, key: string, row: Row): unknown[] {
    const [batch] = this.#rowsOf("batch");
    const callers = JSON.parse(String(batch?.callers)) as unknown[];
    if (table === "transfer") return [callers[Number(row.caller)]];
    const change = readChanges(batch?.changes as string | undefined)
      .get(table)
      ?.get(key);
    return change?.callers.map((number) => callers[number]) ?? [];
  }

  #commandOf(row: Row): WorkloadCommand | undefined {
    const metadata = (row.metadata ?? row.from_metadata) as { command?: string } | null | undefined;
    const number = metadata?.command ?? ((row.placed_by === undefined ? row.memo : row.reason) as string | null);
    return number === null || number === undefined
      ? undefined
      : must(this.#commands.get(Number(number)), "a command is known");
  }

  /** Whether the profile was active before this commit, or is after it. */
  #isActive(profile: unknown): boolean {
    const after = this.#rowsOf("profile").find(({ id }) => id === profile);
    return after?.status === "ACTIVE" || this.row("profile", String(profile)).now?.status === "ACTIVE";
  }

  #expected(id: string, cause: string): Moves {
    switch (cause) {
      case "deposit":
      case "withdrawal":
      case "withdrawal_held":
      case "withdrawal_released":
        return this.#external(id, cause);
      case "legal_hold_placed":
      case "legal_hold_lifted":
        return this.#legalHold(id, cause);
      case "transfer":
        return this.#transfer(id);
      case "conversion_created":
      case "conversion_settled":
      case "conversion_cancelled":
        return this.#conversion(id, cause);
      case "order_held":
        return this.#hold(id);
      case "order_filled":
        return this.#match(id);
      case "order_released":
        return this.#release(id);
      default:
        throw new Error(`the model does not know ${cause}`);
    }
  }

  /** A deposit or a withdrawal. What ends the steps of one has the odd id. */
  #external(id: string, cause: string): Moves {
    const other = siblingId(id as Uuid);
    const isEnd = other < id;
    const ownId = isEnd ? other : id;
    const steps = this.#rowsOf("external_transfer").find((each) => each.id === ownId);
    const row = must(
      isEnd
        ? this.row("transfer", `${steps?.customer_id}/${ownId}`).now
        : this.#rowsOf("transfer").find((each) => each.id === ownId),
      `${cause} ${id} has its record`,
    );
    const action = this.#commandOf(row)?.action;
    invariant(action?.kind === "deposit" || action?.kind === "withdraw", `${cause} ${id} was requested`);
    const { profileId, asset, amount, hasSteps } = action.request;
    invariant((hasSteps === true) === (steps !== undefined), `${cause} ${id} has steps if it was requested to`);
    const a = amount as bigint;
    if (action.kind === "deposit") {
      invariant(cause === "deposit" && isEnd === (hasSteps === true), `deposit ${id} moves its money once`);
      invariant(!isEnd || steps?.status === "completed", `deposit ${id} is completed`);
      return moves(...crossed(asset, a), [profileId, asset, "available", a]);
    }
    if (cause === "withdrawal_held") {
      invariant(this.#isActive(profileId) && !isEnd, `withdrawal ${id} is of an active profile`);
      return moves([profileId, asset, "available", -a], [profileId, asset, "pending", a]);
    }
    if (cause === "withdrawal_released") {
      invariant(["failed", "cancelled"].includes(String(steps?.status)), `withdrawal ${ownId} came to nothing`);
      return moves([profileId, asset, "pending", -a], [profileId, asset, "available", a]);
    }
    invariant(cause === "withdrawal" && isEnd === (hasSteps === true), `withdrawal ${id} moves its money once`);
    invariant(!isEnd || steps?.status === "completed", `withdrawal ${id} is completed`);
    return moves(...crossed(asset, -a), [profileId, asset, isEnd ? "pending" : "available", -a]);
  }

  #legalHold(id: string, cause: string): Moves {
    const isLifted = cause === "legal_hold_lifted";
    const ownId = isLifted ? siblingId(id as Uuid) : id;
    const row = must(
      this.#rowsOf("legal_hold").find((each) => each.id === ownId),
      `${cause} ${id} has its hold`,
    );
    const action = this.#commandOf(row)?.action;
    invariant(action?.kind === "hold", `legal hold ${ownId} was requested`);
    invariant((row.lifted_at !== null) === isLifted, `legal hold ${ownId} is lifted if its money is given back`);
    const { profileId, asset, amount } = action.request;
    const held = (amount as bigint) * (isLifted ? -1n : 1n);
    return moves([profileId, asset, "available", -held], [profileId, asset, "pending", held]);
  }

  /** Steps follow each other as they may. One batch may take several. */
  #checkSteps(): void {
    for (const row of this.#rowsOf("external_transfer")) {
      const key = `${row.customer_id}/${row.id}`;
      const was = this.row("external_transfer", key).now;
      const transfer = this.row("transfer", key).now ?? this.#rowsOf("transfer").find(({ id }) => id === row.id);
      const reached = statusesAfter(transfer?.from_profile_id !== null, was, Number(row.version));
      invariant(reached.includes(String(row.status)), `external transfer ${key} is ${row.status} after ${was?.status}`);
    }
  }

  #transfer(id: string): Moves {
    const row = must(
      this.#rowsOf("transfer").find((each) => each.id === id),
      `transfer ${id} has its row`,
    );
    const action = this.#commandOf(row)?.action;
    if (action === undefined) return this.#dust(row);
    const request = action.kind === "transfer" ? action.request : itemOf(action, row.ref_id);
    invariant(request !== undefined, `transfer ${id} was requested`);
    const { from, to, asset, amount } = request;
    invariant(
      this.#isActive(from.profileId) && this.#isActive(to.profileId),
      `transfer ${id} is between active profiles`,
    );
    const a = amount as bigint;
    return moves([from.profileId, asset, "available", -a], [to.profileId, asset, "available", a]);
  }

  /** The remainder of a profile that is deactivated. */
  #dust({ from_profile_id: profile_id, to_profile_id, asset }: Row): Moves {
    const after = this.#rowsOf("profile").find(({ id }) => id === profile_id);
    invariant(after?.status === "INACTIVE", `profile ${profile_id} is deactivated with its dust`);
    const { available } = this.account(profile_id, asset).now ?? NOTHING;
    const precision = must(
      assets.find(({ code }) => code === asset),
      "an asset",
    ).precision;
    invariant(available < 10n ** BigInt(18 - precision), `the remaining ${asset} of profile ${profile_id} is dust`);
    return moves([profile_id, asset, "available", -available], [to_profile_id, asset, "available", available]);
  }

  #conversion(id: string, cause: string): Moves {
    const closed = cause !== "conversion_created";
    const ownId = closed ? siblingId(id as Uuid) : id;
    const row = must(
      this.#rowsOf("conversion").find((each) => each.id === ownId),
      `${cause} ${id} has its conversion`,
    );
    const action = this.#commandOf(row)?.action;
    invariant(action?.kind === "convert", `conversion ${ownId} was requested`);
    const { profileId, recipientProfileId, sourceAsset, targetAsset } = action.request;
    const a = action.request.amount as bigint;
    const was = this.row("conversion", `${profileId}/${ownId}`).now?.status;
    invariant(was === (closed ? "CREATED" : undefined), `${cause} of a conversion that was ${was}`);
    if (!closed) {
      invariant(
        this.#isActive(profileId) && this.#isActive(recipientProfileId ?? profileId),
        "its profiles are active",
      );
      return moves([profileId, sourceAsset, "available", -a], [profileId, sourceAsset, "pending", a]);
    }
    if (cause === "conversion_cancelled") {
      invariant(row.status === "CANCELLED", `conversion ${ownId} is cancelled`);
      return moves([profileId, sourceAsset, "pending", -a], [profileId, sourceAsset, "available", a]);
    }
    invariant(row.status === "SETTLED", `conversion ${ownId} is settled`);
    const paid = [recipientProfileId ?? profileId, targetAsset, "available", a] as const;
    const house = [...issued(sourceAsset, -a), ...issued(targetAsset, a)];
    return moves([profileId, sourceAsset, "pending", -a], paid, ...house);
  }

  #hold(id: string): Moves {
    const row = must(
      this.#rowsOf("orders").find((each) => each.id === id),
      `a hold ${id} has its order`,
    );
    const action = this.#commandOf(row)?.action;
    invariant(action?.kind === "order", `order ${id} was requested`);
    const { profileId, recipientProfileId, market: code, side, baseAmount, quoteAmount, price } = action.request;
    invariant(this.#isActive(profileId) && this.#isActive(recipientProfileId ?? profileId), "its profiles are active");
    const market = must(catalogue.findMarket(code), "a market");
    const base = baseAmount as bigint | undefined;
    const gross = (quoteAmount as bigint | undefined) ?? times(base ?? 0n, price?.amount ?? 0n);
    const held = side === "SELL" ? (base ?? 0n) : gross + times(gross, units(row.taker_rate));
    this.#orders.set(id, { held, filled: 0n, gross: 0n });
    const asset = side === "SELL" ? market.base : market.quote;
    return moves([profileId, asset, "available", -held], [profileId, asset, "trading", held]);
  }

  #match(id: string): Moves {
    const executions = this.#rowsOf("execution");
    const maker = must(
      executions.find(
        (row) => BigInt(String(row.id)) % 2n === 0n && matchJournalId(BigInt(String(row.id)) as ExecutionId) === id,
      ),
      `match ${id} has its executions`,
    );
    const taker = must(
      executions.find((row) => BigInt(String(row.id)) === BigInt(String(maker.id)) + 1n),
      `match ${id} has the taker's execution`,
    );
    const orderOf = ({ order_id }: Row): Row =>
      must(
        this.#rowsOf("orders").find((row) => row.id === order_id),
        `order ${order_id} is in the batch of its match`,
      );
    const [making, taking] = [orderOf(maker), orderOf(taker)];
    const [amount, price] = [units(maker.amount), units(maker.price)];
    invariant(units(making.price) === price, `match ${id} is at the maker's price`);
    const limit = taking.price === null ? undefined : units(taking.price);
    const isWithin = limit === undefined || (taking.side === "BUY" ? limit >= price : limit <= price);
    invariant(isWithin, `match ${id} is within the taker's limit`);
    invariant(making.customer_id !== taking.customer_id, `match ${id} is between two customers`);
    const gross = times(amount, price);
    const commission = times(gross, units(taking.taker_rate));
    const promised = times(gross, units(making.maker_rebate));
    const rebate = lesser(promised, commission);
    const [buyer, seller] = taking.side === "BUY" ? [taking, making] : [making, taking];
    const fee = (order: Row): bigint => (order === taking ? commission : 0n);
    const reward = (order: Row): bigint => (order === making ? rebate : 0n);
    const isLimit = buyer.price !== null;
    const most = isLimit ? times(amount, units(buyer.price)) : gross;
    const share = isLimit ? most + times(most, units(buyer.taker_rate)) : gross + fee(buyer);
    this.#fill(String(buyer.id), share, amount, gross);
    this.#fill(String(seller.id), amount, amount, gross);
    const { base, quote } = must(catalogue.findMarket(String(maker.market)), "a market");
    return moves(
      [seller.profile_id, base, "trading", -amount],
      [buyer.recipient_profile_id ?? buyer.profile_id, base, "available", amount],
      [buyer.profile_id, quote, "trading", -share],
      [buyer.profile_id, quote, "available", share - gross - fee(buyer) + reward(buyer)],
      [seller.recipient_profile_id ?? seller.profile_id, quote, "available", gross - fee(seller) + reward(seller)],
      ["fees", quote, "available", commission - rebate],
    );
  }

  #fill(id: string, share: bigint, amount: bigint, gross: bigint): void {
    const order = must(this.#orders.get(id), `order ${id} was placed`);
    order.held -= share;
    order.filled += amount;
    order.gross += gross;
    invariant(order.held >= 0n, `order ${id} pays from what it holds`);
  }

  #release(id: string): Moves {
    const ownId = siblingId(id as Uuid);
    const row = must(
      this.#rowsOf("orders").find((each) => each.id === ownId),
      `a release ${id} has its order`,
    );
    const order = must(this.#orders.get(ownId), `order ${ownId} was placed`);
    const { held } = order;
    order.held = 0n;
    const market = must(catalogue.findMarket(String(row.market)), "a market");
    const asset = row.side === "SELL" ? market.base : market.quote;
    return moves([row.profile_id, asset, "trading", -held], [row.profile_id, asset, "available", held]);
  }

  #checkOrders(): void {
    for (const row of this.#rowsOf("orders")) {
      const order = this.#orders.get(String(row.id)) ?? { held: 0n, filled: 0n, gross: 0n };
      const same =
        units(row.held) === order.held && units(row.filled) === order.filled && units(row.filled_gross) === order.gross;
      invariant(same, `order ${row.id} holds ${order.held} and has filled ${order.filled} for ${order.gross}`);
      invariant(row.closed_at === null || order.held === 0n, `order ${row.id} is closed and holds nothing`);
    }
  }

  #move(done: Moves): void {
    const touched = new Map<string, AccountState>();
    for (const [key, amount] of done) {
      const [owner, asset, part] = key.split(" ") as [string, string, keyof AccountState];
      const name = `${owner} ${asset}`;
      const state = touched.get(name) ?? this.account(owner, asset).now ?? NOTHING;
      touched.set(name, { ...state, [part]: state[part] + amount });
    }
    for (const [name, state] of touched) {
      const [owner] = name.split(" ");
      const isProfile = owner?.includes("-") === true;
      invariant(
        !isProfile || (state.available >= 0n && state.trading >= 0n && state.pending >= 0n),
        `${name} is not overdrawn`,
      );
      historyOf(this.accounts, name).add(this.#at, state);
    }
  }
}

const RECORDS = ["transfer", "conversion", "orders", "legal_hold"];

const lesser = (a: bigint, b: bigint): bigint => (a < b ? a : b);
