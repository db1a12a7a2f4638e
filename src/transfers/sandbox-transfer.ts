/** Simulated deposits, for sandbox mode. They look like wire or on-chain deposits. */
import { randomBytes } from "node:crypto";
import type { ProfileId } from "../ledger/accounts.ts";
import type { RequestedAmount } from "../ledger/rejections.ts";
import type { Amount } from "../money/amount.ts";
import type { Asset } from "../money/asset.ts";
import { addressOn, DEFAULT_NETWORK, transactionHashOn } from "./network-forms.ts";
import { notionalValue } from "./notional-value.ts";
import type { ExternalTransferRequest } from "./rules.ts";
import type { CryptoNetwork, ExternalTransferDetails } from "./transfer.ts";

export interface SandboxDeposit {
  readonly profileId: ProfileId;
  /** Undefined if there is no such asset: the deposit will be rejected. */
  readonly asset: Asset | undefined;
  readonly amount: RequestedAmount;
  /** Default: ETHEREUM. */
  readonly network?: CryptoNetwork | undefined;
  /** Default: generated; the same for each profile and network. */
  readonly address?: string | undefined;
  /** The last price of the asset in USD. */
  readonly lastPrice?: Amount | undefined;
}

/** By wire for fiat, on-chain for all other assets. */
export function sandboxTransfer(deposit: SandboxDeposit): Pick<ExternalTransferRequest, "type" | "details"> {
  const { profileId, asset, amount, network = DEFAULT_NETWORK, address, lastPrice } = deposit;
  if (asset === undefined || asset.kind === "fiat") return { type: "WIRE_DEPOSIT", details: {} };
  const details: ExternalTransferDetails = {
    cryptoNetwork: network,
    destinationAddress: address ?? addressOn(network, `${profileId}/${network}`),
    cryptoTxHash: transactionHashOn(network, randomBytes(64)),
    cryptoTxIndex: "0",
    // "too_precise" will be rejected.
    notionalValue: amount === "too_precise" ? undefined : notionalValue(asset, amount, lastPrice),
  };
  return { type: "CRYPTO_DEPOSIT", details };
}
