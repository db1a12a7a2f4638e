/** Deposits out of nothing, of sandbox mode and of bootstrap files: they look as if they had come in on a chain. */
import { createHash, randomBytes } from "node:crypto";
import type { ProfileId } from "../ledger/accounts.ts";
import type { RequestedAmount } from "../ledger/rejections.ts";
import type { Amount } from "../money/amount.ts";
import type { Asset } from "../money/asset.ts";
import { notionalValue } from "./notional-value.ts";
import type { ExternalTransferRequest } from "./rules.ts";
import type { CryptoNetwork, ExternalTransfer } from "./store.ts";

export interface SandboxDeposit {
  readonly profileId: ProfileId;
  /** Undefined when there is no such asset: the deposit is about to be refused. */
  readonly asset: Asset | undefined;
  readonly amount: RequestedAmount;
  /** ETHEREUM unless said. */
  readonly network?: CryptoNetwork | undefined;
  /** Made up unless said: always the same for a profile and a network. */
  readonly address?: string | undefined;
  /** What a unit of the asset was last worth in USD. */
  readonly lastPrice?: Amount | undefined;
}

/** By wire for fiat, on a chain for everything else. */
export function sandboxTransfer(deposit: SandboxDeposit): Pick<ExternalTransferRequest, "type" | "crossing"> {
  const { profileId, asset, amount, network = "ETHEREUM", address, lastPrice } = deposit;
  if (asset === undefined || asset.kind === "fiat") return { type: "WIRE_DEPOSIT", crossing: {} };
  const crossing: ExternalTransfer = {
    cryptoNetwork: network,
    destinationAddress: address ?? addressOf(profileId, network),
    cryptoTxHash: randomBytes(32).toString("hex"),
    cryptoTxIndex: "0",
    // An amount that no asset can hold is about to be refused.
    notionalValue: amount === "too_precise" ? undefined : notionalValue(asset, amount, lastPrice),
  };
  return { type: "CRYPTO_DEPOSIT", crossing };
}

/** Looks like an address of an EVM chain, and is nobody's. */
function addressOf(profileId: ProfileId, network: CryptoNetwork): string {
  return `0x${createHash("sha256").update(`${profileId}/${network}`).digest("hex").slice(0, 40)}`;
}
