/**
 * How webhooks are let in by their receivers, beside their signatures: with an API key in a header, or with a token that the
 * receiver's authorization server issues for client credentials (RFC 6749, section 4.4).
 */
import { hash } from "node:crypto";
import type { DeliverableWebhook, ReceiverAccess } from "../customers/webhooks/webhook.ts";
import { steadyClock } from "../std/clock.ts";
import { LruCache } from "../std/lru-cache.ts";
import { done, type Result, reject } from "../std/result.ts";
import type { Answered, OutgoingRequests, Unanswered } from "../web/outgoing-requests/outgoing-requests.ts";

type Headers = Readonly<Record<string, string>>;
type OAuth = Extract<ReceiverAccess, { readonly kind: "oauth" }>;

interface Token {
  readonly value: string;
  readonly fetchedAt: number;
  readonly usedUntil: number;
}

/** A request for a token. It ends when nobody waits for it any more: who asked first may leave before the others. */
interface Fetch {
  readonly token: Promise<Result<Token, string>>;
  readonly abort: AbortController;
  waiting: number;
}

const MOST_TOKENS = 10_000;
/** As much as is read of any answer: tokens can be long. */
const ANSWER_BYTES = 16_384;
const MAX_TOKEN_LENGTH = 8_192;
/** When the answer does not say how long a token is valid. */
const USUAL_SECONDS = 300;
const MOST_SECONDS = 86_400;
/** Before its end a token is not used any more; of one that is short-lived, a fifth of its time. */
const MARGIN_SECONDS = 30;
/** A younger token that is not accepted is not replaced: another one would not be accepted either. */
const YOUNG_MS = 5_000;

/** Makes the headers by which receivers let webhooks in. */
export class ReceiverCredentials {
  readonly #requests: Pick<OutgoingRequests, "post">;
  readonly #tokens = new LruCache<Token>(MOST_TOKENS);
  /** One request for each webhook at a time. */
  readonly #fetches = new Map<string, Fetch>();

  constructor(requests: Pick<OutgoingRequests, "post">) {
    this.#requests = requests;
  }

  /** @returns why there are none: then nothing can be posted */
  async headersFor(webhook: DeliverableWebhook, signal: AbortSignal | undefined): Promise<Result<Headers, string>> {
    const { receiverAccess: access, receiverSecret: secret = "" } = webhook;
    if (access === undefined) return done({});
    if (access.kind === "api_key") return done({ [access.header.toLowerCase()]: secret });
    const token = await this.#tokenFor(webhook, access, secret, signal);
    return token.kind === "done" ? done({ authorization: `Bearer ${token.value.value}` }) : token;
  }

  /** The receiver has not accepted them (401). @returns whether it is worth trying again at once */
  onRefused(webhook: DeliverableWebhook): boolean {
    const { receiverAccess: access, receiverSecret: secret = "" } = webhook;
    if (access?.kind !== "oauth") return false;
    const name = nameOf(webhook, access, secret);
    const token = this.#tokens.get(name);
    if (token !== undefined && steadyClock.now() - token.fetchedAt > YOUNG_MS) this.#tokens.delete(name);
    return true;
  }

  async #tokenFor(
    webhook: DeliverableWebhook,
    access: OAuth,
    secret: string,
    signal: AbortSignal | undefined,
  ): Promise<Result<Token, string>> {
    const name = nameOf(webhook, access, secret);
    const known = this.#tokens.get(name);
    if (known !== undefined && known.usedUntil > steadyClock.now()) return done(known);
    const fetch = this.#fetches.get(name) ?? this.#begin(webhook.customerId, access, secret);
    this.#fetches.set(name, fetch);
    const fetched = await this.#waitFor(name, fetch, signal);
    if (fetched === undefined) return reject("the token endpoint: cancelled: the service stops");
    if (fetched.kind === "done") this.#tokens.set(name, fetched.value);
    return fetched;
  }

  async #waitFor(
    name: string,
    fetch: Fetch,
    signal: AbortSignal | undefined,
  ): Promise<Result<Token, string> | undefined> {
    fetch.waiting += 1;
    try {
      return await untilAborted(fetch.token, signal);
    } finally {
      fetch.waiting -= 1;
      if (fetch.waiting === 0) {
        fetch.abort.abort();
        this.#fetches.delete(name);
      }
    }
  }

  #begin(payer: string, access: OAuth, secret: string): Fetch {
    const abort = new AbortController();
    return { token: this.#fetch(payer, access, secret, abort.signal), abort, waiting: 0 };
  }

  /**
   * The credentials are sent in both ways at once, as the vendor does, which most servers accept. One that insists on a
   * single way (RFC 6749, section 2.3) gets them in the header alone, which each must support.
   */
  async #fetch(payer: string, access: OAuth, secret: string, signal: AbortSignal): Promise<Result<Token, string>> {
    const both = await this.#ask(payer, access, secret, { client_id: access.clientId, client_secret: secret }, signal);
    const isRejected = both.kind === "answered" && (both.status === 400 || both.status === 401);
    return readToken(isRejected ? await this.#ask(payer, access, secret, {}, signal) : both);
  }

  #ask(
    payer: string,
    { tokenUrl, clientId, scope }: OAuth,
    secret: string,
    credentials: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Answered | Unanswered> {
    const fields = { grant_type: "client_credentials", ...credentials, ...(scope === undefined ? {} : { scope }) };
    const basic = Buffer.from(`${formEncoded(clientId)}:${formEncoded(secret)}`).toString("base64");
    return this.#requests.post({
      url: tokenUrl,
      headers: {
        authorization: `Basic ${basic}`,
        accept: "application/json",
        "content-type": "application/x-www-form-urlencoded",
      },
      body: new URLSearchParams(fields).toString(),
      answerBytes: ANSWER_BYTES,
      payer,
      signal,
    });
  }
}

/** @returns undefined if it is aborted before */
async function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal | undefined): Promise<Value | undefined> {
  if (signal === undefined) return work;
  let leave = (): void => undefined;
  const left = new Promise<undefined>((resolve) => {
    leave = () => resolve(undefined);
  });
  signal.addEventListener("abort", leave);
  if (signal.aborted) leave();
  try {
    return await Promise.race([work, left]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

/**
 * Of a token: the webhook at its version, which rises with each change, and the credentials that it was issued for. After a
 * failover that has lost a change, another one may have its version.
 */
function nameOf({ id, version }: DeliverableWebhook, { tokenUrl, clientId, scope }: OAuth, secret: string): string {
  return hash("sha256", JSON.stringify([id, `${version}`, tokenUrl, clientId, scope, secret]), "base64");
}

/** RFC 6749, section 2.3.1. */
const formEncoded = (text: string): string => new URLSearchParams({ "": text }).toString().slice(1);

function readToken(answer: Answered | Unanswered): Result<Token, string> {
  if (answer.kind === "unanswered") return reject(`the token endpoint: ${answer.reason}: ${answer.detail}`);
  const fields = readObject(answer.answer);
  if (answer.status !== 200) {
    const { error } = fields;
    const code = typeof error === "string" && /^[a-z_]{1,64}$/.test(error) ? `, ${error}` : "";
    return reject(`the token endpoint answered ${answer.status}${code}`);
  }
  const { access_token: value, token_type: type = "bearer", expires_in: seconds } = fields;
  if (typeof value !== "string" || !/^[\x21-\x7e]+$/.test(value) || value.length > MAX_TOKEN_LENGTH) {
    return reject("the token endpoint answered without a usable access_token");
  }
  if (typeof type !== "string" || type.toLowerCase() !== "bearer")
    return reject("the token endpoint issued a token of another type");
  const fetchedAt = steadyClock.now();
  return done({ value, fetchedAt, usedUntil: fetchedAt + 1_000 * secondsOfUse(seconds) });
}

/** Some servers give the number as a text. What is neither cannot be converted: an object may have no text of its own. */
function secondsOfUse(value: unknown): number {
  const expiresIn = typeof value === "number" || typeof value === "string" ? Number(value) : 0;
  const lifetime = expiresIn > 0 ? Math.min(expiresIn, MOST_SECONDS) : USUAL_SECONDS;
  return lifetime - Math.min(MARGIN_SECONDS, lifetime / 5);
}

function readObject(answer: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(answer.toString());
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
