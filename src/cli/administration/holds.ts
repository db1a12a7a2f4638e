/** `parbook hold`: legal holds, and why money of a profile is held. */
import type { Command } from "commander";
import { problemOf } from "../../api/problems/rejection-problems.ts";
import {
  createLegalHolds,
  findHeldProfile,
  findLegalHold,
  type LegalHold,
} from "../../customers/legal-holds/legal-holds.ts";
import { readNames, readNicknames } from "../../customers/operator-queries.ts";
import type { ProfileId } from "../../ledger/accounts.ts";
import type { OperatorCaller } from "../../ledger/caller.ts";
import { formatAmount } from "../../money/amount.ts";
import type { Core } from "../../service/core.ts";
import { formatInstant } from "../../std/clock.ts";
import type { Uuid } from "../../std/id.ts";
import { listPendingHolds } from "../../verify/operations/pending-holds.ts";
import { readAmount, readReference, readText, readUuid, type WrittenAmount } from "../arguments.ts";
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
import { amountIn, getAsset } from "./catalogue-names.ts";
import { getOwner } from "./customers.ts";

const PROFILE = "0190d5a4-1111-7000-8000-000000000004";

interface PlaceOptions {
  readonly profile: ProfileId;
  readonly asset: string;
  readonly amount: WrittenAmount;
  readonly reason: string;
  readonly refId?: string;
}

export function addHoldCommands(program: Command): void {
  const hold = addGroup(program, "hold", "money that is held");
  const placing = addCommand(hold, "place", {
    summary: "block money of a profile for a court or an authority, until the hold is lifted",
    examples: [`hold place --profile ${PROFILE} --asset USD --amount 100 --reason 'court order 17' --ref-id order-17`],
  })
    .requiredOption("--profile <id>", "the profile's id", readUuid)
    .requiredOption("--asset <code>", "e.g. USD, USDG, BTC")
    .requiredOption("--amount <number>", "the amount, e.g. 100 or 0.25", readAmount)
    .requiredOption("--reason <text>", "why", readText)
    .option("--ref-id <text>", "your reference: a hold is placed once per reference and customer", readReference);
  setWritingAction(placing, place);
  const lifting = addCommand(hold, "lift", {
    summary: "lift a legal hold: its money is available again",
    examples: ["hold lift 0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00"],
  }).argument("<id>", "the hold's id", readUuid);
  setWritingAction(lifting, lift);
  const list = addCommand(hold, "list", {
    summary: "list why money of a profile is pending: conversion, approval, withdrawal, legal; the oldest first",
    examples: [`hold list --profile ${PROFILE}`],
  }).requiredOption("--profile <id>", "the profile's id", readUuid);
  setAction(list, listOf);
}

function place(
  operator: OperatorCaller,
  { profile, asset, amount, reason, refId }: PlaceOptions,
): Promise<CommandResult> {
  return withCore(async (core) => {
    const customerId = await getOwner(core.database, profile);
    const held = amountIn(getAsset(core.catalogue, asset), amount);
    const request = { customerId, profileId: profile, asset, amount: held, reason, refId };
    const outcome = await createLegalHolds(core).place(request, operator);
    if (outcome.kind === "rejected") throw problemOf(outcome.rejection);
    if (outcome.kind === "exists")
      throw new CommandRejected(
        `ref_id ${JSON.stringify(refId)} was already used, so nothing was held: ${await existing(core, outcome.id)}`,
      );
    return resultOf(outcome.value, "held");
  });
}

/** The earlier hold may be of something else, and its money may be available again. */
async function existing({ database }: Core, id: Uuid): Promise<string> {
  const profileId = await findHeldProfile(database, id);
  const hold = profileId && (await findLegalHold(database, profileId, id));
  if (hold === undefined) return `legal hold ${id}`;
  const { amount, asset, liftedBy, liftedAt } = hold;
  const lifted =
    liftedAt === undefined ? "" : `, which was lifted at ${formatInstant(liftedAt)} by ${JSON.stringify(liftedBy)}`;
  return `legal hold ${id} is of ${formatAmount(amount)} ${asset} of profile ${profileId}${lifted}`;
}

function lift(operator: OperatorCaller, id: Uuid): Promise<CommandResult> {
  return withCore(async (core) => {
    const profileId = await findHeldProfile(core.database, id);
    if (profileId === undefined) throw new CommandRejected(`legal hold not found: ${id}`);
    const outcome = await createLegalHolds(core).lift(profileId, id, operator);
    if (outcome.kind === "rejected") throw new CommandRejected(`legal hold not found: ${id}`);
    return resultOf(outcome.value, "lifted");
  });
}

function resultOf(hold: LegalHold, done: string): CommandResult {
  const { id, profileId, asset, reason, placedBy, createdAt, liftedBy, liftedAt } = hold;
  const amount = formatAmount(hold.amount);
  const json = {
    ...{ id, profile_id: profileId, asset, amount, reason, placed_by: placedBy },
    ...{ placed_at: formatInstant(createdAt), lifted_by: liftedBy },
    lifted_at: liftedAt === undefined ? undefined : formatInstant(liftedAt),
  };
  return { json, prose: [`${done} ${amount} ${asset}: legal hold ${id}`] };
}

function listOf({ profile }: { readonly profile: ProfileId }): Promise<CommandResult> {
  return withFoundation(async ({ database }) => {
    const customerId = await getOwner(database, profile);
    const name = (await readNames(database, [customerId])).get(customerId) ?? "";
    const nickname = (await readNicknames(database, [profile])).get(profile) ?? "";
    const items = await listPendingHolds(database, profile, LIST_LIMIT + 1);
    const rowOf = ({ reason, amount, asset, id }: (typeof items)[number]) => [reason, amount, asset, id];
    const { json, prose } = listing(items, ["reason", "amount", "asset", "id"], rowOf);
    return {
      json: { customer_name: name, profile_id: profile, nickname, ...(json as object) },
      prose: [`held of ${nickname} (${profile}) of ${name}:`, ...prose],
    };
  });
}
