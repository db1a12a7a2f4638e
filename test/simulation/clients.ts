/**
 * Clients: they time out, retry, perhaps at another node, and sometimes send a duplicate. A command with a ref_id is retried
 * until its outcome is known; one without is sent once.
 */
import type { Random } from "../support/random.ts";
import type { Faults } from "./faults.ts";
import { isFault, type SimulatedNode } from "./simulated-node.ts";
import type { VirtualTime } from "./virtual-time.ts";
import { type Answer, carryOut, type Known, mayRetry, type WorkloadCommand } from "./workload.ts";

export interface ClientParts {
  readonly time: VirtualTime;
  readonly faults: Faults;
  readonly random: Random;
  /** Those that accept requests. */
  readonly nodes: () => readonly SimulatedNode[];
  readonly log: (words: string) => void;
  readonly onBug: (error: unknown) => void;
  /** Called before a command is sent. */
  readonly onSend: (command: WorkloadCommand) => void;
  /** Called with every response as it leaves its node; `sentAt` is the time of the request. */
  readonly onAnswer: (command: WorkloadCommand, answer: Answer, sentAt: number) => void;
}

/** Then a client gives up. */
const MOST_TRIES = 60;

export class Clients {
  readonly #parts: ClientParts;
  readonly #conversions: Known["conversions"][number][] = [];
  readonly #orders: Known["orders"][number][] = [];
  readonly #externals: Known["externals"][number][] = [];
  readonly #holds: Known["holds"][number][] = [];
  /** Commands that are neither answered nor given up. */
  open = 0;
  answered = 0;
  givenUp = 0;

  constructor(parts: ClientParts) {
    this.#parts = parts;
  }

  get known(): Known {
    return { conversions: this.#conversions, orders: this.#orders, externals: this.#externals, holds: this.#holds };
  }

  send(command: WorkloadCommand): void {
    this.open += 1;
    this.#parts.onSend(command);
    void this.#sendUntilAnswered(command).then((answer) => {
      this.open -= 1;
      if (answer === undefined) this.givenUp += 1;
      else this.answered += 1;
    });
    // A duplicate, as networks and impatient users send.
    if (command.ref !== undefined && this.#parts.random(6) === 0) {
      this.#parts.time.after(this.#parts.random(40), () => void this.#tryOnce(command));
    }
  }

  async #sendUntilAnswered(command: WorkloadCommand): Promise<Answer | undefined> {
    const { time, random, log } = this.#parts;
    for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
      const answer = await this.#tryOnce(command);
      if (answer !== undefined || !mayRetry(command)) return answer;
      await time.pause(200 + random(1_500));
    }
    log(`command ${command.number} was given up`);
    return undefined;
  }

  /** @returns undefined for a 503 or a timeout */
  #tryOnce(command: WorkloadCommand): Promise<Answer | undefined> {
    const { time, faults, random } = this.#parts;
    const nodes = this.#parts.nodes();
    const node = nodes[random(Math.max(1, nodes.length))];
    if (node === undefined) return Promise.resolve(undefined);
    const sentAt = time.now;
    return new Promise((resolve) => {
      time.after(3_000 + random(10_000), () => resolve(undefined));
      const arrives = faults.latencyMs();
      time.afterFor(node, arrives, () => {
        if (node.isServing) void this.#serve(node, command, sentAt).then((answer) => this.#reply(answer, resolve));
      });
    });
  }

  #reply(answer: Answer | undefined, resolve: (answer: Answer | undefined) => void): void {
    const { time, faults } = this.#parts;
    // Some responses are lost.
    if (faults.fate().kind === "arrives") time.after(faults.latencyMs(), () => resolve(answer));
  }

  async #serve(node: SimulatedNode, command: WorkloadCommand, sentAt: number): Promise<Answer | undefined> {
    const { log, onAnswer, onBug } = this.#parts;
    const what = `command ${command.number} (${command.action.kind})`;
    try {
      const answer = await carryOut(node, command);
      log(`${node.name} answers ${what}: ${wordsOf(answer)}`);
      onAnswer(command, answer, sentAt);
      this.#learn(command, answer);
      return answer;
    } catch (error) {
      log(`${node.name} fails ${what}: ${error instanceof Error ? error.message : error}`);
      if (!isFault(error)) onBug(error);
      return undefined;
    }
  }

  #learn({ action }: WorkloadCommand, answer: Answer): void {
    if (answer.kind !== "done") return;
    const { id } = answer.value as { id: never };
    if (action.kind === "convert") this.#conversions.push({ customerId: action.request.customerId, id });
    if (action.kind === "hold") this.#holds.push({ profileId: action.request.profileId, id });
    if ((action.kind === "deposit" || action.kind === "withdraw") && action.request.hasSteps === true)
      this.#externals.push({ customerId: action.request.customerId, id });
    if (action.kind === "order") {
      this.#orders.push({ customerId: action.request.customerId, profileId: action.request.profileId, id });
    }
  }
}

function wordsOf(answer: Answer): string {
  if (answer.kind === "rejected") return `rejected, ${answer.rejection.code}`;
  return answer.kind === "exists" ? `exists ${answer.id}` : "done";
}
