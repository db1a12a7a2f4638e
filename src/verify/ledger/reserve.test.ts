import { expect, test } from "vitest";
import type { Database } from "../../postgres/database.ts";
import { examine } from "../check.ts";
import { reserveExamination } from "./reserve.ts";

const KINDS = [
  { kind: "fees", may_be_negative: false, account_class: "revenue" },
  { kind: "issuance", may_be_negative: true, account_class: "liability" },
  { kind: "reserve", may_be_negative: true, account_class: "asset" },
  { kind: "world", may_be_negative: true, account_class: "asset" },
];

/** What is found where profiles and fees hold so much of USDG, of which a hundred are issued and in reserve. */
async function findingsWith(profiles: string, fees: string): Promise<readonly (string | undefined)[]> {
  const coin = (house: string | null, amount: string) => ({
    asset: "USDG",
    kind: "stablecoin",
    house,
    coin: null,
    amount,
  });
  const dollars = (house: string, backed: string | null, amount: string) => ({
    ...{ asset: "USD", kind: "fiat", house },
    ...{ coin: backed, amount },
  });
  const sums = [
    ...[coin(null, profiles), coin("fees", fees), coin("issuance", "-100")],
    ...[dollars("reserve", "USDG", "100"), dollars("world", null, "-100")],
  ];
  const rows = async (text: string) => (text.includes("house_kind") ? KINDS : text.includes("sum(") ? sums : []);
  const transaction = (work: (inside: unknown) => Promise<unknown>) => work({ rows });
  const results = await examine({ rows, transaction } as unknown as Database, [reserveExamination]);
  return results.map(({ first }) => first && `${first.record} ${first.message}`);
}

test("fees that were earned in a stablecoin are part of its supply", async () => {
  expect(await findingsWith("98.5", "1.5")).toEqual([undefined]);
  expect(await findingsWith("98", "1.5")).toEqual(["asset USDG sums to -0.5 over all accounts, not to zero"]);
});
