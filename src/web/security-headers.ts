/**
 * Headers of every response of both servers that protect browsers. There is no Access-Control-Allow-Origin: pages of other
 * origins may not read responses.
 */
const ALWAYS = { "x-content-type-options": "nosniff" };

/** RFC 6797, section 7.2: not sent over plain HTTP. The time is a year. */
const OVER_TLS = { ...ALWAYS, "strict-transport-security": "max-age=31536000" };

/** @param address the server's public URL */
export function securityHeaders(address: string): Readonly<Record<string, string>> {
  return address.startsWith("https:") ? OVER_TLS : ALWAYS;
}
