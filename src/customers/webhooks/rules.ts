/** What a webhook may be set to. Everything has a bound, and nothing that becomes part of a request can break out of it. */
import type { Rejection } from "../../ledger/decision.ts";
import { printable } from "../../std/printable.ts";
import { type Check, PASSED, reject } from "../../std/result.ts";
import { isHeaderName, isHeaderValue } from "../../web/outgoing-requests/headers.ts";
import { isOfType, type ReceiverAccess, type WebhookSettings } from "./webhook.ts";

export type WebhookField =
  | "name"
  | "url"
  | "types"
  | "deliveriesPerSecond"
  | "header"
  | "tokenUrl"
  | "clientId"
  | "scope"
  | "receiverSecret";

export interface InvalidWebhook extends Rejection {
  readonly code: "invalid_webhook";
  readonly field: WebhookField;
  /** Absent of a secret, and of what was not given. */
  readonly value?: string | number;
  /** A sentence without its subject, such as "is required". */
  readonly rule: string;
  /** The entry of `types` that the rule is about, if it is about one. */
  readonly type?: string;
}

export interface WebhookRules {
  /** Why nothing may be posted to a URL, as a sentence. */
  readonly judgeUrl: (url: string) => string | undefined;
  readonly eventTypes: readonly string[];
}

const NAME_MAX_LENGTH = 100;
const URL_MAX_LENGTH = 1_024;
const MOST_TYPES = 100;
const TYPE_MAX_LENGTH = 100;
const MOST_DELIVERIES_PER_SECOND = 100;
const HEADER_MAX_LENGTH = 100;
const CREDENTIAL_MAX_LENGTH = 1_000;

/** Those that a delivery has itself, and those that belong to the connection (RFC 9110, section 7.6.1). */
const RESERVED_HEADERS =
  /^(?:accept.*|connection|content-.*|date|expect|forwarded|host|keep-alive|max-forwards|proxy-.*|te|trailer|transfer-encoding|upgrade|user-agent|via|webhook-.*)$/i;

/**
 * @param receiverSecret undefined: not given
 * @param keepsSecret whether the one that is stored stays
 */
export function checkWebhook(
  settings: WebhookSettings,
  receiverSecret: string | undefined,
  keepsSecret: boolean,
  rules: WebhookRules,
): Check<InvalidWebhook> {
  const { name, url, types, deliveriesPerSecond, receiverAccess } = settings;
  return firstOf(
    failing("name", ruleOfName(name), name),
    failing("url", ruleOfUrl(url, rules), url),
    failing("types", ruleOfTypes(types)),
    unknownType(types, rules),
    failing("deliveriesPerSecond", ruleOfRate(deliveriesPerSecond), deliveriesPerSecond),
    ...(receiverAccess === undefined ? [] : failingAccess(receiverAccess, receiverSecret, keepsSecret, rules)),
  );
}

function failingAccess(
  access: ReceiverAccess,
  secret: string | undefined,
  keepsSecret: boolean,
  rules: WebhookRules,
): readonly (InvalidWebhook | undefined)[] {
  const isMissing = secret === undefined && !keepsSecret;
  const ruleOfSecret = isMissing ? "is required" : secret === undefined ? undefined : ruleOfCredential(secret);
  const ofSecret = failing("receiverSecret", ruleOfSecret);
  if (access.kind === "api_key") return [failing("header", ruleOfHeader(access.header), access.header), ofSecret];
  const { tokenUrl, clientId, scope } = access;
  return [
    failing("tokenUrl", ruleOfUrl(tokenUrl, rules), tokenUrl),
    failing("clientId", ruleOfCredential(clientId), clientId),
    failing("scope", scope === undefined ? undefined : ruleOfCredential(scope), scope),
    ofSecret,
  ];
}

function failing(field: WebhookField, rule: string | undefined, value?: string | number): InvalidWebhook | undefined {
  return rule === undefined
    ? undefined
    : { code: "invalid_webhook", field, rule, ...(value !== undefined && value !== "" && { value }) };
}

function firstOf(...found: readonly (InvalidWebhook | undefined)[]): Check<InvalidWebhook> {
  const first = found.find((one) => one !== undefined);
  return first === undefined ? PASSED : reject(first);
}

function ruleOfName(name: string): string | undefined {
  if (name === "" || Array.from(name).length > NAME_MAX_LENGTH) return `is not 1 to ${NAME_MAX_LENGTH} characters`;
  return printable(name) === name ? undefined : "has characters that cannot be printed";
}

function ruleOfUrl(url: string, { judgeUrl }: WebhookRules): string | undefined {
  if (url.length > URL_MAX_LENGTH) return `is longer than ${URL_MAX_LENGTH} characters`;
  const why = judgeUrl(url);
  return why === undefined ? undefined : `is not accepted: ${why}`;
}

function ruleOfTypes(types: readonly string[]): string | undefined {
  if (types.length === 0 || types.length > MOST_TYPES) return `is not 1 to ${MOST_TYPES} types`;
  return new Set(types).size < types.length ? "has a type twice" : undefined;
}

function unknownType(types: readonly string[], { eventTypes }: WebhookRules): InvalidWebhook | undefined {
  const type = types.find((entry) => !eventTypes.some((one) => isOfType(one, entry)));
  const rule = "which no event is of: a type, transfer.* or *";
  return type === undefined
    ? undefined
    : { code: "invalid_webhook", field: "types", rule, type: type.slice(0, TYPE_MAX_LENGTH) };
}

function ruleOfRate(rate: number): string | undefined {
  const isInRange = Number.isInteger(rate) && rate >= 1 && rate <= MOST_DELIVERIES_PER_SECOND;
  return isInRange ? undefined : `is not a whole number from 1 to ${MOST_DELIVERIES_PER_SECOND}`;
}

function ruleOfHeader(header: string): string | undefined {
  if (!isHeaderName(header) || header.length > HEADER_MAX_LENGTH) return "is not the name of a header";
  return RESERVED_HEADERS.test(header) ? "is a header that deliveries or connections have themselves" : undefined;
}

function ruleOfCredential(text: string): string | undefined {
  const isIn = text !== "" && text.length <= CREDENTIAL_MAX_LENGTH && isHeaderValue(text);
  return isIn
    ? undefined
    : `is not 1 to ${CREDENTIAL_MAX_LENGTH} printable ASCII characters without spaces at its ends`;
}
