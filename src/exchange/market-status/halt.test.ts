import { expect, test } from "vitest";
import { TESTER } from "../../../test/support/movements.ts";
import { stateOf } from "../../../test/support/states.ts";
import type { MarketCode } from "../../catalogue/market.ts";
import type { Command, Rejection } from "../../ledger/decision.ts";
import { change } from "../../ledger/tables.ts";
import { AdmissionControl } from "../../ledger/writer/command-admission.ts";
import type { Instant } from "../../std/clock.ts";
import { type MarketState, marketTable } from "../market-state.ts";
import { haltMarket, resumeMarket } from "./halt.ts";

test("a market can be halted and resumed while the ledger admits nothing from customers", async () => {
  const admission = new AdmissionControl(0, 0);
  const admit = (command: Command<unknown, Rejection>) => admission.admit(command, 1_000 as Instant);
  for (const change of [haltMarket, resumeMarket]) {
    const command = change("BTCUSD" as MarketCode, TESTER);
    const ofCustomer = admit({ ...command, queueKey: "0190d5a4-0000-7000-8000-000000000001" as never });
    await expect(ofCustomer.outcome).rejects.toThrow("too much is waiting");
    expect(admit(command).pending.isComplete).toBe(false);
  }
});

test("halting a halted market and resuming an open one change nothing", () => {
  const code = "BTCUSD" as MarketCode;
  const decided = (command: ReturnType<typeof haltMarket>, status: MarketState["status"]) =>
    command.decide(stateOf([marketTable, code, { code, status, version: 3n } as MarketState]), 1_000 as Instant);
  const [halt, resume] = [haltMarket(code, TESTER), resumeMarket(code, TESTER)];
  const [open, halted] = (["OPEN", "HALTED"] as const).map((status) => ({ code, status, version: 3n }));
  expect(decided(halt, "HALTED")).toEqual({ kind: "done", value: halted, changes: {} });
  expect(decided(resume, "OPEN")).toEqual({ kind: "done", value: open, changes: {} });
  expect(decided(halt, "OPEN")).toEqual({
    kind: "done",
    value: halted,
    changes: { states: [change(marketTable, halted as MarketState)] },
  });
  expect(decided(resume, "HALTED")).toEqual({
    kind: "done",
    value: open,
    changes: { states: [change(marketTable, open as MarketState)] },
  });
  const notFound = { kind: "rejected", rejection: { code: "market_not_found", market: code } };
  expect(halt.decide(stateOf(), 1_000 as Instant)).toEqual(notFound);
});
