/** `parbook market`: halts and resumes markets. */
import type { Command } from "commander";
import type { MarketCode } from "../../catalogue/market.ts";
import { haltMarket, resumeMarket } from "../../exchange/market-status/halt.ts";
import { listMarkets } from "../../exchange/market-status/markets.ts";
import { formatAmount } from "../../money/amount.ts";
import {
  addCommand,
  addGroup,
  CommandRejected,
  type CommandResult,
  setAction,
  setWritingAction,
  withCore,
  withFoundation,
} from "../command.ts";
import { table } from "../terminal.ts";
import { marketNotFound } from "./catalogue-names.ts";

export function addMarketCommands(program: Command): void {
  const market = addGroup(program, "market", "the order book markets");
  const halt = addCommand(market, "halt <market>", {
    summary: "stop accepting and matching orders; open orders stay and can be cancelled",
    examples: ["market halt BTCUSD"],
  });
  setWritingAction(halt, (operator, code: MarketCode) => setStatus(code, haltMarket(code, operator)));

  const resume = addCommand(market, "resume <market>", {
    summary: "accept and match orders again",
    examples: ["market resume BTCUSD"],
  });
  setWritingAction(resume, (operator, code: MarketCode) => setStatus(code, resumeMarket(code, operator)));

  const list = addCommand(market, "list", { summary: "list the markets", examples: ["market list"] });
  setAction(list, listAll);
}

/** Durable when it returns. Idempotent. */
function setStatus(asked: MarketCode, command: ReturnType<typeof haltMarket>): Promise<CommandResult> {
  return withCore(async ({ lane, catalogue }) => {
    const outcome = await lane.execute(command);
    if (outcome.kind === "rejected") throw new CommandRejected(marketNotFound(catalogue, asked));
    const { code, status } = outcome.value;
    return { json: { market: code, status }, prose: [`market ${code} is ${status}`] };
  });
}

function listAll(): Promise<CommandResult> {
  return withFoundation(async ({ database, catalogue }) => {
    const items = (await listMarkets(database, catalogue)).map(({ market, status }) => ({
      market: market.code,
      status,
      base_asset: market.base,
      quote_asset: market.quote,
      tick: formatAmount(market.tick),
    }));
    const rows = items.map(({ market, status, tick }) => [market, status, tick]);
    return { json: { items }, prose: table(["market", "status", "tick"], rows) };
  });
}
