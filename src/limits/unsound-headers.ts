/**
 * Headers that whoever stands between a caller and us may read otherwise than we do. Each server refuses them in the
 * words of its own protocol.
 */
import type { IncomingHttpHeaders, IncomingMessage, Server } from "node:http";

/** Node keeps the first of two and drops the other without a word; a proxy may believe the second. */
const ONCE = ["authorization", "content-type", "host"] as const;

/** The name of a header that is there more than once and could mean two things. */
export function doubledHeader({ rawHeaders }: IncomingMessage): string | undefined {
  return ONCE.find((name) => isTwiceIn(rawHeaders, name));
}

/** Names and values stand in turn. Node would sort all headers of each request into lists to tell this. */
function isTwiceIn(headers: readonly string[], name: string): boolean {
  let found = 0;
  for (let i = 0; i < headers.length; i += 2) {
    const other = headers[i] as string;
    if (other.length === name.length && other.toLowerCase() === name) found += 1;
  }
  return found > 1;
}

/** RFC 9110, section 8.4: a body that is said to be coded must not be read as if it were not. */
export function isCoded({ "content-encoding": coding = "identity" }: IncomingHttpHeaders): boolean {
  return coding.toLowerCase() !== "identity";
}

/** RFC 9110, section 10.1.1: an expectation that is not known may be ignored. Node would answer it without our headers. */
export function ignoreExpectations(server: Pick<Server, "on" | "emit">): void {
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
}
