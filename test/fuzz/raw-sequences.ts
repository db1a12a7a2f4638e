/**
 * Sequences of requests as bytes on one connection, made by seed: pipelined, framed in every way, cut anywhere, with
 * offers of other protocols, and with requests hidden in bodies that must never be taken for requests.
 */
import type { Random } from "../support/random.ts";

/** What a server understands, so that one generator serves both. */
export interface Dialect {
  /** Makes the names of a sequence its own. */
  readonly tag: string;
  /** Paths that answer GET, some at once and some later. */
  readonly reads: readonly string[];
  readonly postPath: string;
  readonly contentType: string;
  /** A body that makes the server note `name` when it is carried out. */
  readonly body: (name: string) => string;
  readonly feed: string | undefined;
}

interface Element {
  readonly what: string;
  readonly bytes: string;
  /** The connection is closed behind it, and nothing behind it is carried out. */
  readonly ends: boolean;
}

export interface Sequence {
  readonly elements: readonly Element[];
  /** How many requests get answers in their turn: behind them nothing is carried out or answered but the one that ends it. */
  readonly sound: number;
  readonly packets: readonly Buffer[];
  /** What our side does when it has sent all: waits for answers or the end, says that it is done, or breaks off. */
  readonly end: "wait" | "half-close" | "destroy";
}

const MOST_ELEMENTS = 7;
const MOST_PACKETS = 6;

/**
 * Behind the tag, requests have the ids s0, s1, ... in the order in which they are sent, those that are hidden in a body h0, h1, ..., and those that stand behind one that ends the connection b0, b1, ...: a proxy may read these as the
 * requests that they would be without the end.
 */
export function sequenceOf(random: Random, dialect: Dialect): Sequence {
  const elements: Element[] = [];
  const length = 1 + random(MOST_ELEMENTS);
  for (let at = 0; at < length; at += 1) elements.push(elementOf(random, dialect, at));
  const whole = Buffer.from(elements.map(({ bytes }) => bytes).join(""), "latin1");
  const end = (["wait", "wait", "wait", "half-close", "destroy"] as const)[random(5)] ?? "wait";
  // One that is waited for is whole: a server waits for the rest of a request for as long as it may.
  const sent = end === "wait" ? whole : whole.subarray(0, 1 + random(whole.length));
  return { elements, sound: soundOf(elements, sent.length), packets: cut(sent, random), end };
}

function soundOf(elements: readonly Element[], sent: number): number {
  let bytes = 0;
  const end = elements.findIndex((element) => {
    bytes += element.bytes.length;
    return element.ends || bytes > sent;
  });
  return end === -1 ? elements.length : end;
}

function cut(bytes: Buffer, random: Random): Buffer[] {
  const places = Array.from({ length: random(MOST_PACKETS) }, () => random(bytes.length + 1)).toSorted((a, b) => a - b);
  return [0, ...places]
    .map((from, index) => bytes.subarray(from, places[index] ?? bytes.length))
    .filter(({ length }) => length > 0);
}

type Make = (random: Random, dialect: Dialect, at: number) => Omit<Element, "what">;

function elementOf(random: Random, dialect: Dialect, at: number): Element {
  // Most are sound, or few sequences would get far.
  const kinds = random(3) > 0 ? SOUND : ENDING;
  const [what, make] = pick(random, Object.entries(kinds));
  return { what, ...make(random, dialect, at) };
}

function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[random(items.length)] as Item;
}

const CRLF = "\r\n";
const message = (line: string, headers: readonly string[], body = ""): string =>
  [line, ...headers, "", body].join(CRLF);

const usual = ({ tag }: Dialect, at: number): string[] => ["Host: fuzz", `X-Request-Id: ${tag}s${at}`];
const getLine = (random: Random, { reads }: Dialect): string => `GET ${pick(random, reads)} HTTP/1.1`;
const postLine = ({ postPath }: Dialect): string => `POST ${postPath} HTTP/1.1`;
const typed = ({ contentType }: Dialect): string => `Content-Type: ${contentType}`;

/** A request that would be carried out, were it taken for one. */
function hidden(dialect: Dialect, at: number, letter: "h" | "b" = "h"): string {
  const name = `${dialect.tag}${letter}${at}`;
  const body = dialect.body(name);
  const headers = ["Host: fuzz", `X-Request-Id: ${name}`, typed(dialect), `Content-Length: ${body.length}`];
  return message(postLine(dialect), headers, body);
}

/** The body, and the header that says where it ends. */
function framed(random: Random, body: string): { header: string; bytes: string } {
  if (random(2) === 0) return { header: `Content-Length: ${body.length}`, bytes: body };
  const chunks: string[] = [];
  for (let from = 0; from < body.length; ) {
    const size = 1 + random(body.length);
    const chunk = body.slice(from, from + size);
    chunks.push(`${chunk.length.toString(16)}${pick(random, ["", ";a=b", ""])}${CRLF}${chunk}${CRLF}`);
    from += size;
  }
  const trailers = random(4) === 0 ? `Host: trailer${CRLF}Upgrade: h2c${CRLF}` : "";
  return { header: "Transfer-Encoding: chunked", bytes: `${chunks.join("")}0${CRLF}${trailers}${CRLF}` };
}

const OFFERS = [
  ["Connection: Upgrade", "Upgrade: websocket"],
  ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA"],
  ["Connection: keep-alive, upgrade", "Upgrade: websocket", "Upgrade: h2c"],
  ["Upgrade: tls/1.2", "Connection: Upgrade"],
] as const;
const HANDSHAKE = [...OFFERS[0], "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="];

const many = (random: Random): string[] => new Array<string>(100 + random(1_200)).fill("m: b");

/** Whole requests, each of which gets one answer and leaves the connection open. */
const SOUND: Readonly<Record<string, Make>> = {
  "a read": (random, dialect, at) => ({ bytes: message(getLine(random, dialect), usual(dialect, at)), ends: false }),
  "a write": (random, dialect, at) => {
    const { header, bytes } = framed(random, dialect.body(`${dialect.tag}s${at}`));
    return { bytes: message(postLine(dialect), [...usual(dialect, at), typed(dialect), header], bytes), ends: false };
  },
  "a write that hides another": (random, dialect, at) => {
    const { header, bytes } = framed(random, hidden(dialect, at));
    return { bytes: message(postLine(dialect), [...usual(dialect, at), typed(dialect), header], bytes), ends: false };
  },
  "a read that hides a write": (random, dialect, at) => {
    const { header, bytes } = framed(random, hidden(dialect, at));
    return { bytes: message(getLine(random, dialect), [...usual(dialect, at), header], bytes), ends: false };
  },
  "a body where nothing is": (random, dialect, at) => {
    const { header, bytes } = framed(random, hidden(dialect, at));
    return { bytes: message("POST /nowhere HTTP/1.1", [...usual(dialect, at), header], bytes), ends: false };
  },
  "a hundred headers": (random, dialect, at) => ({
    bytes: message(getLine(random, dialect), [...usual(dialect, at), ...new Array<string>(98).fill("m: b")]),
    ends: false,
  }),
  "an expectation": (random, dialect, at) => ({
    bytes: message(getLine(random, dialect), [
      ...usual(dialect, at),
      `Expect: ${pick(random, ["100-continue", "miracles"])}`,
    ]),
    ends: false,
  }),
};

/** Requests behind which there is nothing, each with a hidden one where another reader might begin again. */
const ENDING: Readonly<Record<string, Make>> = {
  "an offer of another protocol": (random, dialect, at) => {
    const { header, bytes } = framed(random, dialect.body(`${dialect.tag}s${at}`));
    const headers = [...usual(dialect, at), ...pick(random, OFFERS), typed(dialect), header];
    return { bytes: message(postLine(dialect), headers, bytes), ends: true };
  },
  "an offer, and a request hidden behind it": (random, dialect, at) => {
    const line =
      random(2) === 0 || dialect.feed === undefined ? getLine(random, dialect) : `GET ${dialect.feed} HTTP/1.1`;
    const inside = hidden(dialect, at);
    const carrier = message("GET /nowhere HTTP/1.1", ["Host: fuzz", `Content-Length: ${inside.length}`], inside);
    return { bytes: message(line, [...usual(dialect, at), ...pick(random, OFFERS)], carrier), ends: true };
  },
  "a handshake": (random, dialect, at) => {
    const isBody = random(2) === 0;
    const behind = hidden(dialect, at, isBody ? "h" : "b");
    const body = isBody ? [`Content-Length: ${behind.length}`] : [];
    const line = `GET ${dialect.feed ?? "/nowhere"} HTTP/1.1`;
    return { bytes: message(line, [...usual(dialect, at), ...HANDSHAKE, ...body], behind), ends: true };
  },
  "too many headers": (random, dialect, at) => {
    const inside = hidden(dialect, at);
    const last = pick(random, [
      [`Content-Length: ${inside.length}`],
      ["Transfer-Encoding: chunked"],
      [...OFFERS[1], `Content-Length: ${inside.length}`],
      [...OFFERS[0], `Content-Length: ${inside.length}`],
    ]);
    return {
      bytes: message(postLine(dialect), [...usual(dialect, at), typed(dialect), ...many(random), ...last], inside),
      ends: true,
    };
  },
  "headers that are too long": (random, dialect, at) => ({
    bytes: message(
      getLine(random, dialect),
      [...usual(dialect, at), `A: ${"a".repeat(66_000 + random(9_000))}`],
      hidden(dialect, at, "b"),
    ),
    ends: true,
  }),
  "another framing": (random, dialect, at) => {
    const inside = hidden(dialect, at, "b");
    const framing = pick(random, [
      ["Transfer-Encoding: gzip, chunked"],
      ["Transfer-Encoding: chunked, chunked"],
      ["Transfer-Encoding: identity"],
      ["Transfer-Encoding: xchunked"],
      ["Transfer-Encoding:\x0bchunked"],
      ["Transfer-Encoding: chunked", `Content-Length: ${inside.length}`],
      [`Content-Length: ${inside.length}`, "Transfer-Encoding: chunked"],
      ["Content-Length: 0", `Content-Length: ${inside.length}`],
      ["Content-Length: +0"],
      ["Content-Length: 0x0"],
      ["Content-Length: 0, 0"],
      ["Transfer-Encoding : chunked"],
      ["A: b\r\n Transfer-Encoding: chunked"],
      [`A: b\nContent-Length: ${inside.length}`],
    ]);
    return {
      bytes: message(
        postLine(dialect),
        [...usual(dialect, at), typed(dialect), ...framing],
        `0${CRLF}${CRLF}${inside}`,
      ),
      ends: true,
    };
  },
  "a chunk that is wrong": (random, dialect, at) => {
    const size = pick(random, ["zz", "-1", "10000000000000000", "1", "0x1", " 1", ""]);
    const headers = [...usual(dialect, at), typed(dialect), "Transfer-Encoding: chunked"];
    return { bytes: message(postLine(dialect), headers, `${size}${CRLF}${hidden(dialect, at)}`), ends: true };
  },
  "no HTTP": (random, dialect, at) => {
    const line = pick(random, [
      "\0\x01",
      "GET /",
      "G\tT / HTTP/1.1",
      "GET / HTTP/9.9",
      "PRI * HTTP/2.0",
      "\x16\x03\x01",
    ]);
    return { bytes: message(line, usual(dialect, at), hidden(dialect, at, "b")), ends: true };
  },
  "no host": (_, dialect, at) => ({
    bytes: message(
      postLine(dialect),
      [`X-Request-Id: ${dialect.tag}s${at}`, "Content-Length: 0"],
      hidden(dialect, at, "b"),
    ),
    ends: true,
  }),
  "an address that cannot be decoded": (random, dialect, at) => ({
    bytes: message(
      "GET /%zz HTTP/1.1",
      [...usual(dialect, at), ...pick(random, [[], OFFERS[1]])],
      hidden(dialect, at, "b"),
    ),
    ends: true,
  }),
  "a method that takes the connection": (_, dialect, at) => ({
    bytes: message("CONNECT fuzz:443 HTTP/1.1", usual(dialect, at), hidden(dialect, at, "b")),
    ends: true,
  }),
  "the last request": (random, dialect, at) => ({
    bytes: message(getLine(random, dialect), [...usual(dialect, at), "Connection: close"], hidden(dialect, at, "b")),
    ends: true,
  }),
  "a request of HTTP/1.0": (random, dialect, at) => ({
    bytes: message(getLine(random, dialect).replace("1.1", "1.0"), usual(dialect, at), hidden(dialect, at, "b")),
    ends: true,
  }),
};
