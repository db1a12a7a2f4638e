/**
 * Which asset may come by which network; and for simulated deposits, addresses and hashes in the form that each network
 * gives them. Nobody has the keys to them.
 */
import { createHash } from "node:crypto";
import { type CryptoNetwork, hashFormOf } from "./transfer.ts";

/** Where an asset is said to be whose network is not named. */
export const DEFAULT_NETWORK: CryptoNetwork = "ETHEREUM";

/** Of coins that are on this network alone, and alone on it. */
const OWN_NETWORKS: ReadonlyMap<string, CryptoNetwork> = new Map([
  ["BTC", "BITCOIN"],
  ["BCH", "BITCOIN_CASH"],
  ["LTC", "LITECOIN"],
  ["DOGE", "DOGECOIN"],
]);

/** @returns the only network that it can be on; undefined: it can be on all that are no coin's own */
export const ownNetworkOf = (asset: string): CryptoNetwork | undefined => OWN_NETWORKS.get(asset);

export function isOnNetwork(asset: string, network: CryptoNetwork): boolean {
  const own = ownNetworkOf(asset);
  return own === undefined ? ![...OWN_NETWORKS.values()].includes(network) : network === own;
}

/** The first byte of what a public key is hashed to (base58check). */
const VERSIONS: Readonly<Partial<Record<CryptoNetwork, number>>> = {
  BITCOIN: 0x00,
  BITCOIN_CASH: 0x00,
  LITECOIN: 0x30,
  DOGECOIN: 0x1e,
};

/** @param seed the address follows from it */
export function addressOn(network: CryptoNetwork, seed: string): string {
  const bytes = sha256(Buffer.from(seed));
  const version = VERSIONS[network];
  if (version !== undefined) return base58Check(Buffer.from([version, ...bytes.subarray(0, 20)]));
  if (network === "SOLANA") return base58(bytes);
  if (network === "STELLAR") return strKey(bytes);
  return `0x${bytes.subarray(0, network === "SUI" ? 32 : 20).toString("hex")}`;
}

/** @param bytes 64 of them */
export function transactionHashOn(network: CryptoNetwork, bytes: Buffer): string {
  if (network === "SOLANA") return base58(bytes);
  const [hash, form] = [bytes.subarray(0, 32), hashFormOf(network)];
  if (form === "base58") return base58(hash);
  return `${form === "prefixed" ? "0x" : ""}${hash.toString("hex")}`;
}

const sha256 = (bytes: Buffer): Buffer => createHash("sha256").update(bytes).digest();

function base58Check(bytes: Buffer): string {
  return base58(Buffer.concat([bytes, sha256(sha256(bytes)).subarray(0, 4)]));
}

const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** Each zero byte at the beginning is a digit of its own. */
function base58(bytes: Buffer): string {
  let text = "";
  for (let rest = BigInt(`0x${bytes.toString("hex")}`); rest > 0n; rest /= 58n)
    text = BASE58[Number(rest % 58n)] + text;
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return "1".repeat(zeros === -1 ? bytes.length : zeros) + text;
}

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/** Makes the address of an account begin with G. */
const ACCOUNT = 6 << 3;

/** Stellar's, of an account (SEP-23). */
function strKey(key: Buffer): string {
  const payload = Buffer.from([ACCOUNT, ...key]);
  const checksum = crc16(payload);
  const bytes = Buffer.from([...payload, checksum & 0xff, checksum >> 8]);
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return (bits.match(/.{5}/g) ?? []).map((digit) => BASE32[Number.parseInt(digit, 2)]).join("");
}

/** CRC-16/XMODEM. */
function crc16(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc;
}
