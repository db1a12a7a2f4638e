import { expect, test } from "vitest";
import { tourLines } from "./tour-lines.ts";

const ID = "0190d5a4-1111-7000-8000-000000000004";
const PARTIES = {
  acme: { clientId: "acme-1a2b3c", clientSecret: "s".repeat(43), treasury: ID, payouts: ID },
  borealis: { clientId: "borealis-1a2b3c", clientSecret: "s".repeat(43), desk: ID },
};
const ADDRESSES = { baseUrl: "http://127.0.0.1:8080", authUrl: "http://127.0.0.1:8081" };

test("the operations come in dependency order", () => {
  const lines = tourLines(PARTIES, { ...ADDRESSES, settlementDelayMs: 0 });
  const paths = lines.join("\n").match(/(?<=\$(API|AUTH))\/[\w/$]+/g);
  expect(paths).toEqual([
    "/oauth2/token",
    "/oauth2/token",
    "/v2/sandbox/profiles/$DESK/deposit",
    "/v2/transfer/platform",
    "/v2/conversion/stablecoins",
    "/v2/conversion/stablecoins/$MINT",
    "/v2/profiles/$TREASURY/orders",
    "/v2/profiles/$DESK/orders",
    "/v2/executions",
    "/v2/profiles/$DESK/orders/$BUY",
  ]);
});

test("a coin of the sandbox's own is minted, traded on its market and redeemed", () => {
  const text = tourLines(PARTIES, { ...ADDRESSES, settlementDelayMs: 0, coin: "ACMEUSD" }).join("\n");
  expect(text).toContain('"source_asset":"USD","target_asset":"ACMEUSD"');
  expect(text.match(/"market":"ACMEUSDUSD"/g)).toHaveLength(2);
  expect(text).toContain('"source_asset":"ACMEUSD","target_asset":"USD"');
  expect(text).not.toContain("PYUSD");
});

test("lines fit a terminal, with and without a wait for settlement", () => {
  const lines = tourLines(PARTIES, { ...ADDRESSES, settlementDelayMs: 1_500 });
  expect(lines.filter((line) => line.length > 120)).toEqual([]);
  expect(lines.join("\n")).toContain("\nsleep 3; curl -s $API/v2/conversion/stablecoins/$MINT ");
});
