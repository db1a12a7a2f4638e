/** The rule of the header X-Request-Id, which both servers keep. */

/** The caller's own id for its request, when it is one that may stand in a log. */
export function sentRequestId(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === "string" && /^[A-Za-z0-9._-]{1,64}$/.test(header) ? header : undefined;
}
