/** `parbook transfer`: the steps of deposits and withdrawals that were requested with --pending (docs/withdrawals.md). */
import type { Command } from "commander";
import { problemOf } from "../../api/problems/rejection-problems.ts";
import { readNames, readNicknames } from "../../customers/operator-queries.ts";
import type { OperatorCaller } from "../../ledger/caller.ts";
import { formatAmount } from "../../money/amount.ts";
import type { Core } from "../../service/core.ts";
import { formatInstant } from "../../std/clock.ts";
import type { Uuid } from "../../std/id.ts";
import {
  createTransfers,
  findTransferOwner,
  listOpenTransfers,
  type Step,
  type StepRejection,
} from "../../transfers/transfers.ts";
import { readHash, readOutputIndex, readText, readUuid } from "../arguments.ts";
import {
  addCommand,
  addGroup,
  CommandRejected,
  type CommandResult,
  setAction,
  setWritingAction,
  withCore,
  withFoundation,
} from "../command.ts";
import { LIST_LIMIT, listing } from "../listing.ts";

const ID = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00";

interface StepOptions {
  readonly reason?: string;
  readonly txHash?: string;
  readonly txIndex?: string;
}

const SUMMARIES: Readonly<Record<Step["to"], readonly [command: string, summary: string, example: string]>> = {
  approved: ["approve", "approve a withdrawal", ""],
  sent: ["send", "record that a withdrawal is handed to the bank or the network: before it is", " --tx-hash 5xWq..."],
  completed: ["complete", "record that a withdrawal has arrived, or a deposit", ""],
  failed: ["fail", "record that a withdrawal came back, or that a deposit will not come", " --reason 'no such bank'"],
  cancelled: ["cancel", "give up a withdrawal that was not sent", " --reason 'asked for by phone'"],
};

export function addTransferStepCommands(program: Command): void {
  const transfer = addGroup(program, "transfer", "deposits and withdrawals that were requested with --pending");
  for (const to of Object.keys(SUMMARIES) as Step["to"][]) addStep(transfer, to);
  const list = addCommand(transfer, "list", {
    summary: "list the deposits and withdrawals that have not ended, the oldest first",
    examples: ["transfer list"],
  });
  setAction(list, listOpen);
}

function addStep(transfer: Command, to: Step["to"]): void {
  const [name, summary, example] = SUMMARIES[to];
  const command = addCommand(transfer, name, { summary, examples: [`transfer ${name} ${ID}${example}`] });
  command.argument("<id>", "the transfer's id", readUuid);
  if (to === "failed" || to === "cancelled")
    command.requiredOption("--reason <text>", "why, in words that the customer reads", readText);
  if (to === "sent" || to === "completed") {
    command.option("--tx-hash <text>", "the hash of a withdrawal's transaction on a chain", readHash);
    command.option("--tx-index <number>", "the output index within the transaction", readOutputIndex);
  }
  setWritingAction(command, (operator, id: Uuid, options: StepOptions) =>
    withCore((core) => take(core, id, stepOf(to, options), operator)),
  );
}

function stepOf(to: Step["to"], { reason = "", txHash, txIndex }: StepOptions): Step {
  if (to === "failed" || to === "cancelled") return { to, reason };
  if (to === "approved") return { to };
  if (txIndex !== undefined && txHash === undefined) throw new CommandRejected("--tx-index needs --tx-hash");
  return {
    to,
    ...(txHash !== undefined && { cryptoTxHash: txHash }),
    ...(txIndex !== undefined && { cryptoTxIndex: txIndex }),
  };
}

async function take(core: Core, id: Uuid, step: Step, operator: OperatorCaller): Promise<CommandResult> {
  const { transferBody } = await import("../../api/routes/transfer-record.ts");
  const transfers = createTransfers(core);
  const customerId = await findTransferOwner(core.database, id);
  const transfer = customerId && (await transfers.find(customerId, id));
  if (customerId === undefined || transfer === undefined) throw new CommandRejected(`transfer not found: ${id}`);
  if ("cryptoTxHash" in step && transfer.direction === "CREDIT")
    throw new CommandRejected("--tx-hash is not for a deposit, which names its transaction when it is recorded");
  if ("cryptoTxHash" in step && transfer.type !== "CRYPTO_WITHDRAWAL")
    throw new CommandRejected(`--tx-hash is for a withdrawal on a chain, and ${id} is a ${transfer.type}`);
  const outcome = await transfers.step(customerId, id, step, operator);
  if (outcome.kind === "rejected") throw problemOfStep(outcome.rejection);
  const { amount, asset } = outcome.value;
  return {
    json: transferBody(outcome.value),
    prose: [`transfer ${id} of ${formatAmount(amount)} ${asset} is ${outcome.value.steps?.status}`],
  };
}

function problemOfStep(rejection: StepRejection): Error {
  if (rejection.code === "balance_too_large") return problemOf(rejection);
  if (rejection.code === "no_steps")
    return new CommandRejected(`transfer ${rejection.id} was complete when it was recorded`);
  const { id, status, to } = rejection;
  if (status === to) return new CommandRejected(`transfer ${id} is ${status} already, with other details`);
  return new CommandRejected(`transfer ${id} is ${status}, and cannot become ${to}`);
}

function listOpen(): Promise<CommandResult> {
  return withFoundation(async ({ database }) => {
    const found = await listOpenTransfers(database, LIST_LIMIT + 1);
    const names = await readNames(database, [...new Set(found.map(({ customerId }) => customerId))]);
    const nicknames = await readNicknames(database, [...new Set(found.map(({ profileId }) => profileId))]);
    const items = found.map((record) => ({
      id: record.id,
      customer_name: names.get(record.customerId) ?? "",
      profile_id: record.profileId,
      nickname: nicknames.get(record.profileId) ?? "",
      type: record.type,
      status: record.steps?.status ?? "",
      amount: formatAmount(record.amount),
      asset: record.asset,
      requested_at: formatInstant(record.createdAt),
      memo: record.memo ?? "",
    }));
    const head = ["id", "customer", "profile", "nickname", "type", "status", "amount", "asset", "requested", "memo"];
    return listing(items, head, (item) => Object.values(item));
  });
}
