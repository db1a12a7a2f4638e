/** Sends a request to the service, and tells an answer from none. */
import { assert } from "../../src/std/assert.ts";

export interface Reply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: what the service sent, not yet validated
  readonly body: any;
}

/** A request that is not answered by then is not waited for any longer: a pause of the service is shorter. */
const PATIENCE_MS = 60_000;

/** The request may have been carried out, or not. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
  /** There was a response, which says that the service is not available. */
  readonly isFromService: boolean;

  constructor(message: string, options: ErrorOptions & { readonly isFromService?: boolean } = {}) {
    super(message, options);
    this.isFromService = options.isFromService ?? false;
  }
}

/** Of what goes wrong on the way of a request, only 503 is an answer that a client may hear, and 502 of a load balancer. */
export async function send(url: string, request: RequestInit): Promise<Reply> {
  const reply = await fetch(url, { ...request, signal: AbortSignal.timeout(PATIENCE_MS) })
    .then(async (answer) => ({
      status: answer.status,
      body: await answer.json(),
      saysWhen: answer.headers.has("retry-after"),
    }))
    .catch((error: unknown) => {
      throw new NoAnswer(`no answer from ${url}`, { cause: error });
    });
  const { status } = reply;
  const isUnknown = status === 503 || status === 502;
  assert(!isUnknown || reply.saysWhen, `${status} says when to ask again: ${url} ${JSON.stringify(reply.body)}`);
  // "Nothing was done, or the ref_id tells."
  if (isUnknown) throw new NoAnswer(`no answer from ${url}: ${JSON.stringify(reply.body)}`, { isFromService: true });
  assert(reply.status < 500, `no answer is a 5xx but 503: ${url} ${reply.status} ${JSON.stringify(reply.body)}`);
  return reply;
}
