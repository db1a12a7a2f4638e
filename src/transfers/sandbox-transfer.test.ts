import { expect, test } from "vitest";
import type { ProfileId } from "../ledger/accounts.ts";
import { amountOf } from "../money/amount.ts";
import type { Asset, AssetCode } from "../money/asset.ts";
import { IdSource, type Uuid } from "../std/id.ts";
import { sandboxTransfer } from "./sandbox-transfer.ts";

const ids = new IdSource();
const profileId = ids.next() as Uuid as ProfileId;
const BTC: Asset = { code: "BTC" as AssetCode, kind: "crypto", precision: 8 };
const deposit = { profileId, asset: BTC, amount: amountOf("1") };
const addressOf = (more: object = {}): string | undefined =>
  sandboxTransfer({ ...deposit, ...more }).details.destinationAddress;

test("a deposit on a chain has what was sent, and the rest is made up", () => {
  const made = (hash: RegExp) => ({ cryptoTxHash: expect.stringMatching(hash), cryptoTxIndex: "0" });
  const sent = sandboxTransfer({ ...deposit, network: "SOLANA", address: "7xKX", lastPrice: amountOf("20000") });
  expect(sent).toEqual({
    type: "CRYPTO_DEPOSIT",
    details: {
      ...made(/^[1-9A-HJ-NP-Za-km-z]{80,88}$/),
      ...{ cryptoNetwork: "SOLANA", destinationAddress: "7xKX", notionalValue: amountOf("20000") },
    },
  });
  const { details } = sandboxTransfer(deposit);
  const address = expect.stringMatching(/^0x[0-9a-f]{40}$/);
  expect(details).toEqual({
    ...made(/^0x[0-9a-f]{64}$/),
    cryptoNetwork: "ETHEREUM",
    destinationAddress: address,
    notionalValue: undefined,
  });
  expect(details.cryptoTxHash).not.toBe(sent.details.cryptoTxHash);
});

test("each profile has one address per network", () => {
  expect(addressOf()).toBe(addressOf({ network: "ETHEREUM" }));
  const others = [addressOf({ network: "SOLANA" }), addressOf({ profileId: ids.next() })];
  expect(new Set([addressOf(), ...others]).size).toBe(3);
});

test("fiat comes by wire, without anything of a chain", () => {
  const usd = { code: "USD" as AssetCode, kind: "fiat", precision: 2 } as const;
  expect(sandboxTransfer({ ...deposit, asset: usd })).toEqual({ type: "WIRE_DEPOSIT", details: {} });
});
