/** `parbook fee`: the fee tiers of a market, and agreements with single customers. */
import type { Command } from "commander";
import type { Catalogue } from "../../catalogue/catalogue.ts";
import {
  type Agreement,
  agreeFees,
  endAgreement,
  listAgreements,
  type MarketNotScheduled,
  readTiers,
  setFeeTiers,
} from "../../catalogue/fee-schedule/fee-schedule.ts";
import type { FeeRates, FeeRejection, FeeTier } from "../../catalogue/fee-tiers.ts";
import type { MarketCode } from "../../catalogue/market.ts";
import type { CustomerId } from "../../customers/customer-id.ts";
import { readNames } from "../../customers/operator-queries.ts";
import type { OperatorCaller } from "../../ledger/caller.ts";
import { type Amount, formatAmount } from "../../money/amount.ts";
import type { Foundation } from "../../service/core.ts";
import type { Check } from "../../std/result.ts";
import { type CustomerReference, readRate, readTier } from "../arguments.ts";
import {
  addCommand,
  addGroup,
  CommandRejected,
  type CommandResult,
  setAction,
  setWritingAction,
  withConfiguration,
  withFoundation,
} from "../command.ts";
import { LIST_LIMIT } from "../listing.ts";
import { table } from "../terminal.ts";
import { marketNotFound } from "./catalogue-names.ts";
import { CUSTOMER_OPTION, getCustomer } from "./customers.ts";

const EFFECT_NOTICE = "It applies to new orders, on every node within 10 seconds.";

interface AgreementOptions {
  readonly customer: CustomerReference;
}

export function addFeeCommands(program: Command): void {
  const fee = addGroup(program, "fee", "the trading fees of a market");
  const list = addCommand(fee, "list <market>", {
    summary: "list the fee tiers of a market and the agreements with single customers",
    examples: ["fee list BTCUSD"],
  });
  setAction(list, (market: MarketCode) => withFoundation((foundation) => listing(foundation, market)));

  const set = addCommand(fee, "set <market>", {
    summary: "replace all tiers of a market",
    examples: ["fee set BTCUSD 0:0.0035:0.0003 1000000:0.0018:0.0004"],
  }).argument("<tiers...>", "each 30-day volume:taker rate:maker rebate; one must start at 0", collected);
  setWritingAction(set, setTiers);

  const agree = addCommand(fee, "agree <market>", {
    summary: "set agreed rates for one customer, in place of the tiers of the market",
    examples: ["fee agree BTCUSD --customer Acme --taker-rate 0.001 --maker-rebate 0.0004"],
  })
    .requiredOption(...CUSTOMER_OPTION)
    .requiredOption("--taker-rate <rate>", "the fee the customer pays as taker, as a fraction of gross", readRate)
    .requiredOption(
      "--maker-rebate <rate>",
      "the rebate the customer receives as maker, as a fraction of gross",
      readRate,
    );
  setWritingAction(agree, agreeOn);

  const end = addCommand(fee, "end <market>", {
    summary: "end the agreement with a customer; the tiers apply again",
    examples: ["fee end BTCUSD --customer Acme"],
  }).requiredOption(...CUSTOMER_OPTION);
  setWritingAction(end, endOf);
}

/** Commander passes one value at a time, with the result so far. */
const collected = (text: string, before: readonly FeeTier[] = []): readonly FeeTier[] => [...before, readTier(text)];

function setTiers(operator: OperatorCaller, market: MarketCode, tiers: readonly FeeTier[]): Promise<CommandResult> {
  return withConfiguration(async (foundation) => {
    throwIfRejected(foundation.catalogue, market, await setFeeTiers(foundation.database, market, tiers, operator));
    return withEffectNotice(await listing(foundation, market));
  });
}

function agreeOn(
  operator: OperatorCaller,
  market: MarketCode,
  { customer, takerRate, makerRebate }: AgreementOptions & FeeRates,
): Promise<CommandResult> {
  return withConfiguration(async ({ database, catalogue }) => {
    const { id: customerId, name } = await getCustomer(database, customer);
    const agreement: Agreement = { customerId, takerRate, makerRebate };
    throwIfRejected(catalogue, market, await agreeFees(database, market, agreement, operator));
    const { taker_rate, maker_rebate } = ratesRecord(agreement);
    return withEffectNotice({
      json: { market, ...agreementRecord(agreement) },
      prose: [
        `customer ${customerId} (${name}) pays ${taker_rate} as taker on ${market} and receives ${maker_rebate} as maker.`,
      ],
    });
  });
}

function endOf(operator: OperatorCaller, market: MarketCode, { customer }: AgreementOptions): Promise<CommandResult> {
  return withConfiguration(async ({ database }) => {
    const { id, name } = await getCustomer(database, customer);
    if (!(await endAgreement(database, market, id, operator))) {
      throw new CommandRejected(`no agreement with customer ${id} (${name}) on ${market}`);
    }
    const prose = [`The agreement with customer ${id} (${name}) on ${market} has ended.`];
    return withEffectNotice({ json: { market, customer_id: id }, prose });
  });
}

async function listing({ database, catalogue }: Foundation, market: MarketCode): Promise<CommandResult> {
  const tiers = (await readTiers(database, market)).map((tier) => ({
    minimum_gross: formatAmount(tier.minimumGross),
    ...ratesRecord(tier),
  }));
  if (tiers.length === 0) throw new CommandRejected(marketNotFound(catalogue, market));
  const listed = await listAgreements(database, market, LIST_LIMIT + 1);
  const names = await readNames(
    database,
    listed.map(({ customerId }) => customerId as CustomerId),
  );
  const found = listed.map((agreement) => ({
    ...agreementRecord(agreement),
    customer_name: names.get(agreement.customerId as CustomerId) ?? "",
  }));
  const agreements = found.slice(0, LIST_LIMIT);
  const more = found.length > agreements.length;
  const shown = [
    ...table(
      ["30-day volume", "taker rate", "maker rebate"],
      tiers.map(({ minimum_gross, taker_rate, maker_rebate }) => [minimum_gross, taker_rate, maker_rebate]),
    ),
    ...(agreements.length === 0
      ? []
      : [
          "",
          ...table(
            ["agreed with customer", "taker rate", "maker rebate", "name"],
            agreements.map((each) => [each.customer_id, each.taker_rate, each.maker_rebate, each.customer_name]),
          ),
        ]),
    ...(more ? [`Only the first ${LIST_LIMIT} agreements are shown.`] : []),
  ];
  return { json: { market, tiers, agreements, more }, prose: shown };
}

const withEffectNotice = ({ json, prose }: CommandResult): CommandResult => ({
  json,
  prose: [...prose, EFFECT_NOTICE],
});

function ratesRecord({ takerRate, makerRebate }: FeeRates) {
  return { taker_rate: formatAmount(takerRate), maker_rebate: formatAmount(makerRebate) };
}

function agreementRecord({ customerId, ...rates }: Agreement) {
  return { customer_id: customerId, ...ratesRecord(rates) };
}

function throwIfRejected(
  catalogue: Catalogue,
  market: MarketCode,
  change: Check<FeeRejection | MarketNotScheduled>,
): void {
  if (change.kind === "rejected") throw new CommandRejected(sentence(catalogue, market, change.rejection));
}

function sentence(catalogue: Catalogue, market: MarketCode, rejection: FeeRejection | MarketNotScheduled): string {
  const text = (amount: Amount): string => formatAmount(amount);
  switch (rejection.code) {
    case "market_not_found":
      return marketNotFound(catalogue, market);
    case "no_tier_from_zero":
      return "one tier must start at 0, such as 0:0.0035:0.0003";
    case "tier_below_zero":
      return `a tier cannot start at ${text(rejection.minimumGross)}, below 0`;
    case "tier_given_twice":
      return `two tiers start at ${text(rejection.minimumGross)}`;
    case "too_many_tiers":
      return `a market has at most ${rejection.most} tiers`;
    case "not_a_rate":
      return `${text(rejection.rate)} is not a rate`;
    case "rebate_above_commission":
      return `the highest maker rebate on ${market}, ${text(rejection.makerRebate)}, would exceed its lowest taker rate, ${text(rejection.takerRate)}, across all tiers and agreements: rebates are paid out of commissions`;
  }
}
