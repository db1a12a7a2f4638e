/**
 * Operators in processes of their own, which write beside the service and may be killed: they request deposits and
 * withdrawals and take them through their steps, and place and lift legal holds. They get in each other's way, remember
 * every answer, and repeat what was not answered.
 */
import type { Queryable } from "../../src/postgres/database.ts";
import { assert, must } from "../../src/std/assert.ts";
import { pause } from "../../src/std/pause.ts";
import type { Random } from "../support/random.ts";
import { until } from "../support/until.ts";
import { Answers } from "./answers.ts";
import type { Client, Flow } from "./client.ts";
import { LIFECYCLES, type OperatorKind, type Shown } from "./lifecycles.ts";
import { type CommandOutcome, OperatorProcess, type Rejected } from "./operator-process.ts";
import {
  isExternal,
  type OperatorRequest,
  requestOfOperator,
  type Step,
  stepAtRandom,
} from "./requests-of-operators.ts";
import { NoAnswer } from "./send.ts";

export interface OperatorTally {
  /** Commands whose outcome was answered, rejections included. */
  commands: number;
  /** Those of which nobody knows whether they took effect. */
  unknownCommands: number;
}

interface StepTaken {
  readonly transfer: Shown;
  readonly step: Step;
}

const PROCESSES = 2;
/** Concurrent commands of each process. */
const COMMANDS = 2;
/** One of so many commands kills its process before it sends the next. */
const ONE_KILLS_OF = 150;
/** A recovery of PostgreSQL, on a busy machine. */
const PATIENCE_S = 150;

export class Operators {
  readonly answers: Readonly<Record<OperatorKind, Answers<OperatorRequest>>> = {
    external_transfer: new Answers<OperatorRequest>(LIFECYCLES.external_transfer),
    legal_hold: new Answers<OperatorRequest>(LIFECYCLES.legal_hold),
  };
  readonly tally: OperatorTally = { commands: 0, unknownCommands: 0 };
  readonly #processes: readonly OperatorProcess[];
  readonly #customers: readonly Client[];
  readonly #random: Random;
  /** Steps of which nobody knows whether they were taken. */
  readonly #unknownSteps = new Set<StepTaken>();
  #requested = 0;

  constructor(databaseUrl: string, customers: readonly Client[], random: Random) {
    this.#processes = Array.from(
      { length: PROCESSES },
      (_, number) => new OperatorProcess(`operator ${number}`, databaseUrl),
    );
    this.#customers = customers;
    this.#random = random;
  }

  async close(): Promise<void> {
    for (const process of this.#processes) await process.kill();
  }

  // In the storm -----------------------------------------------------------------------------------------------------

  async work(flow: Pick<Flow, "isOver">): Promise<void> {
    await Promise.all(
      this.#processes.flatMap((process) => Array.from({ length: COMMANDS }, () => this.#at(process, flow))),
    );
  }

  async #at(process: OperatorProcess, flow: Pick<Flow, "isOver">): Promise<void> {
    while (!flow.isOver) {
      if (this.#random(ONE_KILLS_OF) === 0) await process.kill();
      try {
        await this.#act(process);
        await pause(this.#random(60));
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
        await pause(100 + this.#random(600));
      }
    }
  }

  async #act(process: OperatorProcess): Promise<void> {
    const dice = this.#random(100);
    const transfer = this.#chosen("external_transfer");
    const hold = this.#chosen("legal_hold");
    if (dice < 8) await this.#repeat(process);
    else if (dice < 50 && transfer !== undefined) await this.#step(process, { transfer, step: this.#stepOf(transfer) });
    else if (dice < 55 && transfer !== undefined) await this.#look(transfer);
    else if (dice < 62 && hold !== undefined) await this.#lift(process, hold);
    else await this.#request(process);
  }

  async #request(process: OperatorProcess): Promise<void> {
    this.#requested += 1;
    const asked = requestOfOperator(this.#random, `operator-${this.#requested}`, this.#customers);
    this.answers[asked.kind].sends(asked);
    const outcome = await this.#execute(process, asked.command, asked.details).catch((error: unknown) => {
      if (error instanceof NoAnswer) this.answers[asked.kind].unknown.add(asked.refId);
      throw error;
    });
    if (leavesNothing(outcome, asked)) this.answers[asked.kind].isRejected(asked.refId);
    else this.#isThere(asked, outcome);
  }

  /** What is rejected now may have been done before: that is checked later. */
  async #repeat(process: OperatorProcess): Promise<void> {
    for (const answers of Object.values(this.answers)) {
      const asked = [...answers.unanswered.values()].find(({ refId }) => answers.unknown.has(refId));
      if (asked === undefined) continue;
      const outcome = await this.#execute(process, asked.command, asked.details);
      if (!leavesNothing(outcome, asked)) this.#isThere(asked, outcome);
    }
    for (const taken of this.#unknownSteps) await this.#step(process, taken);
  }

  #isThere({ kind, refId, ...asked }: OperatorRequest, outcome: CommandOutcome): void {
    assert(outcome.kind !== "rejected", `${JSON.stringify(asked)} was answered with ${JSON.stringify(outcome)}`);
    const record = must(outcome.record, "a record is answered");
    assert(record.ref_id === refId, `the answer is about ${refId}: ${JSON.stringify(record)}`);
    this.answers[kind].isShown(record);
  }

  async #step(process: OperatorProcess, taken: StepTaken): Promise<void> {
    const { transfer, step } = taken;
    const answers = this.answers.external_transfer;
    const before = must(answers.shown.get(transfer.id), "a transfer that is chosen was shown");
    const details = { customerId: transfer.customer_id, id: transfer.id, step };
    const outcome = await this.#execute(process, "step", details).catch((error: unknown) => {
      if (error instanceof NoAnswer) this.#unknownSteps.add(taken);
      throw error;
    });
    this.#unknownSteps.delete(taken);
    if (outcome.kind === "rejected") return expectRejectedStep(before, step, outcome);
    const record = must(outcome.record, "a step answers its transfer");
    const { statusOf } = LIFECYCLES.external_transfer;
    assert(statusOf(record) === step.to.toUpperCase(), `it is ${step.to}: ${JSON.stringify(record)}`);
    answers.isShown(record);
  }

  async #lift(process: OperatorProcess, hold: Shown): Promise<void> {
    const outcome = await this.#execute(process, "lift", { profileId: hold.profile_id, id: hold.id });
    assert(outcome.kind === "done" && outcome.record.status === "LIFTED", `it is lifted: ${JSON.stringify(outcome)}`);
    this.answers.legal_hold.isShown(outcome.record);
  }

  /** As its customer sees it, while it goes on. */
  async #look(transfer: Shown): Promise<void> {
    const customer = this.#customers.find(({ profileIds }) => profileIds.includes(transfer.profile_id));
    const record = await must(customer, "a transfer is a customer's").read("transfer", transfer);
    this.answers.external_transfer.isShown(record);
  }

  async #execute(process: OperatorProcess, command: string, details: object): Promise<CommandOutcome> {
    try {
      const outcome = await process.execute(command, details);
      this.tally.commands += 1;
      return outcome;
    } catch (error) {
      if (error instanceof NoAnswer) this.tally.unknownCommands += 1;
      throw error;
    }
  }

  /** One that was shown for the first time lately, and goes on. */
  #chosen(kind: OperatorKind): Shown | undefined {
    const { recent, shown } = this.answers[kind];
    const open = recent.map((id) => shown.get(id)).filter((one) => one && !LIFECYCLES[kind].isClosed(one));
    return open[this.#random(Math.max(1, open.length))];
  }

  #stepOf(transfer: Shown): Step {
    this.#requested += 1;
    return stepAtRandom(this.#random, transfer, LIFECYCLES.external_transfer.statusOf(transfer), this.#requested);
  }

  // Afterwards -------------------------------------------------------------------------------------------------------

  /**
   * Every answer still holds. What was not answered is there once or not at all, and repeated it tells which; and there is
   * nothing that nobody asked for.
   */
  async expectKept(database: Queryable): Promise<void> {
    for (const [kind, listed] of await this.#list(database)) this.answers[kind].expectKept(listed);
    const [process] = this.#processes;
    const isRepeated = async (): Promise<boolean> => {
      try {
        await this.#repeatAll(must(process, "there are processes"));
        return true;
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
        return false;
      }
    };
    await until("what the operators repeat is answered", isRepeated, PATIENCE_S);
    for (const [kind, listed] of await this.#list(database)) {
      const answers = this.answers[kind];
      answers.expectKept(listed);
      assert(answers.unanswered.size === 0, `every ${kind} was answered`);
      assert(answers.shown.size === listed.length, `every ${kind} was asked for`);
    }
  }

  async #repeatAll(process: OperatorProcess): Promise<void> {
    for (const answers of Object.values(this.answers)) {
      for (const asked of answers.unanswered.values()) {
        const outcome = await this.#execute(process, asked.command, asked.details);
        if (leavesNothing(outcome, asked)) answers.isRejected(asked.refId);
        else this.#isThere(asked, outcome);
      }
    }
    for (const taken of this.#unknownSteps) await this.#step(process, taken);
  }

  async #list(database: Queryable): Promise<readonly (readonly [OperatorKind, readonly Shown[]])[]> {
    const lists = await Promise.all(this.#customers.map((customer) => customer.list("transfer")));
    return [
      ["external_transfer", lists.flat().filter(isExternal)],
      ["legal_hold", (await database.rows<{ hold: Shown }>(LEGAL_HOLDS)).map(({ hold }) => hold)],
    ];
  }
}

/** No route shows them. As `operator-node.mjs` does. */
const LEGAL_HOLDS = `
  select json_strip_nulls(json_build_object(
           'id', id, 'profile_id', profile_id, 'asset', asset, 'amount', trim_scale(amount)::text, 'ref_id', ref_id,
           'reason', reason, 'placed_by', placed_by, 'lifted_by', lifted_by,
           'status', case when lifted_at is null then 'HELD' else 'LIFTED' end)) as hold
    from legal_hold`;

/** There is not enough money for it, or it names a transaction of a chain that another deposit has. */
function leavesNothing(outcome: CommandOutcome, { refId, namesTransaction }: OperatorRequest): boolean {
  if (outcome.kind === "rejected") return outcome.rejection.code === "insufficient_funds";
  return outcome.kind === "exists" && namesTransaction && outcome.record?.ref_id !== refId;
}

/** Another operator was there first: what it has become follows from what was known of it. */
function expectRejectedStep(before: Shown, step: Step, { rejection }: Rejected): void {
  const what = `${JSON.stringify(step)} of ${JSON.stringify(before)} was answered with ${JSON.stringify(rejection)}`;
  assert(rejection.code === "step_not_allowed", what);
  const status = String(rejection.status).toUpperCase();
  assert(LIFECYCLES.external_transfer.mayBecome(before, status), `a status follows: ${what}`);
}
