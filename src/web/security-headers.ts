/**
 * What every answer of both servers says for the safety of whoever reads it in a browser. There is no
 * Access-Control-Allow-Origin anywhere: pages of others have no business here.
 */
const ALWAYS = { "x-content-type-options": "nosniff" };

/** RFC 6797, section 7.2: not said where it could not be kept. The time is a year. */
const OVER_TLS = { ...ALWAYS, "strict-transport-security": "max-age=31536000" };

/** `address` is the server's public one. */
export function securityHeaders(address: string): Readonly<Record<string, string>> {
  return address.startsWith("https:") ? OVER_TLS : ALWAYS;
}
