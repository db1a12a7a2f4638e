/**
 * Deposits and withdrawals by the operator: money that entered or left the platform outside of it, by wire or on a
 * chain, is brought into the books.
 */
import { type Command, Option } from "commander";
import type { MarketCode } from "../../catalogue/market.ts";
import { findLastPrice } from "../../exchange/markets/markets.ts";
import { alreadyExists } from "../../http/problems/problems.ts";
import { transferBody } from "../../http/routes/transfer-record.ts";
import { valueOrThrow } from "../../http/wire.ts";
import type { ProfileId } from "../../ledger/accounts.ts";
import type { RequestedAmount } from "../../ledger/rejections.ts";
import { type Asset, USD } from "../../money/asset.ts";
import type { Core } from "../../service/core.ts";
import {
  CRYPTO_NETWORKS,
  type CryptoNetwork,
  createTransfers,
  type ExternalTransferRequest,
  notionalValue,
  TRANSFER_TYPES,
  type TransferType,
} from "../../transfers/transfers.ts";
import { readAmount, readText, readUuid } from "../arguments.ts";
import { type Answer, addCommand, answering, CommandRejected, withCore } from "../command.ts";
import { operatorOf } from "../operator.ts";
import { getOwner } from "./customers.ts";

/** What is different about the two ways across the border. */
interface Way {
  readonly direction: ExternalTransferRequest["direction"];
  readonly suffix: "_DEPOSIT" | "_WITHDRAWAL";
  readonly done: string;
  readonly command: string;
}

const IN: Way = { direction: "CREDIT", suffix: "_DEPOSIT", done: "deposited", command: "deposit" };
const OUT: Way = { direction: "DEBIT", suffix: "_WITHDRAWAL", done: "withdrawn", command: "withdraw" };
const PROFILE = "0190d5a4-1111-7000-8000-000000000004";

interface CrossingOptions {
  readonly profile: ProfileId;
  readonly asset: string;
  readonly amount: RequestedAmount;
  readonly type?: TransferType;
  readonly refId?: string;
  readonly memo?: string;
  readonly network?: CryptoNetwork;
  readonly address?: string;
  readonly txHash?: string;
  readonly txIndex?: string;
}

export function addExternalTransferCommands(program: Command): void {
  const deposit = addCommand(program, "deposit", {
    summary: "bring money that has come in into the books",
    examples: [
      `deposit --profile ${PROFILE} --asset USD --amount 250000 --type WIRE_DEPOSIT --ref-id wire-4711 --memo 'invoice 17'`,
      `deposit --profile ${PROFILE} --asset USDG --amount 1000 --network SOLANA --tx-hash 5xWq...`,
    ],
  });
  addCrossingOptions(deposit, IN);
  const withdraw = addCommand(program, "withdraw", {
    summary: "take money that has gone out out of the books",
    examples: [`withdraw --profile ${PROFILE} --asset USD --amount 100 --type WIRE_WITHDRAWAL --ref-id wire-4712`],
  });
  addCrossingOptions(withdraw, OUT);
}

function addCrossingOptions(command: Command, way: Way): void {
  const types = TRANSFER_TYPES.filter((type) => type.endsWith(way.suffix));
  command
    .requiredOption("--profile <id>", "the profile's id", readUuid)
    .requiredOption("--asset <code>", "e.g. USD, USDG, BTC")
    .requiredOption("--amount <number>", "how much, e.g. 100 or 0.25", readAmount)
    .addOption(new Option("--type <type>", "WIRE for fiat, CRYPTO for all else unless given").choices(types))
    .option("--ref-id <text>", "your own name for it: the same one is booked once only", readText)
    .option("--memo <text>", "a note that is kept with it", readText)
    .addOption(new Option("--network <name>", "not for fiat; ETHEREUM unless given").choices(CRYPTO_NETWORKS))
    .option("--address <text>", "the address that it was sent to; not for fiat", readText)
    .option("--tx-hash <text>", "its transaction on the chain; not for fiat", readText)
    .option("--tx-index <text>", "the output within the transaction; not for fiat", readText);
  answering(command, (options: CrossingOptions) => withCore((core) => cross(core, way, options)));
}

async function cross(core: Core, { direction, suffix, done, command }: Way, options: CrossingOptions): Promise<Answer> {
  const { profile, amount, refId } = options;
  const customerId = await getOwner(core.database, profile);
  const asset = core.catalogue.findAsset(options.asset);
  if (asset === undefined) throw new CommandRejected(`asset ${options.asset} is not in the catalogue`);
  const fiat = asset.kind === "fiat";
  const type = options.type ?? (`${fiat ? "WIRE" : "CRYPTO"}${suffix}` as TransferType);
  checkFit(asset, type, options);
  const crossing = { memo: options.memo, ...(fiat ? {} : await onChain(core, asset, options)) };
  const request = { customerId, profileId: profile, amount, asset: asset.code, direction, type, crossing, refId };
  const outcome = await createTransfers(core).cross(request, operatorOf(command));
  const transfer = await valueOrThrow(outcome, {}, async (id) =>
    alreadyExists(`ref_id ${JSON.stringify(refId)} was used before, for transfer ${id}`, { id }),
  );
  const record = transferBody(transfer);
  return { json: record, prose: [`${done} ${record.amount} ${record.asset}: transfer ${record.id}`] };
}

/** What came by wire was on no chain, and the other way round. */
function checkFit({ code, kind }: Asset, type: TransferType, options: CrossingOptions): void {
  const fiat = kind === "fiat";
  if (fiat === type.startsWith("CRYPTO_")) {
    throw new CommandRejected(`${type} is not for ${code}, which is ${fiat ? "fiat" : "not fiat"}`);
  }
  const given = (["network", "address", "txHash", "txIndex"] as const).filter((name) => options[name] !== undefined);
  if (fiat && given.length > 0) {
    const flags = given.map((name) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`);
    throw new CommandRejected(`${flags.join(", ")} cannot be said of ${code}, which is fiat`);
  }
}

async function onChain(
  { database }: Core,
  asset: Asset,
  options: CrossingOptions,
): Promise<ExternalTransferRequest["crossing"]> {
  const { amount, network = "ETHEREUM", address, txHash, txIndex } = options;
  const lastPrice = await findLastPrice(database, `${asset.code}${USD}` as MarketCode);
  return {
    cryptoNetwork: network,
    destinationAddress: address,
    cryptoTxHash: txHash,
    cryptoTxIndex: txIndex,
    // An amount that no asset can hold is about to be refused.
    notionalValue: amount === "too_precise" ? undefined : notionalValue(asset, amount, lastPrice),
  };
}
