/** Halting a market, taking it up again, and seeing which are open. */
import type { Command } from "commander";
import type { MarketCode } from "../../catalogue/market.ts";
import { haltMarket, resumeMarket } from "../../exchange/markets/halt.ts";
import { listMarkets } from "../../exchange/markets/markets.ts";
import { formatAmount } from "../../money/amount.ts";
import { type Answer, addCommand, addGroup, answering, CommandRejected, withCore, withFoundation } from "../command.ts";
import { operatorOf } from "../operator.ts";
import { table } from "../terminal.ts";

export function addMarketCommands(program: Command): void {
  const market = addGroup(program, "market", "where orders meet");
  const halt = addCommand(market, "halt <market>", {
    summary: "take no new orders and match nothing; what rests stays and can be cancelled",
    examples: ["market halt BTCUSD"],
  });
  answering(halt, (code: MarketCode) => setStatus(code, haltMarket(code, operatorOf("market halt"))));

  const resume = addCommand(market, "resume <market>", {
    summary: "take orders and match again",
    examples: ["market resume BTCUSD"],
  });
  answering(resume, (code: MarketCode) => setStatus(code, resumeMarket(code, operatorOf("market resume"))));

  const list = addCommand(market, "list", { summary: "list the markets", examples: ["market list"] });
  answering(list, listAll);
}

/** Durable when it is answered. A market that has the status already keeps it. */
function setStatus(asked: MarketCode, command: ReturnType<typeof haltMarket>): Promise<Answer> {
  return withCore(async ({ lane }) => {
    const outcome = await lane.execute(command);
    if (outcome.kind !== "done") throw new CommandRejected(`market not found: ${asked}`);
    const { code, status } = outcome.value;
    return { json: { market: code, status }, prose: [`market ${code} is ${status}`] };
  });
}

function listAll(): Promise<Answer> {
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
