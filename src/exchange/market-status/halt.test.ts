import { expect, test } from "vitest";
import { TESTER } from "../../../test/support/movements.ts";
import type { MarketCode } from "../../catalogue/market.ts";
import type { Command, Rejection } from "../../ledger/decision.ts";
import { AdmissionControl } from "../../ledger/writer/command-admission.ts";
import type { Instant } from "../../std/clock.ts";
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
