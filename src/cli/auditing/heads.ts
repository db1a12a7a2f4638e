/** Where the chains stood, as it is kept in files: in the manifest of a backup, and as it is answered. */
import type { ChainHead } from "../../ledger/batch-log.ts";

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
