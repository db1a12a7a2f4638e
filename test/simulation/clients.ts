/**
 * Clients as they are: they wait for an answer for a while, ask again, at another node perhaps, and sometimes twice at
 * once. Who protects an ask with a ref_id asks until he knows; who does not asks once.
 */
import type { Random } from "../support/random.ts";
import type { Weather } from "./faults.ts";
import { isFault, type SimulatedNode } from "./simulated-node.ts";
import type { VirtualTime } from "./virtual-time.ts";
import { type Answer, type Ask, carryOut, type Known, mayAskAgain } from "./workload.ts";

export interface ClientParts {
  readonly time: VirtualTime;
  readonly weather: Weather;
  readonly random: Random;
  /** Those that take requests. */
  readonly nodes: () => readonly SimulatedNode[];
  readonly tell: (words: string) => void;
  readonly onBug: (error: unknown) => void;
  /** Told of what will be asked for. */
  readonly onAsk: (ask: Ask) => void;
  /** Told of every answer as it leaves its node; `askedAt` is when the request was sent. */
  readonly judge: (ask: Ask, answer: Answer, askedAt: number) => void;
}

/** Nobody's patience is longer. */
const MOST_TRIES = 60;

export class Clients {
  readonly #parts: ClientParts;
  readonly #conversions: Known["conversions"][number][] = [];
  readonly #orders: Known["orders"][number][] = [];
  /** Asked for, and neither answered nor given up. */
  open = 0;
  answered = 0;
  givenUp = 0;

  constructor(parts: ClientParts) {
    this.#parts = parts;
  }

  get known(): Known {
    return { conversions: this.#conversions, orders: this.#orders };
  }

  ask(ask: Ask): void {
    this.open += 1;
    this.#parts.onAsk(ask);
    void this.#askUntilAnswered(ask).then((answer) => {
      this.open -= 1;
      if (answer === undefined) this.givenUp += 1;
      else this.answered += 1;
    });
    // A second copy of the request, as networks and impatient people send.
    if (ask.ref !== undefined && this.#parts.random(6) === 0) {
      this.#parts.time.after(this.#parts.random(40), () => void this.#tryOnce(ask));
    }
  }

  async #askUntilAnswered(ask: Ask): Promise<Answer | undefined> {
    const { time, random, tell } = this.#parts;
    for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
      const answer = await this.#tryOnce(ask);
      if (answer !== undefined || !mayAskAgain(ask)) return answer;
      await time.pause(200 + random(1_500));
    }
    tell(`ask ${ask.number} was given up`);
    return undefined;
  }

  /** Undefined: 503, or no answer in time. */
  #tryOnce(ask: Ask): Promise<Answer | undefined> {
    const { time, weather, random } = this.#parts;
    const nodes = this.#parts.nodes();
    const node = nodes[random(Math.max(1, nodes.length))];
    if (node === undefined) return Promise.resolve(undefined);
    const askedAt = time.now;
    return new Promise((resolve) => {
      time.after(3_000 + random(10_000), () => resolve(undefined));
      const arrives = weather.latencyMs();
      time.afterFor(node, arrives, () => {
        if (node.isServing) void this.#serve(node, ask, askedAt).then((answer) => this.#reply(answer, resolve));
      });
    });
  }

  #reply(answer: Answer | undefined, resolve: (answer: Answer | undefined) => void): void {
    const { time, weather } = this.#parts;
    // Some answers are lost on their way.
    if (weather.fate().kind === "arrives") time.after(weather.latencyMs(), () => resolve(answer));
  }

  async #serve(node: SimulatedNode, ask: Ask, askedAt: number): Promise<Answer | undefined> {
    const { tell, judge, onBug } = this.#parts;
    const what = `ask ${ask.number} (${ask.wish.kind})`;
    try {
      const answer = await carryOut(node, ask);
      tell(`${node.name} answers ${what}: ${wordsOf(answer)}`);
      judge(ask, answer, askedAt);
      this.#learn(ask, answer);
      return answer;
    } catch (error) {
      tell(`${node.name} fails ${what}: ${error instanceof Error ? error.message : error}`);
      if (!isFault(error)) onBug(error);
      return undefined;
    }
  }

  #learn({ wish }: Ask, answer: Answer): void {
    if (answer.kind !== "done") return;
    const { id } = answer.value as { id: never };
    if (wish.kind === "convert") this.#conversions.push({ customerId: wish.request.customerId, id });
    if (wish.kind === "order") {
      this.#orders.push({ customerId: wish.request.customerId, profileId: wish.request.profileId, id });
    }
  }
}

function wordsOf(answer: Answer): string {
  if (answer.kind === "rejected") return `refused, ${answer.rejection.code}`;
  return answer.kind === "exists" ? `exists ${answer.id}` : "done";
}
