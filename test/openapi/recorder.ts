/** Sends the requests of the story, and records each with its answer as the example of its operation. */
import { expect } from "vitest";
import { RECORDED_BASE_URL, type RecordedExample } from "../../src/api/openapi/recorded-examples.ts";
import { must } from "../../src/std/assert.ts";
import { addressOf, type Call, type Operation } from "../support/openapi.ts";
import type { StableValues } from "./stable-values.ts";

/** What is sent instead of the call that succeeds. Of `path`, `query` and `body` what it has is changed. */
export interface Failing extends Call {
  /** Not those of the story's customer; null sends none. */
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** The whole body, as it is. */
  readonly text?: string;
  /** Brings about what the request is rejected for. */
  readonly before?: () => Promise<unknown>;
  readonly after?: () => Promise<unknown>;
}

/** By the name of the problem. */
export type Failures = Readonly<Record<string, Failing>>;

export interface Addresses {
  readonly baseUrl: string;
  readonly authUrl: string;
}

/** The problems that an operation documents: the status of each name. */
export type Problems = ReadonlyMap<string, number>;

/** What a caller cannot provoke: faults of the service, and a profile that holds 10^29 of an asset. */
export const NOT_RECORDED = ["internal-server-error", "service-unavailable", "balance-too-large"];
const RATE_LIMITED = "too-many-requests";

interface RecorderOptions {
  readonly addresses: Addresses;
  readonly operations: readonly Operation[];
  readonly problemsOf: (operationId: string) => Problems;
  readonly stable: StableValues;
  /** How every operation is made to give the problems that most of them have. */
  readonly usual: Failures;
}

/** A call that succeeded. */
interface Sent {
  readonly operation: Operation;
  readonly call: Call;
  readonly token: string | undefined;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export class Recorder {
  readonly #options: RecorderOptions;
  readonly #sent: Sent[] = [];
  readonly #recorded: Record<string, RecordedExample & { readonly problems: Record<string, unknown> }> = {};
  #time = "00:00";
  /** The token of the story's customer. */
  token: string | undefined;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** What follows happens at this time of the story's day, "09:30". */
  at(time: string): void {
    this.#time = time;
  }

  /** Shows what there is now, which is not recorded: what it is about is older than what follows. */
  see(answer: unknown): void {
    this.#options.stable.begin("before", this.#time);
    this.#stable(answer);
  }

  /**
   * Records a call that succeeds, then each problem that the operation documents.
   * @param failures how to provoke the problems that are not provoked as usual
   * @param shown what of the answer the example shows
   * @returns the answer
   */
  async record<Body>(
    operationId: string,
    call: Call,
    failures: Failures = {},
    shown: (answer: Body) => unknown = (answer) => answer,
  ): Promise<Body> {
    const { operations, problemsOf, usual } = this.#options;
    const operation = operations.find((one) => one.operationId === operationId);
    if (operation === undefined) throw new Error(`there is no operation ${operationId}`);
    const sent = { operation, call, token: operation.scopes.length > 0 ? this.token : undefined };
    this.#sent.push(sent);
    this.#options.stable.begin(operationId, this.#time);
    const parameters = parametersOf(operation, call);
    const request = {
      ...(Object.keys(parameters).length > 0 && { parameters: this.#stable(parameters) as typeof parameters }),
      ...(call.body !== undefined && { body: this.#stable(call.body) }),
    };
    const answer = await this.#send(sent, {}, operationId);
    expect([operationId, answer]).toEqual([operationId, { status: 200, body: expect.anything() }]);
    const response = this.#stable(shown(answer.body as Body));
    this.#recorded[operationId] = { ...request, response, problems: {} };
    for (const name of problemsOf(operationId).keys()) {
      if (name === RATE_LIMITED || NOT_RECORDED.includes(name)) continue;
      const failing = failures[name] ?? usual[name];
      if (failing === undefined) throw new Error(`say in test/openapi/story.ts how ${operationId} gives ${name}`);
      await this.#recordProblem(sent, name, failing);
    }
    return answer.body as Body;
  }

  /** Records what a node that allows few requests answers when there were too many. */
  async recordRateLimited(node: Addresses): Promise<void> {
    for (const sent of this.#sent) {
      const { operationId } = sent.operation;
      this.#options.stable.begin(operationId, this.#time);
      // The first operation of each rate uses it up: tokens, profiles, and public ones.
      for (let tries = 0; tries < 5; tries += 1) {
        if ((await this.#send(sent, {}, operationId, node)).status === 429) break;
      }
      await this.#recordProblem(sent, RATE_LIMITED, {}, node);
    }
  }

  /** By operation, in the order of the document. */
  examples(): Readonly<Record<string, RecordedExample>> {
    const ids = this.#options.operations.map(({ operationId }) => operationId);
    return Object.fromEntries(
      ids.flatMap((id) => (this.#recorded[id] === undefined ? [] : [[id, this.#recorded[id]]])),
    );
  }

  async #recordProblem(sent: Sent, name: string, failing: Failing, node?: Addresses): Promise<void> {
    const { operationId } = sent.operation;
    await failing.before?.();
    const { status, body } = await this.#send(sent, failing, `${operationId}-${name}`, node);
    await failing.after?.();
    const expected = this.#options.problemsOf(operationId).get(name);
    expect([operationId, name, status], JSON.stringify(body)).toEqual([operationId, name, expected]);
    const problems = this.#recorded[operationId]?.problems ?? {};
    problems[name] = this.#stable(body);
  }

  async #send(
    { operation, call, token }: Sent,
    failing: Failing,
    id: string,
    node = this.#options.addresses,
  ): Promise<Answer> {
    const isToken = operation.operationId === "issueToken";
    const path = addressOf(operation, {
      path: { ...call.path, ...failing.path },
      query: { ...call.query, ...failing.query },
    });
    const body = call.body && { ...call.body, ...failing.body };
    const bearer = failing.token === undefined ? token : failing.token;
    const answer = await fetch(`${isToken ? node.authUrl : node.baseUrl}${path}`, {
      method: operation.method,
      headers: {
        "x-request-id": id,
        ...(bearer && { authorization: `Bearer ${bearer}` }),
        ...(body && !isToken && { "content-type": "application/json" }),
        ...failing.headers,
      },
      ...(body && {
        body: failing.text ?? (isToken ? new URLSearchParams(body as Record<string, string>) : JSON.stringify(body)),
      }),
    });
    return { status: answer.status, body: await bodyOf(answer) };
  }

  #stable(value: unknown): unknown {
    const { stable, addresses } = this.#options;
    return JSON.parse(JSON.stringify(stable.of(value)).replaceAll(addresses.baseUrl, RECORDED_BASE_URL));
  }
}

/** Of a stream, what comes at once. */
async function bodyOf(answer: Response): Promise<unknown> {
  if (answer.headers.get("content-type") !== "text/event-stream") return answer.json();
  const reader = must(answer.body ?? undefined, "a stream has a body").getReader();
  const { value } = await reader.read();
  await reader.cancel();
  return Buffer.from(value ?? []).toString();
}

/** The parameters of a call as the values that their schemas describe. */
function parametersOf({ inputs }: Operation, { path, query }: Call): Readonly<Record<string, unknown>> {
  const described = (name: string, sent: string | readonly string[]): unknown => {
    const type = inputs.find((input) => input.name === name && input.where !== "body")?.schema.type;
    if (type === "array") return [sent].flat();
    return type === "integer" || type === "boolean" ? JSON.parse(String(sent)) : sent;
  };
  const sent = Object.entries({ ...path, ...query });
  return Object.fromEntries(sent.map(([name, value]) => [name, described(name, value)]));
}
