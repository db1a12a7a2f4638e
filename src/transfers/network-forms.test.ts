import { createHash } from "node:crypto";
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

test("a coin with a network of its own is there alone, and nothing else is there", () => {
  const networksOf = (asset: string) => CRYPTO_NETWORKS.filter((network) => isOnNetwork(asset, network));
  expect(networksOf("BTC")).toEqual(["BITCOIN"]);
  expect(networksOf("DOGE")).toEqual(["DOGECOIN"]);
  const others = ["BITCOIN", "BITCOIN_CASH", "LITECOIN", "DOGECOIN"];
  expect(networksOf("USDG")).toEqual(CRYPTO_NETWORKS.filter((network) => !others.includes(network)));
});

/** A number in digits of a base, as bytes. */
function bytesOf(text: string, digits: string, leading: string): number[] {
  let value = 0n;
  for (const digit of text) value = value * BigInt(digits.length) + BigInt(digits.indexOf(digit));
  const hex = value.toString(16);
  const zeros = text.length - text.replace(new RegExp(`^${leading}+`), "").length;
  return [...Array(zeros).fill(0), ...Buffer.from(hex.padStart(hex.length + (hex.length % 2), "0"), "hex")];
}

/** The remainder of a polynomial, which is 0 with its checksum behind it: CRC-16/XMODEM. */
function remainder(bytes: readonly number[]): bigint {
  let value = BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
  for (let bit = BigInt(bytes.length * 8 - 1); bit >= 16n; bit -= 1n)
    if ((value >> bit) & 1n) value ^= 0x11021n << (bit - 16n);
  return value;
}

const checksumHolds = {
  BASE58: (address: string): boolean => {
    const digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    const bytes = Buffer.from(bytesOf(address, digits, "1"));
    const twice = [1, 2].reduce((hashed) => createHash("sha256").update(hashed).digest(), bytes.subarray(0, -4));
    return bytes.length === 25 && twice.subarray(0, 4).equals(bytes.subarray(-4));
  },
  STELLAR: (address: string): boolean => {
    const bytes = bytesOf(address, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "=");
    const [low = 0, high = 0] = bytes.slice(-2);
    return bytes.length === 35 && remainder([...bytes.slice(0, -2), high, low]) === 0n;
  },
};

test("wallets take the addresses: their checksums are those of their networks", () => {
  // Published: of the first block, and an example of SEP-23.
  expect(checksumHolds.BASE58("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa")).toBe(true);
  expect(checksumHolds.STELLAR("GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ")).toBe(true);
  expect(checksumHolds.STELLAR("GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGA")).toBe(false);
  for (let seed = 0; seed < 50; seed += 1) {
    expect(checksumHolds.STELLAR(addressOn("STELLAR", `${seed}`))).toBe(true);
    for (const network of ["BITCOIN", "BITCOIN_CASH", "LITECOIN", "DOGECOIN"] as const)
      expect(checksumHolds.BASE58(addressOn(network, `${seed}`))).toBe(true);
  }
});
