/** Reads the answers of a connection one after the other, as a client that trusts nothing would. */
export interface RawAnswer {
  readonly status: number;
  /** Undefined where the server has made up one of its own. */
  readonly id: string | undefined;
  /** It says that it is the last one. */
  readonly closes: boolean;
}

interface Read {
  readonly answers: readonly RawAnswer[];
  /** Why the rest is no answer. */
  readonly fault: string | undefined;
}

/** Behind a 101 it is not HTTP any more; what breaks off in the middle is no fault. */
export function answersIn(text: string): Read {
  const answers: RawAnswer[] = [];
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf("\r\n\r\n", at);
    if (end === -1) return { answers, fault: undefined };
    const [line = "", ...lines] = text.slice(at, end).split("\r\n");
    const status = Number(/^HTTP\/1\.1 ([1-5][0-9]{2}) [A-Z][A-Za-z -]*$/.exec(line)?.[1]);
    if (Number.isNaN(status)) return { answers, fault: `no answer begins with ${JSON.stringify(line.slice(0, 80))}` };
    at = end + 4;
    if (status === 100) continue;
    const headers = new Map(
      lines.map((each) => [each.slice(0, each.indexOf(":")).toLowerCase(), each.replace(/^[^:]*: ?/, "")]),
    );
    const id = headers.get("x-request-id");
    const closes = headers.get("connection")?.toLowerCase() === "close";
    answers.push({ status, closes, id: id !== undefined && /^\d+[shb]\d+$/.test(id) ? id : undefined });
    if (status === 101) return { answers, fault: undefined };
    const length = headers.get("content-length");
    if (length === undefined) return { answers, fault: `an answer with ${status} does not say how long it is` };
    at += Number(length);
  }
  return { answers, fault: undefined };
}
