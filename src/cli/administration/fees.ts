/** What trading costs on a market: its tiers by what a customer trades, and what was agreed with single customers. */
import type { Command } from "commander";
import type { FeeRates, FeeRejection, FeeTier } from "../../catalogue/fee-tiers.ts";
import {
  type Agreement,
  agreeFees,
  endAgreement,
  listAgreements,
  type MarketNotScheduled,
  readTiers,
  setFeeTiers,
} from "../../catalogue/fees/fee-schedule.ts";
import type { MarketCode } from "../../catalogue/market.ts";
import type { CustomerId } from "../../customers/customer-id.ts";
import { type Amount, formatAmount } from "../../money/amount.ts";
import type { Foundation } from "../../service/core.ts";
import { readRate, readTier, readUuid } from "../arguments.ts";
import { type Answer, addCommand, addGroup, answering, CommandRejected, withFoundation } from "../command.ts";
import { LISTED_AT_MOST } from "../listing.ts";
import { table } from "../terminal.ts";
import { getCustomer } from "./customers.ts";

const CUSTOMER = "0190d5a4-0000-7000-8000-000000000002";
const SOON = "It holds for orders that are placed from now on, on every node within 10 seconds.";

interface AgreementOptions {
  readonly customer: CustomerId;
}

export function addFeeCommands(program: Command): void {
  const fee = addGroup(program, "fee", "what trading costs on a market");
  const list = addCommand(fee, "list <market>", {
    summary: "list the tiers of a market, and what was agreed with single customers",
    examples: ["fee list BTCUSD"],
  });
  answering(list, (market: MarketCode) => withFoundation((foundation) => listing(foundation, market)));

  const set = addCommand(fee, "set <market>", {
    summary: "put tiers in the place of all that the market has",
    examples: ["fee set BTCUSD 0:0.0035:0.0003 1000000:0.0018:0.0004"],
  }).argument("<tiers...>", "each 30-day gross:taker rate:maker rebate, the first from 0", collected);
  answering(set, setTiers);

  const agree = addCommand(fee, "agree <market>", {
    summary: "agree on rates with one customer, which hold on the market instead of its tiers",
    examples: [`fee agree BTCUSD --customer ${CUSTOMER} --taker-rate 0.001 --maker-rebate 0.0004`],
  })
    .requiredOption("--customer <id>", "the customer's id", readUuid)
    .requiredOption("--taker-rate <rate>", "what the customer pays as the taker, of gross", readRate)
    .requiredOption("--maker-rebate <rate>", "what the customer is paid as the maker, of gross", readRate);
  answering(agree, agreeOn);

  const end = addCommand(fee, "end <market>", {
    summary: "end what was agreed with a customer: the tiers hold again",
    examples: [`fee end BTCUSD --customer ${CUSTOMER}`],
  }).requiredOption("--customer <id>", "the customer's id", readUuid);
  answering(end, endOf);
}

/** Commander reads one after the other, and hands on what it has so far. */
const collected = (text: string, before: readonly FeeTier[] = []): readonly FeeTier[] => [...before, readTier(text)];

function setTiers(market: MarketCode, tiers: readonly FeeTier[]): Promise<Answer> {
  return withFoundation(async (foundation) => {
    refuse(market, await setFeeTiers(foundation.database, market, tiers));
    return told(await listing(foundation, market));
  });
}

function agreeOn(market: MarketCode, { customer, ...rates }: AgreementOptions & FeeRates): Promise<Answer> {
  return withFoundation(async ({ database }) => {
    await getCustomer(database, customer);
    const agreement: Agreement = { customerId: customer, ...rates };
    refuse(market, await agreeFees(database, market, agreement));
    const { taker_rate, maker_rebate } = ratesRecord(agreement);
    return told({
      json: { market, ...agreementRecord(agreement) },
      prose: [`customer ${customer} pays ${taker_rate} on ${market}, and is paid ${maker_rebate}.`],
    });
  });
}

function endOf(market: MarketCode, { customer }: AgreementOptions): Promise<Answer> {
  return withFoundation(async ({ database }) => {
    if (!(await endAgreement(database, market, customer))) {
      throw new CommandRejected(`nothing was agreed with customer ${customer} on ${market}`);
    }
    const prose = [`What was agreed with customer ${customer} on ${market} has ended.`];
    return told({ json: { market, customer_id: customer }, prose });
  });
}

async function listing({ database }: Pick<Foundation, "database">, market: MarketCode): Promise<Answer> {
  const tiers = (await readTiers(database, market)).map((tier) => ({
    minimum_gross: formatAmount(tier.minimumGross),
    ...ratesRecord(tier),
  }));
  if (tiers.length === 0) throw new CommandRejected(`market not found: ${market}`);
  const found = (await listAgreements(database, market, LISTED_AT_MOST + 1)).map(agreementRecord);
  const agreements = found.slice(0, LISTED_AT_MOST);
  const more = found.length > agreements.length;
  const shown = [
    ...table(
      ["30-day gross", "taker rate", "maker rebate"],
      tiers.map(({ minimum_gross, taker_rate, maker_rebate }) => [minimum_gross, taker_rate, maker_rebate]),
    ),
    ...(agreements.length === 0
      ? []
      : [
          "",
          ...table(
            ["agreed with customer", "taker rate", "maker rebate"],
            agreements.map(({ customer_id, taker_rate, maker_rebate }) => [customer_id, taker_rate, maker_rebate]),
          ),
        ]),
    ...(more ? [`These are the first ${LISTED_AT_MOST} agreements: there are more.`] : []),
  ];
  return { json: { market, tiers, agreements, more }, prose: shown };
}

const told = ({ json, prose }: Answer): Answer => ({ json, prose: [...prose, SOON] });

function ratesRecord({ takerRate, makerRebate }: FeeRates) {
  return { taker_rate: formatAmount(takerRate), maker_rebate: formatAmount(makerRebate) };
}

function agreementRecord({ customerId, ...rates }: Agreement) {
  return { customer_id: customerId, ...ratesRecord(rates) };
}

function refuse(market: MarketCode, refusal: FeeRejection | MarketNotScheduled | undefined): void {
  if (refusal !== undefined) throw new CommandRejected(sentence(market, refusal));
}

function sentence(market: MarketCode, refusal: FeeRejection | MarketNotScheduled): string {
  const text = (amount: Amount): string => formatAmount(amount);
  switch (refusal.code) {
    case "market_not_found":
      return `market not found: ${market}`;
    case "no_tier_from_zero":
      return "the tiers of a market begin at 0: give one from there on, such as 0:0.0035:0.0003";
    case "tier_below_zero":
      return `a tier cannot begin at ${text(refusal.minimumGross)}, below 0`;
    case "tier_given_twice":
      return `two tiers begin at ${text(refusal.minimumGross)}`;
    case "too_many_tiers":
      return `a market has ${refusal.most} tiers at most`;
    case "not_a_rate":
      return `${text(refusal.rate)} is not a rate`;
    case "rebate_above_commission":
      return `the highest maker rebate on ${market}, ${text(refusal.makerRebate)}, would be above its lowest taker rate, ${text(refusal.takerRate)}, of all tiers and agreements: rebates are paid out of commissions`;
  }
}
