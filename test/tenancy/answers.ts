/** Responses as a caller sees them, such that two of them can be compared. */
import { addressOf, bodyOf, type Call, type Operation, responseTo } from "../support/openapi.ts";

export interface Asking {
  readonly as: string;
  /** What stands as `<sent>` in the text of the response. */
  readonly sent: readonly string[];
  /** Goes into the path as it is. */
  readonly raw: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
}

export interface SeenAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The answer to the item of a bulk is that to the item. */
export async function answerOf(
  baseUrl: string,
  operation: Operation,
  call: Call,
  { as, sent = [], raw = {}, headers = {} }: Pick<Asking, "as"> & Partial<Asking>,
): Promise<SeenAnswer> {
  const body = bodyOf(call);
  const answer = await fetch(baseUrl + addressOf(operation, call, raw), {
    method: operation.method,
    headers: {
      authorization: `Bearer ${as}`,
      "x-request-id": "walk",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const {
    date: _,
    connection: __,
    "keep-alive": ___,
    "content-length": ____,
    ...received
  } = Object.fromEntries(answer.headers);
  const { status, text } = ofItem(call, answer.status, await answer.text());
  return { status, text: sent.reduce(without, text), headers: received };
}

function ofItem(call: Call, status: number, text: string): { status: number; text: string } {
  if (call.item === undefined) return { status, text };
  const response = responseTo(call, { status, body: JSON.parse(text) as unknown });
  return { status: response.status, text: JSON.stringify(response.body) };
}

function without(text: string, sent: string): string {
  const escaped = JSON.stringify(sent)
    .slice(1, -1)
    .replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return text.replace(new RegExp(escaped, "gi"), "<sent>");
}
