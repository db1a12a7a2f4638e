/** Posts messages as Standard Webhooks has them: signed, with an id and the time of the attempt. */

import { signatures } from "../customers/webhooks/signing-secrets.ts";
import type { DeliverableWebhook } from "../customers/webhooks/webhook.ts";
import type { Clock } from "../std/clock.ts";
import { PROGRAM_VERSION } from "../std/program-version.ts";
import type { Result } from "../std/result.ts";
import type { OutgoingRequests } from "../web/outgoing-requests/outgoing-requests.ts";
import type { Answer, Message, Sender, Wanted } from "./sender.ts";

/** How receivers let webhooks in, beside their signatures. */
export interface ReceiverCredentials {
  /** @returns why there are none: then nothing is posted */
  headersFor(
    webhook: DeliverableWebhook,
    signal: AbortSignal | undefined,
  ): Promise<Result<Readonly<Record<string, string>>, string>>;
  /** The receiver has not accepted them. @returns whether others can be had at once */
  onRefused(webhook: DeliverableWebhook): boolean;
}

interface Parts {
  readonly requests: Pick<OutgoingRequests, "post">;
  readonly credentials: ReceiverCredentials;
  readonly clock: Clock;
}

const UNAUTHORIZED = 401;

export function createSender(parts: Parts): Sender {
  return {
    send: async (webhook, message, wanted) => {
      const answer = await post(parts, webhook, message, wanted);
      const isRefused = answer !== "not posted" && answer.kind === "answered" && answer.status === UNAUTHORIZED;
      if (!isRefused || !parts.credentials.onRefused(webhook)) return answer;
      const again = await post(parts, webhook, message, wanted);
      return again === "not posted" ? answer : again;
    },
  };
}

async function post(
  { requests, credentials, clock }: Parts,
  webhook: DeliverableWebhook,
  { id, body }: Message,
  { signal, mayPost = () => true }: Wanted,
): Promise<Answer | "not posted"> {
  const shown = await credentials.headersFor(webhook, signal);
  if (!mayPost()) return "not posted";
  if (shown.kind === "rejected") return { kind: "unanswered", error: shown.rejection, ms: 0 };
  const timestampSeconds = Math.floor(clock.now() / 1_000);
  const answer = await requests.post({
    url: webhook.url,
    headers: {
      ...shown.value,
      "content-type": "application/json",
      "user-agent": `Parbook/${PROGRAM_VERSION}`,
      "webhook-id": id,
      "webhook-timestamp": String(timestampSeconds),
      "webhook-signature": signatures(webhook.signingSecrets, { id, timestampSeconds, body }),
    },
    body,
    payer: webhook.customerId,
    ...(signal !== undefined && { signal }),
  });
  if (answer.kind === "unanswered") {
    const { reason, detail, ms } = answer;
    return { kind: "unanswered", error: `${reason}: ${detail}`, ms };
  }
  const { status, retryAfter, ms } = answer;
  return { kind: "answered", status, retryAfter, body: answer.answer, ms };
}
