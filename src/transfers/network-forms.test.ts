import { expect, test } from "vitest";
import { addressOn, isOnNetwork, transactionHashOn } from "./network-forms.ts";
import { CRYPTO_NETWORKS, type CryptoNetwork } from "./transfer.ts";

const BASE58 = "[1-9A-HJ-NP-Za-km-z]";

type Form = readonly [address: RegExp, hash: RegExp];
const EVM: Form = [/^0x[0-9a-f]{40}$/, /^0x[0-9a-f]{64}$/];
const BARE = /^[0-9a-f]{64}$/;
const OTHERS: Readonly<Partial<Record<CryptoNetwork, Form>>> = {
  BITCOIN: [new RegExp(`^1${BASE58}{25,33}$`), BARE],
  BITCOIN_CASH: [new RegExp(`^1${BASE58}{25,33}$`), BARE],
  LITECOIN: [new RegExp(`^L${BASE58}{26,33}$`), BARE],
  DOGECOIN: [new RegExp(`^D${BASE58}{26,33}$`), BARE],
  STELLAR: [/^G[A-Z2-7]{55}$/, BARE],
  SOLANA: [new RegExp(`^${BASE58}{43,44}$`), new RegExp(`^${BASE58}{80,88}$`)],
  SUI: [/^0x[0-9a-f]{64}$/, new RegExp(`^${BASE58}{43,44}$`)],
};

test.each(CRYPTO_NETWORKS)("an address and a hash on %s have its form", (network) => {
  const [address, hash] = OTHERS[network] ?? EVM;
  expect(addressOn(network, "a seed")).toMatch(address);
  expect(addressOn(network, "a seed")).toBe(addressOn(network, "a seed"));
  expect(addressOn(network, "another")).not.toBe(addressOn(network, "a seed"));
  expect(transactionHashOn(network, Buffer.alloc(64, 0xa7))).toMatch(hash);
});

test("a coin with a network of its own is there and on ETHEREUM, and nothing else is there", () => {
  const networksOf = (asset: string) => CRYPTO_NETWORKS.filter((network) => isOnNetwork(asset, network));
  expect(networksOf("BTC")).toEqual(["BITCOIN", "ETHEREUM"]);
  expect(networksOf("DOGE")).toEqual(["ETHEREUM", "DOGECOIN"]);
  const others = ["BITCOIN", "BITCOIN_CASH", "LITECOIN", "DOGECOIN"];
  expect(networksOf("USDG")).toEqual(CRYPTO_NETWORKS.filter((network) => !others.includes(network)));
});
