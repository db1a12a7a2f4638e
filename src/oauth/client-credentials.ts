/** How a client says who it is: RFC 6749, section 2.3.1, in the body or by HTTP Basic. */
import type { Form } from "./form.ts";
import { TokenRefusal } from "./token-refusal.ts";

export interface ClientCredentials {
  readonly clientId: string;
  readonly secret: string;
  readonly sentBy: "body" | "basic";
}

/** RFC 6749, section 2.3: one way of authentication in each request. */
export function readCredentials(authorization: string | undefined, form: Form): ClientCredentials | TokenRefusal {
  if (authorization === undefined) return readBody(form);
  if (form.has("client_secret")) {
    return new TokenRefusal("invalid_request", "the client authenticates in the header and in the body");
  }
  const credentials = readBasic(authorization);
  if (credentials instanceof TokenRefusal) return credentials;
  // RFC 6749, section 3.2.1: a client may name itself in the body as well, but then as the same one.
  if (form.has("client_id") && form.get("client_id") !== credentials.clientId) {
    return new TokenRefusal("invalid_request", "the client_id in the body is not that of the header");
  }
  return credentials;
}

function readBody(form: Form): ClientCredentials | TokenRefusal {
  const clientId = form.get("client_id");
  const secret = form.get("client_secret");
  if (clientId === undefined) return new TokenRefusal("invalid_client", "client_id is missing");
  if (secret === undefined) return new TokenRefusal("invalid_client", "client_secret is missing");
  return { clientId, secret, sentBy: "body" };
}

/** RFC 7617, section 2: the name of the scheme in any case, then base64 of what stands before and after the colon. */
function readBasic(authorization: string): ClientCredentials | TokenRefusal {
  const [, scheme = "", encoded = ""] = /^([^ ]*) *(.*)$/.exec(authorization) ?? [];
  if (scheme.toLowerCase() !== "basic") {
    return new TokenRefusal("invalid_client", "the client authenticates by neither Basic nor the body");
  }
  const pair = decodeBase64(encoded.trimEnd()) ?? "";
  const colon = pair.indexOf(":");
  const clientId = decodeFormUrl(pair.slice(0, Math.max(colon, 0)));
  const secret = decodeFormUrl(pair.slice(colon + 1));
  if (colon === -1 || clientId === undefined || secret === undefined) {
    return new TokenRefusal("invalid_client", "the Authorization header cannot be read", { challenge: true });
  }
  return { clientId, secret, sentBy: "basic" };
}

function decodeBase64(text: string): string | undefined {
  return /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? Buffer.from(text, "base64").toString("latin1") : undefined;
}

/**
 * RFC 6749, section 2.3.1 and appendices A and B: the id and the secret are form-url-encoded before they are put into
 * the header, and are printable ASCII.
 */
function decodeFormUrl(text: string): string | undefined {
  try {
    const decoded = decodeURIComponent(text.replaceAll("+", " "));
    return /^[\x20-\x7e]+$/.test(decoded) ? decoded : undefined;
  } catch {
    return undefined;
  }
}
