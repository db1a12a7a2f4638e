/**
 * `parbook deposit` and `parbook withdraw`: record external transfers, money that entered or left the platform by wire or
 * on a chain.
 */
import { type Command, Option } from "commander";
import { problemOf } from "../../api/problems/rejection-problems.ts";
import type { MarketCode } from "../../catalogue/market.ts";
import { findLastPrice } from "../../exchange/market-status/markets.ts";
import type { ProfileId } from "../../ledger/accounts.ts";
import type { OperatorCaller } from "../../ledger/caller.ts";
import type { RequestedAmount } from "../../ledger/rejections.ts";
import { formatAmount } from "../../money/amount.ts";
import { type Asset, USD } from "../../money/asset.ts";
import type { Core } from "../../service/core.ts";
import type { Uuid } from "../../std/id.ts";
import {
  CRYPTO_NETWORKS,
  type CryptoNetwork,
  canonicalDetails,
  createTransfers,
  DEFAULT_NETWORK,
  type ExternalTransferRequest,
  type ExternalTransferType,
  isOnNetwork,
  notionalValue,
  ownNetworkOf,
  RECORD_TYPES,
  type TransferRecord,
} from "../../transfers/transfers.ts";
import {
  readAddress,
  readAmount,
  readHash,
  readOutputIndex,
  readReference,
  readText,
  readUuid,
  type WrittenAmount,
} from "../arguments.ts";
import { addCommand, CommandRejected, type CommandResult, setWritingAction, withCore } from "../command.ts";
import { amountIn, getAsset } from "./catalogue-names.ts";
import { getOwner } from "./customers.ts";

interface TransferDirection {
  readonly direction: ExternalTransferRequest["direction"];
  readonly suffix: "_DEPOSIT" | "_WITHDRAWAL";
  readonly done: string;
  readonly command: string;
}

const IN: TransferDirection = { direction: "CREDIT", suffix: "_DEPOSIT", done: "deposited", command: "deposit" };
const OUT: TransferDirection = { direction: "DEBIT", suffix: "_WITHDRAWAL", done: "withdrawn", command: "withdraw" };
const PROFILE = "0190d5a4-1111-7000-8000-000000000004";

interface ExternalTransferOptions {
  readonly pending?: boolean;
  readonly profile: ProfileId;
  readonly asset: string;
  readonly amount: WrittenAmount;
  readonly type?: ExternalTransferType;
  readonly refId?: string;
  readonly memo?: string;
  readonly network?: CryptoNetwork;
  readonly address?: string;
  readonly txHash?: string;
  readonly txIndex?: string;
}

export function addExternalTransferCommands(program: Command): void {
  const deposit = addCommand(program, "deposit", {
    summary: "record a deposit",
    examples: [
      `deposit --profile ${PROFILE} --asset USD --amount 250000 --type WIRE_DEPOSIT --ref-id wire-4711 --memo 'invoice 17'`,
      `deposit --profile ${PROFILE} --asset USDG --amount 1000 --network SOLANA --tx-hash 5xWq... --tx-index 0`,
      `deposit --profile ${PROFILE} --asset USD --amount 250000 --pending`,
    ],
  });
  addExternalTransferOptions(deposit, IN);
  const withdraw = addCommand(program, "withdraw", {
    summary: "record a withdrawal",
    examples: [
      `withdraw --profile ${PROFILE} --asset USD --amount 100 --type WIRE_WITHDRAWAL --ref-id wire-4712`,
      `withdraw --profile ${PROFILE} --asset USD --amount 100 --ref-id wire-4713 --pending`,
    ],
  });
  addExternalTransferOptions(withdraw, OUT);
}

function addExternalTransferOptions(command: Command, way: TransferDirection): void {
  const types = RECORD_TYPES.filter((type) => type.endsWith(way.suffix));
  command
    .requiredOption("--profile <id>", "the profile's id", readUuid)
    .requiredOption("--asset <code>", "e.g. USD, USDG, BTC")
    .requiredOption("--amount <number>", "the amount, e.g. 100 or 0.25", readAmount)
    .addOption(
      new Option("--type <type>", "the kind of transfer (default: WIRE for fiat, otherwise CRYPTO)").choices(types),
    )
    .option("--ref-id <text>", "your reference: a transfer is recorded once per reference and customer", readReference)
    .option("--memo <text>", "a note stored with the transfer", readText)
    .option("--pending", "only request it: it goes on with parbook transfer approve, send, complete, fail and cancel")
    .addOption(
      new Option(
        "--network <name>",
        "the blockchain network; not for fiat (default: of BTC, BCH, LTC and DOGE their own, otherwise ETHEREUM; required with --tx-hash)",
      ).choices(CRYPTO_NETWORKS),
    )
    .option("--address <text>", "the destination address; not for fiat", readAddress)
    .option("--tx-hash <text>", "the transaction hash; not for fiat", readHash)
    .option("--tx-index <number>", indexText(way), readOutputIndex);
  setWritingAction(command, (operator, options: ExternalTransferOptions) =>
    withCore((core) => recordTransfer(core, way, options, operator)),
  );
}

/** Required of a deposit: if one operator left it out and another gave it, the same payment would be deposited twice. */
function indexText({ direction }: TransferDirection): string {
  const what = "the output's index within the transaction; not for fiat";
  if (direction === "DEBIT") return what;
  return `${what}; required with --tx-hash (on networks without outputs: 0, or of several payments the place, from 0)`;
}

async function recordTransfer(
  core: Core,
  { direction, suffix, done, command }: TransferDirection,
  options: ExternalTransferOptions,
  operator: OperatorCaller,
): Promise<CommandResult> {
  // Not imported above: other commands would wait for the schemas. Not below: by then the transfer is recorded.
  const { transferBody } = await import("../../api/routes/transfer-record.ts");
  const { profile, refId } = options;
  const customerId = await getOwner(core.database, profile);
  const asset = getAsset(core.catalogue, options.asset);
  const amount = amountIn(asset, options.amount);
  const fiat = asset.kind === "fiat";
  const type = options.type ?? (`${fiat ? "WIRE" : "CRYPTO"}${suffix}` as ExternalTransferType);
  checkOptions(asset, type, direction, options);
  const details = { memo: options.memo, ...(fiat ? {} : await onChain(core, asset, amount, options)) };
  const owner = { customerId, profileId: profile };
  const hasSteps = options.pending === true ? { hasSteps: true as const } : {};
  const request = { ...owner, amount, asset: asset.code, direction, type, details, refId, ...hasSteps };
  const outcome = await createTransfers(core).recordExternal(request, operator);
  if (outcome.kind === "exists") throw new CommandRejected(await existing(core, request, outcome.id));
  if (outcome.kind === "rejected") throw problemOf(outcome.rejection);
  const record = transferBody(outcome.value);
  const what = options.pending === true ? `requested: ${command}` : done;
  const network = record.crypto_network === undefined ? "" : ` on ${record.crypto_network}`;
  return { json: record, prose: [`${what} ${record.amount} ${record.asset}${network}: transfer ${record.id}`] };
}

/** Which transfer there already is: the same one, another one with the ref_id, or one with the transaction on a chain. */
async function existing(core: Core, request: ExternalTransferRequest, id: Uuid): Promise<string> {
  const { customerId, refId, details } = request;
  const found = await createTransfers(core).find(customerId, id);
  const hash = JSON.stringify(details.cryptoTxHash);
  // Another customer's is not found.
  if (found === undefined) return `transaction ${hash} was already recorded as transfer ${id}`;
  const { type, amount, asset, profileId } = found;
  const what = `a ${type} of ${formatAmount(amount)} ${asset} of profile ${profileId}`;
  const state = found.steps === undefined ? "" : `, which is ${found.steps.status}`;
  if (refId === undefined || found.refId !== refId) {
    const next =
      found.steps?.status === "failed"
        ? `If it arrived after all, record it without --tx-hash: ${onceMore(found)}`
        : "Another output of it has another --tx-index";
    return `transaction ${hash} was already recorded as transfer ${id}, ${what}${state}. ${next}`;
  }
  const ref = `ref_id ${JSON.stringify(refId)}`;
  if (isSame(request, found)) return `${ref} was already used for this: transfer ${id}${state}`;
  return (
    `${ref} belongs to something else, so nothing was recorded: transfer ${id} is ${what}` +
    `${onChainText(found)}${found.steps !== undefined ? ", with steps" : ""}. Choose another ref_id`
  );
}

/** The options for the payment of a failed deposit. Its hash cannot be used again, so the ref_id keeps it from being recorded twice. */
function onceMore({ id, cryptoNetwork = DEFAULT_NETWORK, cryptoTxHash = "" }: TransferRecord): string {
  return `with --network ${cryptoNetwork} --memo ${cryptoTxHash} --ref-id ${id}`;
}

function onChainText({ cryptoNetwork, destinationAddress, cryptoTxHash, cryptoTxIndex }: TransferRecord): string {
  if (cryptoNetwork === undefined) return "";
  const to = destinationAddress === undefined ? "" : ` to ${destinationAddress}`;
  const transaction = [cryptoTxHash, cryptoTxIndex].filter((part) => part !== undefined).join("/");
  return `,${to} on ${cryptoNetwork}${transaction === "" ? "" : `, transaction ${transaction}`}`;
}

/** Where money goes to, and the transaction that it came with, are as much of a request as its amount is. */
const DETAILS = ["cryptoNetwork", "destinationAddress", "cryptoTxHash", "cryptoTxIndex"] as const;

function isSame(request: ExternalTransferRequest, found: TransferRecord): boolean {
  const { profileId, asset, amount, type, hasSteps } = request;
  const details = canonicalDetails(request);
  return (
    found.profileId === profileId &&
    found.asset === asset &&
    found.amount === amount &&
    found.type === type &&
    (found.steps !== undefined) === (hasSteps === true) &&
    DETAILS.every((name) => found[name] === details[name])
  );
}

/** Fiat moves by wire and everything else on a chain. */
function checkOptions(
  { code, kind }: Asset,
  type: ExternalTransferType,
  direction: ExternalTransferRequest["direction"],
  options: ExternalTransferOptions,
): void {
  const fiat = kind === "fiat";
  if (fiat === type.startsWith("CRYPTO_")) {
    throw new CommandRejected(`${type} is not for ${code}, which is ${fiat ? "fiat" : "not fiat"}`);
  }
  const given = (["network", "address", "txHash", "txIndex"] as const).filter((name) => options[name] !== undefined);
  if (fiat && given.length > 0) {
    const flags = given.map((name) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`);
    throw new CommandRejected(`${flags.join(", ")} cannot be used with ${code}, which is fiat`);
  }
  // How a hash is written depends on it.
  if (options.txHash !== undefined && options.network === undefined)
    throw new CommandRejected("--tx-hash needs --network: the one that the transaction is on");
  if (options.txIndex !== undefined && options.txHash === undefined)
    throw new CommandRejected("--tx-index needs --tx-hash");
  if (direction === "CREDIT" && options.txHash !== undefined && options.txIndex === undefined)
    throw new CommandRejected("--tx-hash of a deposit needs --tx-index: which output of the transaction it is");
}

function networkOf({ code }: Asset, named: CryptoNetwork | undefined): CryptoNetwork {
  const own = ownNetworkOf(code);
  const network = named ?? own ?? DEFAULT_NETWORK;
  if (isOnNetwork(code, network)) return network;
  throw new CommandRejected(`${code} is not on ${network}${own === undefined ? "" : `, but on ${own}`}`);
}

async function onChain(
  { database }: Core,
  asset: Asset,
  amount: RequestedAmount,
  options: ExternalTransferOptions,
): Promise<ExternalTransferRequest["details"]> {
  const { address, txHash, txIndex } = options;
  const lastPrice = await findLastPrice(database, `${asset.code}${USD}` as MarketCode);
  return {
    cryptoNetwork: networkOf(asset, options.network),
    destinationAddress: address,
    cryptoTxHash: txHash,
    cryptoTxIndex: txIndex,
    // An amount with too many decimals is rejected later.
    notionalValue: amount === "too_precise" ? undefined : notionalValue(asset, amount, lastPrice),
  };
}
