/**
 * Requests of some KB that could cost the service more than they cost the sender, as the bytes of a connection.
 * `body` is for requests that are compared with a normal write.
 */
const [API_HEAD, AUTH_HEAD, BODY, FORM, BULK] = [62_000, 15_000, 65_000, 16_000, 900_000];

/** In the form of our secrets: others are compared slowly, in other threads. */
const GENERATED = "g".repeat(43);

/** A text of this length, of a repeated part or of what a function makes of 0, 1, 2, ... */
export function filled(length, part) {
  const parts = [];
  for (let i = 0, made = 0; made < length; i += 1) {
    const next = typeof part === "string" ? part : part(i);
    parts.push(next);
    made += next.length;
  }
  return parts.join("").slice(0, length);
}

/** Whole parts only, joined, up to this length. */
const list = (length, part, between = ",") =>
  filled(length, (i) => between + part(i))
    .replace(/,[^,]*$/, "")
    .slice(1);
const base64url = (value) =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
const nested = (levels) => "[".repeat(levels) + "]".repeat(levels);

export function get(path, headers = "", method = "GET") {
  return `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`;
}

export function post(path, body, headers = "Content-Type: application/json\r\n") {
  const length = Buffer.byteLength(body);
  const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}Content-Length: ${length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(body)]);
}

/** Queries by name, with the question mark. */
const queries = (length) => ({
  "names with +": `?${filled(length, (i) => `+${i}&`)}`,
  "wrong escapes": `?${filled(length, "%ff&")}`,
  "right escapes": `?${filled(length, "%41=%42&")}`,
  "one huge value": `?limit=${filled(length - 10, "1")}`,
  "one name repeated": `?${filled(length, "limit=1&")}`,
});

const paths = (length) => ({
  "long path": `/${filled(length, "a/")}`,
  "escaped path": `/v2/${filled(length, "%41")}`,
  "wrongly escaped path": `/v2/${filled(length, "%ff")}`,
  "%2f path": `/v2/profiles/${filled(length, "%2f")}`,
  dots: `/docs/${filled(length, "../")}`,
});

/** Heads by name; lines with their ends. */
function headers(length, kid) {
  const signature = base64url(Buffer.alloc(64, 1).toString("latin1"));
  const jwt = (header, payload) => `${base64url(header)}.${base64url(payload)}`;
  const head = { alg: "ES256", typ: "at+jwt", kid };
  const bearer = (token) => `Authorization: Bearer ${token}\r\n`;
  return {
    "95 headers": Array.from({ length: 95 }, (_, i) => `x-${i}: ${filled(length / 96 - 9, "a")}\r\n`).join(""),
    "2,000 headers": filled(length, (i) => `${i.toString(36)}:\r\n`).replace(/\r\n[^\n]*$/, "\r\n"),
    "one header": `x-a: ${filled(length, "a")}\r\n`,
    cookies: `Cookie: ${filled(length, "a=b; ")}\r\n`,
    "X-Forwarded-For": `X-Forwarded-For: ${filled(length, "1.2.3.4, ")}1.2.3.4\r\n`,
    traceparent: `traceparent: 00-${filled(length, "a")}-b7ad6b7169203331-01\r\ntracestate: ${filled(90, "a=1,")}b=2\r\n`,
    "X-Request-Id": `X-Request-Id: ${filled(length, "a")}\r\n`,
    "If-None-Match": `If-None-Match: ${filled(length, 'W/"a", ')}"b"\r\n`,
    Range: `Range: bytes=${filled(length, (i) => `${i}-${i},`)}1-2\r\n`,
    dates: `If-Modified-Since: ${filled(length, "Mon, ")}\r\nIf-Unmodified-Since: x\r\n`,
    "Accept-Encoding": `Accept-Encoding: ${filled(length, "gzip;q=0.1,")}br\r\n`,
    "Connection list": `Connection: ${filled(length, (i) => `a${i},`)}keep-alive\r\n`,
    Expect: `Expect: ${filled(length, "100-continue,")}a\r\n`,
    "long Authorization": bearer(filled(length, "a")),
    "blanks in Authorization": `Authorization: Bearer ${filled(length, " ")}x\r\n`,
    "Basic with escapes": `Authorization: Basic ${base64url(`${filled(length * 0.7, "%ff")}:x`).replaceAll(/[-_]/g, "A")}\r\n`,
    "100 segments": bearer(filled(length, "ab.")),
    "token, wrong signature": bearer(`${jwt(head, { sub: "x".repeat(100) })}.${signature}`),
    "token, deep payload": bearer(`${jwt(head, `{"a":${nested(1_300)}}`)}.${signature}`),
    "token, deep header": bearer(`${jwt(`{"alg":"ES256","kid":"a","z":${nested(1_300)}}`, "{}")}.${signature}`),
    "token, huge kid": bearer(`${jwt({ ...head, kid: "k".repeat(2_800) }, "{}")}.${signature}`),
    "multipart boundary": `Content-Type: multipart/form-data; boundary=${filled(length, "a")}\r\n`,
    "parameters of the type": `Content-Type: multipart/form-data; boundary=x${filled(length, (i) => `;a${i}=b`)}\r\n`,
    "escaped parameters": `Content-Type: multipart/form-data; boundary=x${filled(length, () => ";a*=utf-8''%ff")}\r\n`,
    "quoted parameter": `Content-Type: multipart/form-data; boundary="${filled(length, '\\"')}"\r\n`,
    charsets: `Content-Type: application/json${filled(length, ";charset=utf-8")}\r\n`,
    "form charsets": `Content-Type: application/x-www-form-urlencoded${filled(length, ";charset=utf-8")}\r\n`,
    "JSON parameters": `Content-Type: application/json${filled(length, (i) => `;a${i}=b`)}\r\n`,
    "blanks in the type": `Content-Type: application/json;${filled(length, " ")}x\r\n`,
    "Content-Encoding": `Content-Encoding: ${filled(length, "gzip,")}br\r\n`,
  };
}

/** Values of JSON by name. */
function jsons({ profileId, otherId }) {
  const transfer = { from_profile_id: profileId, to_profile_id: otherId, amount: "1", asset: "USD", ref_id: "r" };
  const metadata = Object.fromEntries(
    Array.from({ length: 100 }, (_, i) => [`${i}${"k".repeat(90)}`, "\u{1F4B0}".repeat(100)]),
  );
  return {
    "many names": `{${list(BODY, (i) => `"${i.toString(36)}":1`)}}`,
    "490 names": `{${Array.from({ length: 490 }, (_, i) => `"${filled(120, `${i}`)}":1`).join(",")}}`,
    "490 long values": `{${Array.from({ length: 490 }, (_, i) => `"${i}":"${"\\u0041".repeat(19)}"`).join(",")}}`,
    "490 objects": `[${Array.from({ length: 245 }, (_, i) => `{"${i}":0}`).join(",")}]`,
    nested: nested(BODY / 2),
    "nested 240": `{"a":${nested(240)}}`,
    "one string": `{"amount":"${filled(BODY, "a")}"}`,
    escapes: `{"amount":"${filled(6 * 10_800, "\\u0041")}"}`,
    surrogates: `{"amount":"${filled(6 * 10_800, "\\ud83d")}"}`,
    quotes: `{"amount":"${filled(BODY, '\\"')}"}`,
    "a name of 60 KB": `{"${filled(BODY, "a")}":1}`,
    blanks: `{"amount"${filled(BODY, " ")}:1}`,
    "blanks after strings": `{"a":"b"${filled(BODY, " ")}"c"}`,
    digits: `{"amount":${filled(BODY, "1")}}`,
    fraction: `{"amount":0.${filled(BODY, "1")}e-10}`,
    zeros: `{"amount":0.${filled(BODY, "0")}1}`,
    "not UTF-8": Buffer.alloc(BODY, 0x41).fill(0xff, BODY - 1),
    "long amount": JSON.stringify({ ...transfer, amount: "9".repeat(1_000) }),
    "long decimals": JSON.stringify({ ...transfer, amount: `1.${"9".repeat(1_000)}` }),
    metadata: JSON.stringify({ ...transfer, metadata }),
    "490 wrong metadata": JSON.stringify({
      ...transfer,
      metadata: Object.fromEntries(Array.from({ length: 490 }, (_, i) => [`${i}${"k".repeat(100)}`, i])),
    }),
    "490 unknown fields": JSON.stringify(Object.fromEntries(Array.from({ length: 490 }, (_, i) => [`f${i}`, "x"]))),
  };
}

/** Bodies of bulks by name: as long, or of as many values, as they may be. */
function bulks({ profileId, otherId }) {
  const item = { from_profile_id: profileId, to_profile_id: otherId, amount: "1", asset: "USD" };
  const items = (count, more) => Array.from({ length: count }, (_, i) => ({ ...item, ref_id: `r${i}`, ...more?.(i) }));
  const fields = (count, value) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, value]));
  const pairs = Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`${i}${"k".repeat(55)}`, "v".repeat(55)]));
  const body = (all, more) => JSON.stringify({ mode: "independent", dry_run: true, items: all, ...more });
  const raw = (text) => `{"mode":"atomic","dry_run":true,"items":${text}}`;
  return {
    "1,000 transfers": body(items(1_000)),
    "1,000 transfers, atomic": body(items(1_000), { mode: "atomic" }),
    "1,000 transfers with metadata": body(items(1_000, () => ({ metadata: pairs }))),
    "1,000 without funds": body(items(1_000, () => ({ amount: "999999999" }))),
    "1,000 wrong amounts": body(items(1_000, () => ({ amount: "9".repeat(700) }))),
    "1,000 items of 20 unknown fields": body(items(1_000, () => fields(20, "x"))),
    "1,000 items of wrong metadata": body(items(1_000, () => ({ metadata: fields(10, 1) }))),
    "1,000 items with one ref_id": body(items(1_000, () => ({ ref_id: "r" }))),
    "10,000 items": body(Array(10_000).fill({})),
    "1,000 nulls": body(Array(1_000).fill(null)),
    nested: raw(nested(12_000)),
    "nested item": raw(`[{"metadata":${nested(12_000)}}]`),
    "one item of 24,000 names": body([fields(24_000, 1)]),
    "metadata of 24,000 names": body([{ ...item, metadata: fields(24_000, "x".repeat(25)) }]),
    "1 MiB of names": raw(`[{${list(BULK, (i) => `"${i.toString(36)}":1`)}}]`),
    "one string": raw(`["${filled(BULK, "a")}"]`),
    escapes: raw(`["${filled(6 * 150_000, "\\u0041")}"]`),
    quotes: raw(`["${filled(BULK, '\\"')}"]`),
    blanks: raw(`[${filled(BULK, " ")}1]`),
    digits: raw(`[${filled(BULK, "1")}]`),
    "not JSON": filled(BULK, "{"),
    "not UTF-8": Buffer.alloc(BULK, 0x41).fill(0xff, BULK - 1),
  };
}

function forms() {
  const part = (i) => `--x\r\ncontent-disposition: form-data; name="a${i}"\r\n\r\n1\r\n`;
  const credentials = "grant_type=client_credentials&client_id=a&client_secret=";
  const inForm = "Content-Type: application/x-www-form-urlencoded\r\n";
  const inParts = "Content-Type: multipart/form-data; boundary=x\r\n";
  return {
    "many fields": [filled(FORM, (i) => `a${i}=b&`), inForm],
    "wrong escapes": [filled(FORM, "%ff&"), inForm],
    "one name of escapes": [filled(FORM, "%ff"), inForm],
    "one value of escapes": [credentials + filled(FORM - 100, "%41"), inForm],
    "+": [credentials + filled(FORM - 100, "+"), inForm],
    "empty fields": [filled(FORM, "&"), inForm],
    scopes: [`${credentials}${GENERATED}&scope=${filled(1_990, "a+")}`, inForm],
    "multipart, empty parts": [filled(FORM, "--x\r\n\r\n\r\n"), inParts],
    "multipart, many parts": [filled(FORM, part), inParts],
    "multipart, headers of a part": [`--x\r\n${filled(FORM - 10, (i) => `a${i}: b\r\n`)}`, inParts],
    "multipart, disposition": [
      `--x\r\ncontent-disposition: form-data${filled(FORM - 60, (i) => `;a${i}="b"`)}\r\n\r\n`,
      inParts,
    ],
    "multipart, escaped disposition": [
      `--x\r\ncontent-disposition: form-data${filled(FORM - 60, () => ";a*=utf-8''%ff")}\r\n\r\n`,
      inParts,
    ],
    "multipart, nearly boundaries": [`--x\r\n\r\n${filled(FORM - 10, "\r\n--")}`, inParts],
  };
}

/** A client's frame: `fin` and opcode in the first byte, masked with zeros. */
const frame = (first, text = "") => Buffer.from([first, 0x80 | text.length, 0, 0, 0, 0, ...Buffer.from(text)]);
const CLOSE = frame(0x88);

const handshake = (more = "") =>
  get(
    "/marketdata/BTCUSD",
    `Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${"A".repeat(22)}==\r\n${more}`,
  );

/**
 * All inputs: name, server ("api" or "auth"), bytes, and what follows an upgrade.
 * @param token a valid access token; kid the name of a signing key
 */
export function hostileInputs({ token, kid, profileId, otherId }) {
  const inputs = [];
  const add = (server, name, bytes, more = {}) => inputs.push({ server, name, bytes, ...more });
  const known = `Authorization: Bearer ${token}\r\n`;
  const json = `${known}Content-Type: application/json\r\n`;
  for (const [name, query] of Object.entries(queries(API_HEAD))) {
    add("api", `public query: ${name}`, get(`/v2/all-markets/prices${query}`));
    add("api", `query, no token: ${name}`, get(`/v2/profiles${query}`));
    add("api", `query: ${name}`, get(`/v2/profiles${query}`, known));
    add("api", `query of an unknown path: ${name}`, get(`/nowhere${query}`));
  }
  const ids = filled(60_000, () => `ids=${profileId}&`).slice(0, -45);
  add(
    "api",
    "filters: 100 ids",
    get(`/v2/profiles?${filled(40 * 100, () => `ids=${profileId}&`).slice(0, -1)}`, known),
  );
  add("api", "filters: 1,500 ids", get(`/v2/profiles?${ids}`, known));
  const refs = Array.from({ length: 100 }, (_, i) => `ref_ids=${filled(128, `${i}x`)}`).join("&");
  add("api", "filters: 100 references", get(`/v2/transfer/transfers?${refs}`, known));
  add("api", "cursor: 60 KB", get(`/v2/profiles?page_cursor=${filled(60_000, "A")}`, known));
  add("api", "cursor: 1,000 characters", get(`/v2/profiles?page_cursor=${filled(1_000, "W1tb")}`, known));
  add("api", "cursor: nested", get(`/v2/profiles?page_cursor=${base64url(nested(370))}`, known));
  for (const [name, path] of Object.entries(paths(API_HEAD))) {
    add("api", name, get(path));
    add("api", `${name}, 405`, get(path, known, "DELETE"));
  }
  add("api", "405", get("/v2/profiles", known, "DELETE"));
  add("api", "long segment", get(`/v2/markets/${filled(1_000, "a")}/ticker`));
  add("api", "escaped segment", get(`/v2/markets/${filled(1_500, "%41")}/ticker`));
  for (const [name, lines] of Object.entries(headers(API_HEAD, kid))) {
    const isToken = /authorization/i.test(lines.slice(0, 14));
    const isType = /content-type/i.test(lines.slice(0, 14));
    if (isType) {
      add("api", `${name}, no token`, post("/v2/transfer/internal", "{}", lines));
      add("api", name, post("/v2/transfer/internal", "{}", known + lines));
    } else {
      add("api", isToken ? name : `${name}, no token`, get("/v2/profiles", lines));
      add("api", `${name}, public`, get("/v2/markets", lines));
      if (!isToken && name !== "2,000 headers")
        add("api", name, get("/v2/profiles", known + lines.replace(/.{2000}\r\n$/, "\r\n")));
    }
  }
  add("api", "Host", `GET /v2/profiles HTTP/1.1\r\nHost: ${filled(API_HEAD, "%41")}\r\n\r\n`);
  add("api", "wrong Host", `GET /v2/profiles HTTP/1.1\r\nHost: ${filled(API_HEAD, "a.")}/\r\n\r\n`);
  for (const [name, body] of Object.entries(jsons({ profileId, otherId }))) {
    for (const path of ["/v2/transfer/internal", `/v2/profiles/${profileId}/orders`]) {
      add("api", `JSON: ${name}, ${path.split("/").at(-1)}`, post(path, body, json));
    }
  }
  for (const [name, body] of Object.entries(bulks({ profileId, otherId })))
    add("api", `bulk: ${name}`, post("/v2/transfer/internal/bulk", body, json));
  add("api", "bulk, no token", post("/v2/transfer/internal/bulk", filled(BULK, "{")));
  add("api", "JSON, no token", post("/v2/transfer/internal", jsons({ profileId, otherId })["490 names"]));
  add("api", "upgrade, protocols", handshake(`Sec-WebSocket-Protocol: ${filled(60_000, (i) => `a${i},`)}b\r\n`));
  add(
    "api",
    "upgrade, extensions",
    handshake(`Sec-WebSocket-Extensions: ${filled(60_000, "permessage-deflate;a=1, ")}a\r\n`),
  );
  add("api", "upgrade, wrong key", handshake().replace("AAAA==", filled(60_000, "A")));
  add(
    "api",
    "upgrade elsewhere",
    get("/v2/profiles", `Upgrade: ${filled(60_000, "a,")}websocket\r\nConnection: Upgrade\r\n`),
  );
  add("api", "feed: nothing", handshake(), { frames: CLOSE });
  add("api", "feed: 1,000 pings", handshake(), {
    frames: Buffer.concat([...Array(1_000).fill(frame(0x89, "p")), CLOSE]),
  });
  add("api", "feed: 1,000 fragments", handshake(), {
    frames: Buffer.concat([frame(0x01, "a"), ...Array(1_000).fill(frame(0x00, "b")), CLOSE]),
  });
  add("api", "feed: empty fragments", handshake(), {
    frames: Buffer.concat([frame(0x01), ...Array(10_000).fill(frame(0x00)), CLOSE]),
  });
  authInputs(add, kid);
  return inputs;
}

function authInputs(add, kid) {
  const path = "/oauth2/token";
  const grant = `grant_type=client_credentials&client_id=a&client_secret=${GENERATED}`;
  const inForm = "Content-Type: application/x-www-form-urlencoded\r\n";
  for (const [name, query] of Object.entries(queries(AUTH_HEAD))) {
    add("auth", `query: ${name}`, post(path + query, grant, inForm));
    add("auth", `query of an unknown path: ${name}`, get(`/nowhere${query}`));
    add("auth", `query of keys: ${name}`, get(`/.well-known/jwks.json${query}`));
    add("auth", `query, 405: ${name}`, get(path + query));
  }
  for (const [name, long] of Object.entries(paths(AUTH_HEAD))) add("auth", name, get(long));
  for (const [name, lines] of Object.entries(headers(AUTH_HEAD - 500, kid))) {
    if (/content-type/i.test(lines.slice(0, 14))) {
      add("auth", `${name}, a form`, post(path, grant, lines));
      add("auth", `${name}, empty`, post(path, "", lines));
      add("auth", `${name}, elsewhere`, post("/nowhere", "", lines));
    } else add("auth", name, post(path, grant, inForm + lines));
  }
  const parts = filled(1_900, (i) => `--x\r\ncontent-disposition: form-data; name="a${i}"\r\n\r\n1\r\n`);
  add(
    "auth",
    "form: multipart, 1,900 bytes of parts",
    post(path, parts, "Content-Type: multipart/form-data; boundary=x\r\n"),
  );
  for (const length of [189, 2_048]) {
    const emptyParts = post(
      path,
      filled(length, "--x\r\n\r\n\r\n"),
      "Content-Type: multipart/form-data; boundary=x\r\n",
    );
    add("auth", `form: multipart, ${length} bytes of empty parts`, emptyParts);
  }
  for (const [name, [body, type]] of Object.entries(forms())) add("auth", `form: ${name}`, post(path, body, type));
}
