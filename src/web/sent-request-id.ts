/** The rule of the header X-Request-Id, which both servers keep. */

/**
 * The caller's own id for its request, when it is one that may stand in a log. One that looks like a secret of ours, 256
 * bits as base64url, may not: somebody has mistaken the header.
 */
export function sentRequestId(header: string | readonly string[] | undefined): string | undefined {
  if (typeof header !== "string" || /^[A-Za-z0-9_-]{43}$/.test(header)) return undefined;
  return /^[A-Za-z0-9._-]{1,64}$/.test(header) ? header : undefined;
}
