/** Sends bulks to a service until they are answered: whatever is sent again takes effect once. */
import { setTimeout as pause } from "node:timers/promises";
import type { Uuid } from "../../std/id.ts";
import { CommandRejected } from "../command.ts";
import type { LineResult } from "./payout-file.ts";

export interface Target {
  /** The origin of the API, which issues tokens too. */
  readonly url: string;
  readonly kind: "internal" | "platform";
  readonly clientId: string;
  readonly secret: string;
}

const RESPONSE_MS = 60_000;
/** Attempts in a row that fail, before a bulk is given up: about three minutes. */
const MOST_ATTEMPTS = 12;
const LONGEST_PAUSE_MS = 30_000;
/** However long the service asks to wait: a timer cannot wait for longer than 25 days, and then does not wait at all. */
const LONGEST_RETRY_AFTER_MS = 10 * 60_000;
/** The codes with which Node and OpenSSL do not trust a certificate: waiting does not help. */
const UNTRUSTED = /CERT|LEAF_SIGNATURE/;
/** Many times the answer to a bulk. */
const MOST_BYTES = 16 * 1_048_576;

/** What became of each item. */
export interface BulkAnswer {
  readonly results: readonly LineResult[];
  /** The history of the ledger in which those that EXIST were found. */
  readonly history: string | undefined;
}

interface Attempt {
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  readonly body: unknown;
}

export class BulkClient {
  readonly #target: Target;
  readonly #stopping: AbortSignal;
  #token: string | undefined;

  constructor(target: Target, stopping: AbortSignal) {
    this.#target = target;
    this.#stopping = stopping;
  }

  /**
   * @throws CommandRejected if the service rejects the bulk, stays away, or is not trusted; AbortError when it is stopped
   */
  async send(items: readonly object[], isDryRun: boolean): Promise<BulkAnswer> {
    const body = JSON.stringify({ mode: "independent", dry_run: isDryRun, items });
    for (let attempt = 1; ; attempt += 1) {
      const { status, retryAfterMs, body: answer } = await this.#attempt(body);
      const results = status === 200 ? readResults(answer) : undefined;
      if (results !== undefined) return { results, history: textOf(fieldsOf(answer).ledger_history) };
      if (status === 401) this.#token = undefined;
      const mayPass = status === 0 || status === 401 || status === 408 || status === 429 || status >= 500;
      if (!mayPass || attempt === MOST_ATTEMPTS || (status === 401 && attempt > 2)) throw rejected(status, answer);
      await this.pause(attempt, retryAfterMs);
    }
  }

  /**
   * Asks once what the ref_ids of these transfers are.
   * @returns those of the transfers that the customer has; of none, if the client may not read them or the service does not say
   */
  async refIdsOf(transferIds: readonly Uuid[]): Promise<ReadonlyMap<string, string>> {
    if (transferIds.length === 0) return new Map();
    const token = tokenOf(await this.#askForToken("transfer:read_transfer"));
    if (token === undefined) return new Map();
    const query = new URLSearchParams({ limit: String(transferIds.length) });
    for (const id of transferIds) query.append("ids", id);
    const url = `${this.#target.url}/v2/transfer/transfers?${query}`;
    const { body } = await this.#request(url, undefined, { authorization: `Bearer ${token}` });
    const { items } = fieldsOf(body);
    const transfers = Array.isArray(items) ? items.map(fieldsOf) : [];
    return new Map(
      transfers.flatMap(({ id, ref_id }) =>
        typeof id === "string" && typeof ref_id === "string" ? [[id, ref_id]] : [],
      ),
    );
  }

  async pause(attempt: number, retryAfterMs?: number): Promise<void> {
    const ms = pauseMs(attempt, retryAfterMs);
    await pause(ms, undefined, { signal: this.#stopping });
  }

  async #attempt(body: string): Promise<Attempt> {
    const { url, kind, clientId } = this.#target;
    if (this.#token === undefined) {
      const answer = await this.#askForToken(`transfer:write_${kind}_transfer`);
      if (answer.status === 400 || answer.status === 401) throw noToken(clientId, answer.body);
      if (answer.status !== 200) return answer;
      const token = tokenOf(answer);
      if (token === undefined) throw noToken(clientId, answer.body);
      this.#token = token;
    }
    return this.#request(`${url}/v2/transfer/${kind}/bulk`, body, {
      authorization: `Bearer ${this.#token}`,
      "content-type": "application/json",
    });
  }

  #askForToken(scope: string): Promise<Attempt> {
    const { url, clientId, secret } = this.#target;
    const form = new URLSearchParams({
      grant_type: "client_credentials",
      client_id: clientId,
      client_secret: secret,
      scope,
    });
    return this.#request(`${url}/oauth2/token`, form, {});
  }

  /**
   * Posts the body, or gets, without one.
   * @returns the status 0 if there was no response
   */
  async #request(
    url: string,
    body: string | URLSearchParams | undefined,
    headers: Readonly<Record<string, string>>,
  ): Promise<Attempt> {
    const signal = AbortSignal.any([this.#stopping, AbortSignal.timeout(RESPONSE_MS)]);
    try {
      // The secret and the payments are for this server, not for one that it names.
      const sent = body === undefined ? { method: "GET" } : { method: "POST", body };
      const response = await fetch(url, { ...sent, headers, signal, redirect: "manual" });
      const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
      const retryAfterMs = Number.isFinite(seconds) ? seconds * 1_000 : undefined;
      const text = await readText(response);
      // What was carried out is in its answer: without all of it there is none.
      return { status: response.status, retryAfterMs, body: response.ok ? JSON.parse(text) : parsed(text) };
    } catch (error) {
      this.#stopping.throwIfAborted();
      const { cause, message } = error as Error;
      if (cause instanceof Error && "code" in cause && UNTRUSTED.test(String(cause.code)))
        throw untrusted(url, cause.message);
      const detail = cause instanceof Error && cause.message !== "" ? cause.message : message;
      return { status: 0, retryAfterMs: undefined, body: { detail } };
    }
  }
}

/** Longer after each attempt, or as long as the service says. */
export function pauseMs(attempt: number, retryAfterMs = 0): number {
  return Math.max(Math.min(250 * 2 ** attempt, LONGEST_PAUSE_MS), Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS));
}

/** Whatever a server answers: only texts are taken from it. */
const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {};

const tokenOf = ({ body }: Attempt): string | undefined => textOf(fieldsOf(body).access_token);

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

function readResults(body: unknown): readonly LineResult[] | undefined {
  const { items } = fieldsOf(body);
  if (!Array.isArray(items)) return undefined;
  const results = items.flatMap((item) => readResult(item) ?? []);
  return results.length === items.length ? results : undefined;
}

function readResult(item: unknown): LineResult | undefined {
  const { status, transfer, problem } = fieldsOf(item);
  if (typeof status !== "string") return undefined;
  return { status, transferId: textOf(fieldsOf(transfer).id), detail: detailOf(problem) };
}

function detailOf(problem: unknown): string | undefined {
  const { detail, meta } = fieldsOf(problem);
  const text = textOf(detail);
  // What has the ref_id, if that is the problem.
  const { id, type, amount, asset } = fieldsOf(fieldsOf(meta).existing);
  return text === undefined || typeof id !== "string"
    ? text
    : `${text}: transfer ${id} is a ${type} of ${amount} ${asset}`;
}

/** @throws RangeError if it is longer than any answer of the service */
async function readText({ body }: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.length;
    if (bytes > MOST_BYTES) throw new RangeError(`its answer is longer than ${MOST_BYTES} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

/** An error of a proxy may be HTML. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function noToken(clientId: string, body: unknown): CommandRejected {
  const { error_description: why, error } = fieldsOf(body);
  const hint = error === "invalid_scope" ? " (a service with a dialect has other scopes: it takes no payouts)" : "";
  return new CommandRejected(
    `the service gives ${clientId} no token: ${textOf(why) ?? textOf(error) ?? "no reason given"}${hint}`,
  );
}

function untrusted(url: string, why: string): CommandRejected {
  const { origin } = new URL(url);
  return new CommandRejected(
    `the certificate of ${origin} is not trusted (${why}). If another authority has signed it, set NODE_EXTRA_CA_CERTS to a file with that authority's certificate`,
  );
}

function rejected(status: number, body: unknown): CommandRejected {
  const detail = textOf(fieldsOf(body).detail) ?? "no reason given";
  return new CommandRejected(
    status === 0 ? `the service does not respond (${detail})` : `the service answers ${status}: ${detail}`,
  );
}
