/**
 * A small ledger that has one of everything, made by the real lane: deposits, withdrawals, steps of both, legal
 * holds, a transfer, conversions in every state, orders and a match, and a webhook that was disabled twice. Ids are known by names, so that findings read the same each time.
 */
import { type Catalogue, loadCatalogue } from "../../src/catalogue/catalogue.ts";
import type { MarketCode } from "../../src/catalogue/market.ts";
import { cancellationOf, createConversions, settlementOf } from "../../src/conversions/conversions.ts";
import type { ConversionRequest } from "../../src/conversions/rules.ts";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import { createCustomers } from "../../src/customers/customers.ts";
import { createLegalHolds } from "../../src/customers/legal-holds/legal-holds.ts";
import { createProfiles } from "../../src/customers/profiles/profiles.ts";
import { customerVolumeKey, customerVolumes, customerVolumeTable, dayOf } from "../../src/exchange/customer-volume.ts";
import { createExchange } from "../../src/exchange/exchange.ts";
import { type Execution, executionTable } from "../../src/exchange/execution.ts";
import { executedAtOf, matchJournalId, NO_EXECUTION, nextMatchId, takerId } from "../../src/exchange/execution-id.ts";
import { haltMarket, resumeMarket } from "../../src/exchange/market-status/halt.ts";
import { type Order, orderKey, orderTable } from "../../src/exchange/order.ts";
import type { OrderRequest } from "../../src/exchange/orders/rules.ts";
import { accountKey, entry, journal, type ProfileId } from "../../src/ledger/accounts.ts";
import { recordConfigurationWrite, sealConfigurationWrites } from "../../src/ledger/configuration-writes.ts";
import { accept, type Claim, type Command, type Outcome, type Rejection } from "../../src/ledger/decision.ts";
import { houseOwnerId, reserveOf } from "../../src/ledger/house-accounts.ts";
import { addition, change } from "../../src/ledger/tables.ts";
import { Lane } from "../../src/ledger/writer/lane.ts";
import { type Amount, amountOf, minus, multiplyExact, negative, plus, ZERO } from "../../src/money/amount.ts";
import { type AssetCode, USD } from "../../src/money/asset.ts";
import type { Database } from "../../src/postgres/database.ts";
import { assert, must } from "../../src/std/assert.ts";
import { systemClock } from "../../src/std/clock.ts";
import { IdSource, siblingId, type Uuid } from "../../src/std/id.ts";
import { createTransfers, type Step } from "../../src/transfers/transfers.ts";
import { disableWebhook } from "../support/disabled-webhooks.ts";
import { publishOnce } from "../support/events.ts";
import { ledgerClock, TESTER } from "../support/movements.ts";

export interface SmallBooks {
  /** Names of ids, by id: what is beside a name is the odd id of a pair. */
  readonly names: ReadonlyMap<string, string>;
  /** A platform transfer of so many USD from `treasury` to `shop`. */
  transfer(amount: string): Promise<void>;
  convert(): Promise<void>;
  /** Another customer, with its first profile. */
  addCustomer(): Promise<void>;
  /** Changes the description of `desk`. */
  describe(text: string): Promise<void>;
  /** Publishes the events of what is new, in a cut of its own. */
  publish(): Promise<void>;
  /** A profile with dust is taken out of use. The dust is put there without a record, which verify would notice. */
  deactivate(): Promise<void>;
  close(): Promise<void>;
}

/** Orders stay as they are placed: the match is made here, by hand. */
const NO_ENGINES = { wake: () => undefined, onCommitted: () => undefined };

export async function makeSmallBooks(database: Database): Promise<SmallBooks> {
  const catalogue = await loadCatalogue(database);
  const lane = new Lane({ database, clock: ledgerClock(), holder: "small-ledger", log: () => undefined });
  await lane.start();
  const making = new Making(database, lane, catalogue);
  await making.all();
  return {
    names: making.names,
    transfer: (amount) => making.transfer("", amount),
    convert: () => making.convert("", { sourceAsset: "USD", targetAsset: "PYUSD", amount: amountOf("1") }, "settle"),
    addCustomer: () => making.addCustomer(),
    describe: (text) => making.describe(text),
    deactivate: () => making.deactivate(),
    publish: () => publishOnce(database),
    close: async () => {
      await lane.stop();
      catalogue.close();
    },
  };
}

const SENDING: readonly Step[] = [{ to: "approved" }, { to: "sent" }];

class Making {
  readonly names = new Map<string, string>();
  readonly #database: Database;
  readonly #lane: Lane;
  readonly #catalogue: Catalogue;
  readonly #ids = new IdSource();
  readonly #parts;
  #customerId = "" as CustomerId;
  readonly #profiles = new Map<string, ProfileId>();

  constructor(database: Database, lane: Lane, catalogue: Catalogue) {
    this.#database = database;
    this.#lane = lane;
    this.#catalogue = catalogue;
    const parts = { database, lane, catalogue, ids: this.#ids, clock: systemClock };
    this.#parts = {
      customers: createCustomers(parts),
      profiles: createProfiles(parts),
      transfers: createTransfers(parts),
      legalHolds: createLegalHolds(parts),
      conversions: createConversions({ ...parts, onCreated: () => undefined }),
      exchange: createExchange({ ...parts, engines: NO_ENGINES, onFeedFault: () => undefined }),
    };
  }

  async all(): Promise<void> {
    for (const house of ["world", "issuance", "fees"] as const) this.names.set(houseOwnerId(house, 1), house);
    this.names.set(houseOwnerId(reserveOf("PYUSD" as AssetCode), 1), "reserve");
    this.#customerId = this.#named("acme", this.#ids.next()) as CustomerId;
    await this.#parts.customers.ensure(this.#customerId, "Acme", TESTER);
    for (const nickname of ["treasury", "shop", "desk", "vault"]) await this.#profile(nickname);
    await this.#cross("wire", "treasury", "USD", "100000");
    await this.#cross("coins", "treasury", "PYUSD", "500");
    await this.#cross("bitcoin", "desk", "BTC", "10");
    await this.#cross("payout", "treasury", "USD", "10", "DEBIT");
    await this.transfer("rent", "25", "rent");
    const mint = { sourceAsset: "USD", targetAsset: "USDP", amount: amountOf("100") };
    await this.convert("mint", mint, "settle");
    await this.convert("undone", { ...mint, sourceAsset: "PYUSD" }, "cancel");
    const redeem = { sourceAsset: "PYUSD", targetAsset: "USD", amount: amountOf("50"), refId: "redeem" };
    await this.convert("redeem", { ...redeem, recipientProfileId: this.#profileId("vault") });
    const maker = await this.#place("offer", "desk", { side: "SELL", price: "20000", amount: "2", to: "vault" });
    const taker = await this.#place("bid", "treasury", { side: "BUY", price: "21000", amount: "1", refId: "bid" });
    await this.#lane.execute(this.#match(maker, taker, "1", "20000"));
    await this.#profile("depot");
    await this.#cross("stock", "depot", "USD", "1000");
    await this.#cross("wired", "depot", "USD", "5", "DEBIT", [...SENDING, { to: "completed", cryptoTxHash: "0xabc" }]);
    await this.#cross("returned", "depot", "USD", "6", "DEBIT", [...SENDING, { to: "failed", reason: "no such bank" }]);
    const sent = { to: "sent", cryptoTxHash: "0xdef", cryptoTxIndex: "1" } as const;
    await this.#cross("sent", "depot", "USD", "7", "DEBIT", [{ to: "approved" }, sent]);
    await this.#cross("arrived", "depot", "USD", "8", "CREDIT", [{ to: "completed" }]);
    await this.#cross("announced", "depot", "USD", "9", "CREDIT", []);
    await this.#hold("blocked", "depot", "11");
    await this.#hold("unblocked", "depot", "12", "lift");
    await this.#place("low", "treasury", { side: "BUY", price: "15000", amount: "0.5" });
    for (const change of [haltMarket, resumeMarket])
      done(await this.#lane.execute(change("BTCUSD" as MarketCode, TESTER)));
    const webhook = { id: this.#named("hook", this.#ids.next()), customerId: this.#customerId, name: "hook" };
    for (const reason of ["failing", "gone"] as const) {
      await disableWebhook({ database: this.#database, lane: this.#lane }, webhook, reason);
    }
    await this.#configure();
  }

  async #configure(): Promise<void> {
    const write = { kind: "client", subject: "acme", customerId: this.#customerId, details: { scopes: "*" } } as const;
    await this.#database.transaction((transaction) => recordConfigurationWrite(transaction, TESTER, write));
    await sealConfigurationWrites(this.#database, this.#lane);
  }

  async transfer(name: string, amount: string, refId?: string): Promise<void> {
    const [from, to] = [{ profileId: this.#profileId("treasury") }, { profileId: this.#profileId("shop") }];
    const request = { customerId: this.#customerId, kind: "platform", from, to, asset: "USD", refId } as const;
    const { id } = done(await this.#parts.transfers.move({ ...request, amount: amountOf(amount) }, TESTER));
    this.#named(name, id);
  }

  async convert(name: string, request: Partial<ConversionRequest>, end?: "settle" | "cancel"): Promise<void> {
    const profileId = this.#profileId("treasury");
    const asked = { customerId: this.#customerId, profileId, ...request } as ConversionRequest;
    const conversion = done(await this.#parts.conversions.create(asked, TESTER));
    this.#named(name, conversion.id);
    if (end === "settle") done(await this.#lane.execute(settlementOf(conversion, TESTER)));
    if (end === "cancel") done(await this.#lane.execute(cancellationOf(conversion, TESTER)));
  }

  async addCustomer(): Promise<void> {
    await this.#parts.customers.ensure(this.#ids.next() as CustomerId, "Beta", TESTER);
  }

  async describe(description: string): Promise<void> {
    done(await this.#parts.profiles.update(this.#customerId, this.#profileId("desk"), { description }, TESTER));
  }

  async deactivate(): Promise<void> {
    await this.#profile("spare");
    const [profile, dust] = [this.#profileId("spare"), amountOf("0.003000000000000001")];
    const entries = [entry("world", USD, negative(dust)), entry(profile, USD, dust)];
    await this.#lane.execute({
      queueKey: "house",
      caller: TESTER,
      dependsOn: entries.map(({ owner, asset }) => accountKey(owner, asset)),
      decide: () => accept(undefined, { journals: [journal(this.#ids.next(), "deposit", entries)] }),
    });
    done(await this.#parts.transfers.deactivate(this.#customerId, profile, TESTER));
  }

  async #profile(nickname: string): Promise<void> {
    const request = { customerId: this.#customerId, nickname, description: undefined };
    const { id } = done(await this.#parts.profiles.create(request, TESTER));
    this.#profiles.set(nickname, id);
    this.#named(nickname, id);
  }

  /** @param steps that follow the request; undefined: complete at once */
  async #cross(
    name: string,
    profile: string,
    asset: string,
    amount: string,
    direction: "CREDIT" | "DEBIT" = "CREDIT",
    steps?: readonly Step[],
  ) {
    const type = direction === "CREDIT" ? "WIRE_DEPOSIT" : "WIRE_WITHDRAWAL";
    const owner = { customerId: this.#customerId, profileId: this.#profileId(profile) };
    const request = { ...owner, asset, amount: amountOf(amount), direction, type, details: {} } as const;
    const { transfers } = this.#parts;
    const recorded = await transfers.recordExternal({ ...request, ...(steps && { hasSteps: true }) }, TESTER);
    const id = this.#named(name, done(recorded).id);
    for (const step of steps ?? []) done(await transfers.step(this.#customerId, id, step, TESTER));
  }

  async #hold(name: string, profile: string, amount: string, end?: "lift"): Promise<void> {
    const profileId = this.#profileId(profile);
    const caller = { operator: "olga", operation: "hold place" };
    const owner = { customerId: this.#customerId, profileId };
    const request = { ...owner, asset: "USD", amount: amountOf(amount), refId: name, reason: "court order 17" };
    const { id } = done(await this.#parts.legalHolds.place(request, caller));
    this.#named(name, id);
    if (end === "lift") done(await this.#parts.legalHolds.lift(profileId, id, caller));
  }

  async #place(
    name: string,
    profile: string,
    asked: { side: "BUY" | "SELL"; price: string; amount: string; to?: string; refId?: string },
  ): Promise<Order> {
    const request: OrderRequest = {
      customerId: this.#customerId,
      profileId: this.#profileId(profile),
      market: "BTCUSD",
      side: asked.side,
      type: "LIMIT",
      timeInForce: "GTC",
      price: { amount: amountOf(asked.price), isExact: true },
      baseAmount: amountOf(asked.amount),
      refId: asked.refId,
      recipientProfileId: asked.to === undefined ? undefined : this.#profileId(asked.to),
    };
    const order = done(await this.#parts.exchange.place(request, TESTER));
    this.#named(name, order.id);
    return order;
  }

  /** What an engine does with a match that fills the taker, a limit buy. */
  #match(maker: Order, taker: Order, amountText: string, priceText: string): Command<undefined, never> {
    const [amount, price] = [amountOf(amountText), amountOf(priceText)];
    const gross = multiplyExact(amount, price);
    const commission = multiplyExact(gross, taker.takerRate);
    const rebate = multiplyExact(gross, maker.makerRebate);
    const market = must(this.#catalogue.findMarket(maker.market), "the market is there");
    const { base, quote } = market;
    const makerId = nextMatchId(NO_EXECUTION, market.number, systemClock.now());
    const journalId = matchJournalId(makerId);
    this.names.set(makerId.toString(), "match").set(takerId(makerId).toString(), "match+1").set(journalId, "matched");
    const recipient = must(maker.recipientProfileId, "the maker has a recipient");
    const cost = plus(gross, commission);
    const both = { market: market.code, amount, price, annotations: {}, executedAt: executedAtOf(makerId) };
    const executions: Execution[] = [
      { ...both, ...orderOf(maker), id: makerId, commission: ZERO, rebate },
      { ...both, ...orderOf(taker), id: takerId(makerId), commission, rebate: ZERO },
    ];
    const day = dayOf(executedAtOf(makerId));
    const entries = [
      entry(maker.profileId, base, negative(amount), "trading"),
      entry(taker.profileId, base, amount),
      entry(taker.profileId, quote, negative(taker.held), "trading"),
      entry(taker.profileId, quote, minus(taker.held, cost)),
      entry(recipient, quote, plus(gross, rebate)),
      entry("fees", quote, minus(commission, rebate)),
    ];
    return {
      queueKey: "house",
      caller: TESTER,
      dependsOn: [
        ...[maker, taker].map((order) => orderKey(order.profileId, order.id)),
        ...entries.map(({ owner, asset }) => accountKey(owner, asset)),
        customerVolumeKey({ customerId: this.#customerId, day, market: market.code }),
      ],
      decide: (state, now) => {
        const [resting, coming] = [maker, taker].map((order) =>
          must(state.get(orderTable, orderKey(order.profileId, order.id).key), "the order is there"),
        ) as [Order, Order];
        const closed = { status: "FILLED", closedAt: now, held: ZERO } as const;
        const left = { status: "OPEN", sequence: 1n, priority: 1n, held: minus(resting.held, amount) } as const;
        return accept(undefined, {
          states: [
            change(orderTable, { ...resting, ...left, ...filled(resting, amount, gross) }),
            change(orderTable, { ...coming, ...closed, ...filled(coming, amount, gross) }),
            ...must(customerVolumes(state, market.code, executions, [day]), "the day is named").map((row) =>
              change(customerVolumeTable, row),
            ),
          ],
          records: executions.map((execution) => addition(executionTable, execution)),
          journals: [journal(journalId, "order_filled", entries)],
        });
      },
    };
  }

  #profileId(nickname: string): ProfileId {
    return must(this.#profiles.get(nickname), `there is a profile ${nickname}`);
  }

  #named(name: string, id: Uuid): Uuid {
    if (name !== "") this.names.set(id, name).set(siblingId(id), `${name}+1`);
    return id;
  }
}

const orderOf = ({ profileId, customerId, id, side }: Order) => ({ profileId, customerId, orderId: id, side });

const filled = (order: Order, amount: Amount, gross: Amount) => ({
  filled: plus(order.filled, amount),
  filledGross: plus(order.filledGross, gross),
});

function done<Value>(outcome: Outcome<Value, Rejection, Claim>): Value {
  assert(outcome.kind === "done", `the command is carried out, but it is ${JSON.stringify(outcome.kind)}`);
  return outcome.value;
}
