/**
 * Headers that a proxy between the caller and us could interpret differently. Each server rejects them in the format of its
 * own protocol.
 */
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";

/**
 * More than any client and its proxies send. Node silently drops headers after the first thousand: a request with too many
 * may lack any of them, so nothing else in it is trusted.
 */
const MOST_HEADERS = 100;

/** Why only the request line of a request may be used. */
export interface Unreadable {
  readonly status: 400 | 431 | 501;
  readonly reason: string;
}

/**
 * The boundary of a form has up to 70 (RFC 2046, section 5.1.1). The parsers of content types need a millisecond for 14 KB
 * of parameters, which is more than most requests.
 */
const CONTENT_TYPE_MAX_LENGTH = 256;

/** The first check of a request. */
export function unreadable(request: IncomingMessage): Unreadable | undefined {
  const { headers, rawHeaders, httpVersion } = request;
  if (isTooMany(rawHeaders)) return TOO_MANY_HEADERS;
  // Node accepts any version number and responds as if it were 1.1.
  if (httpVersion !== "1.1" && httpVersion !== "1.0")
    return { status: 400, reason: "the versions of HTTP that are known here are 1.0 and 1.1" };
  // RFC 9112, section 6.1. Node accepts any list that ends in `chunked`, and decodes only that.
  const coding = headers["transfer-encoding"];
  // The same section: 1.0 has no transfer codings, and a proxy may have seen the end of the body elsewhere.
  if (coding !== undefined && httpVersion === "1.0")
    return { status: 400, reason: "a request of HTTP/1.0 has no transfer coding" };
  if (coding !== undefined && coding.toLowerCase() !== "chunked")
    return { status: 501, reason: "the only transfer coding that is known here is chunked" };
  // RFC 9112, section 3.2. Node would respond to the first without our headers, and silently keep the first of two.
  if (headers.host === undefined && httpVersion === "1.1") return { status: 400, reason: "the header host is missing" };
  if (headers.host === "") return { status: 400, reason: "the header host is empty" };
  if (isTwiceIn(rawHeaders, "host")) return { status: 400, reason: "the header host occurs more than once" };
  if (headers.host !== undefined && !HOST.test(headers.host))
    return { status: 400, reason: "the header host is not a host name or address with an optional port" };
  if ((headers["content-type"] ?? "").length > CONTENT_TYPE_MAX_LENGTH)
    return { status: 400, reason: `the header content-type has more than ${CONTENT_TYPE_MAX_LENGTH} characters` };
  return undefined;
}

/**
 * RFC 3986, section 3.2.2, without the comma: a name may contain it, but of several values joined by commas each server on
 * the way may use another.
 */
const HOST = /^(?:\[[0-9A-Fa-f]*:[0-9A-Fa-f:.]+\]|(?:[\w.~!$&'()*+;=-]|%[0-9A-Fa-f]{2})+)(?::[0-9]{0,5})?$/;

export const TOO_MANY_HEADERS = { status: 431, reason: `there are more than ${MOST_HEADERS} headers` } as const;

/** Of headers or trailers as Node has them: names and values in turn. */
export const isTooMany = (raw: readonly string[]): boolean => raw.length > 2 * MOST_HEADERS;

/** Node keeps the first of two and silently drops the other; a proxy may use the second. */
const ONCE = ["authorization", "content-type"] as const;

/** The name of a header that occurs more than once and is therefore ambiguous. */
export function doubledHeader({ rawHeaders }: IncomingMessage): string | undefined {
  return ONCE.find((name) => isTwiceIn(rawHeaders, name));
}

/** Names and values alternate. Node's `headersDistinct` would sort all headers of each request into lists. */
function isTwiceIn(headers: readonly string[], name: string): boolean {
  let found = 0;
  for (let i = 0; i < headers.length; i += 2) {
    const other = headers[i] as string;
    if (other.length === name.length && other.toLowerCase() === name) found += 1;
  }
  return found > 1;
}

/** RFC 9110, section 8.4: a body with a content coding must not be read as if it had none. */
export function isCoded({ "content-encoding": coding = "identity" }: IncomingHttpHeaders): boolean {
  return coding.toLowerCase() !== "identity";
}

/**
 * Whether the content type names a charset other than UTF-8 and its subset ASCII. Each named charset counts, because a
 * reader may use the first or the last.
 */
export function hasForeignCharset({ "content-type": type = "" }: IncomingHttpHeaders): boolean {
  return [...type.matchAll(/;\s*charset\*?\s*=([^;]*)/gi)].some(([, named = ""]) => !UTF_8.test(named.trim()));
}

const UTF_8 = /^(?:utf-?8|us-ascii|"(?:utf-?8|us-ascii)")$/i;
