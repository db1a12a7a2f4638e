/** The rule for the header X-Request-Id, on both servers. */

/**
 * The caller's own id for its request, if it may be logged. An id in the form of our secrets, 256 bits as base64url, may
 * not: it probably is one, sent in the wrong header.
 */
export function sentRequestId(header: string | readonly string[] | undefined): string | undefined {
  if (typeof header !== "string" || /^[A-Za-z0-9_-]{43}$/.test(header)) return undefined;
  return /^[A-Za-z0-9._-]{1,64}$/.test(header) ? header : undefined;
}
