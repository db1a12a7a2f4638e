/** Chain heads as JSON, in backup manifests and command results. */
import type { ChainHead } from "../../ledger/stored-batches.ts";

interface HeadRecord {
  readonly slot: number;
  readonly n: string;
  readonly hash: string;
}

export const headRecord = ({ slot, n, hash }: ChainHead): HeadRecord => ({
  slot,
  n: n.toString(),
  hash: hash.toString("hex"),
});

export const headOf = ({ slot, n, hash }: HeadRecord): ChainHead => ({
  slot,
  n: BigInt(n),
  hash: Buffer.from(hash, "hex"),
});
