/** Client authentication (RFC 6749, section 2.3.1): in the body or by HTTP Basic. */
import { CLIENT_ID_MAX_LENGTH, SECRET_MAX_LENGTH } from "../../customers/clients/clients.ts";
import { type Check, done, PASSED, type Result } from "../../std/result.ts";
import type { Form } from "./form.ts";
import { rejectToken, type TokenRejection } from "./token-error.ts";

export interface ClientCredentials {
  /** The possible readings, the likelier first. More than one only for Basic with escapes. */
  readonly readings: readonly Reading[];
  readonly sentBy: "body" | "basic";
}

export interface Reading {
  readonly clientId: string;
  readonly secret: string;
}

/** RFC 6749, section 2.3: one authentication method per request. */
export function readCredentials(
  authorization: string | undefined,
  form: Form,
): Result<ClientCredentials, TokenRejection> {
  if (authorization === undefined) return readBody(form);
  if (form.has("client_secret")) {
    return rejectToken("invalid_request", "the client authenticates both in the header and in the body");
  }
  const credentials = readBasic(authorization);
  if (credentials.kind === "rejected" || !form.has("client_id")) return credentials;
  // RFC 6749, section 3.2.1: a client_id in the body must match that of the header.
  const readings = credentials.value.readings.filter(({ clientId }) => clientId === form.get("client_id"));
  if (readings.length > 0) return done({ ...credentials.value, readings });
  return rejectToken("invalid_request", "the client_id in the body differs from that in the header");
}

function readBody(form: Form): Result<ClientCredentials, TokenRejection> {
  const clientId = form.get("client_id");
  const secret = form.get("client_secret");
  if (clientId === undefined) return rejectToken("invalid_client", "client_id is missing");
  if (secret === undefined) return rejectToken("invalid_client", "client_secret is missing");
  return done({ readings: [{ clientId, secret }], sentBy: "body" });
}

/** More than the longest id and secret need, in base64 with every character escaped. */
const AUTHORIZATION_MAX_LENGTH = 2_048;

const UNREADABLE = rejectToken("invalid_client", "the Authorization header cannot be read", { challenge: true });

/** RFC 7617, section 2: the scheme, case-insensitive, then base64 of `id:secret`. */
function readBasic(authorization: string): Result<ClientCredentials, TokenRejection> {
  if (authorization.length > AUTHORIZATION_MAX_LENGTH) return UNREADABLE;
  const [, scheme = "", encoded = ""] = /^([^ ]*) *(.*)$/.exec(authorization) ?? [];
  if (scheme.toLowerCase() !== "basic") {
    return rejectToken("invalid_client", "the client must authenticate by HTTP Basic or in the body");
  }
  const pair = decodeBase64(encoded.trimEnd()) ?? "";
  const colon = pair.indexOf(":");
  const [id, password] = [pair.slice(0, Math.max(colon, 0)), pair.slice(colon + 1)];
  const readings = distinct([reading(decodeFormUrl(id), decodeFormUrl(password)), reading(id, password)]);
  const [likely] = readings;
  if (likely === undefined) return UNREADABLE;
  const short = checkLength(likely);
  return short.kind === "rejected" ? short : done({ readings, sentBy: "basic" });
}

/**
 * RFC 6749, section 2.3.1 and appendix B: the id and the secret are form-url-encoded before they are put into the
 * header. About half of all clients do so; the others follow RFC 7617 and send them unencoded. The readings differ for
 * secrets with a percent or plus sign; then both are tried.
 */
function distinct(readings: readonly (Reading | undefined)[]): Reading[] {
  const [decoded, asSent] = readings;
  const same = decoded?.clientId === asSent?.clientId && decoded?.secret === asSent?.secret;
  return (same ? [decoded] : [decoded, asSent]).filter((each) => each !== undefined);
}

/** RFC 6749, appendix A: printable ASCII. */
function reading(clientId: string | undefined, secret: string | undefined): Reading | undefined {
  const isVisible = (text: string | undefined): text is string => /^[\x20-\x7e]+$/.test(text ?? "");
  return isVisible(clientId) && isVisible(secret) ? { clientId, secret } : undefined;
}

/** The same bounds as in the form. */
function checkLength({ clientId, secret }: Reading): Check<TokenRejection> {
  if (clientId.length > CLIENT_ID_MAX_LENGTH) return rejectLong("client_id", CLIENT_ID_MAX_LENGTH);
  if (secret.length > SECRET_MAX_LENGTH) return rejectLong("client_secret", SECRET_MAX_LENGTH);
  return PASSED;
}

const rejectLong = (name: string, most: number) =>
  rejectToken("invalid_request", `${name} is longer than ${most} characters`);

function decodeBase64(text: string): string | undefined {
  return /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? Buffer.from(text, "base64").toString("latin1") : undefined;
}

function decodeFormUrl(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}
