/** Input that nobody should send: always a 4xx that names the field, never an effect. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectBooksBalance } from "../support/books.ts";
import { expectProblem } from "../support/problems.ts";
import { type Answer, startTestService, type TestCustomer, type TestService } from "../support/service.ts";

let service: TestService;
let acme: TestCustomer;
let profile: string;
let second: string;
let before: unknown;
beforeAll(async () => {
  service = await startTestService();
  acme = await service.customer();
  [profile, second] = [await service.profile(acme, { USD: "1000000" }), await service.profile(acme)];
  before = await effects();
});
afterAll(async () => {
  expect(await effects()).toEqual(before);
  await expectBooksBalance(service.db.owner);
  await service.close();
});

/** Whatever a request could have changed. */
async function effects(): Promise<unknown> {
  const counted = ["transfer", "conversion", "profile", "posting", "claim", "account"].map(
    (table) => `(select count(*) from ${table}) as ${table}`,
  );
  const rows = await service.db.owner.rows(
    `select ${counted.join(", ")}, (select string_agg(p::text, ',' order by id) from profile p) as profiles`,
  );
  return rows[0];
}

const call = (method: string, path: string, body?: unknown, headers = {}): Promise<Answer> =>
  service.call(method, path, { as: acme.token, body, headers });

type Values = readonly (readonly [string, unknown])[];
/** A value that is not sent at all. */
const MISSING = undefined;

const NOT_STRINGS: Values = [
  ["a number", 1],
  ["true", true],
  ["an object", {}],
  ["a list", ["1"]],
];
const NUL: Values = [
  ["NUL", "a\0b"],
  ["half a surrogate pair", "a\ud800"],
  ["2,000 characters", "a".repeat(2_000)],
];
const NEVER_ABSENT: Values = [
  ["missing", MISSING],
  ["null", null],
];

const BAD_UUID: Values = [
  ...NOT_STRINGS,
  ...NUL,
  ["empty", ""],
  ["no UUID", "treasury"],
  ["default, which is for paths", "default"],
  ["a UUID without hyphens", "0190d5a47e1b7c3d8a2f5b6c7d8e9f00"],
  ["a UUID in braces", "{0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00}"],
  ["a UUID and more", "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f000"],
  ["a UUID and a line", "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00\n"],
  ["a UUID with Arabic digits", "٠190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00"],
];
const BAD_AMOUNT: Values = [
  ...NEVER_ABSENT,
  ...NOT_STRINGS,
  ...NUL,
  ["empty", ""],
  ["a blank before", " 1"],
  ["a blank behind", "1 "],
  ["a line behind", "1\n"],
  ["an exponent", "1e3"],
  ["a minus", "-1"],
  ["a plus", "+1"],
  ["no digit behind the point", "5."],
  ["a point alone", "."],
  ["two points", "1.2.3"],
  ["a comma", "1,5"],
  ["hexadecimal", "0x10"],
  ["Infinity", "Infinity"],
  ["Arabic digits", "١"],
  ["full-width digits", "１"],
  ["zero", "0"],
  ["zero with decimals", "00.000"],
  ["10^18", "1000000000000000000"],
  ["10^18 with too many decimals", `1000000000000000000.${"1".repeat(30)}`],
  ["61 digits", `${"0".repeat(60)}1`],
];
const BAD_CODE: Values = [
  ...NEVER_ABSENT,
  ...NOT_STRINGS,
  ...NUL,
  ["empty", ""],
  ["101 characters", "A".repeat(101)],
  ["in small letters", "usd"],
  ["unknown", "XXX"],
  ["in letters that look alike", "UЅD"],
];
const BAD_TEXT: Values = [...NOT_STRINGS, ...NUL, ["empty", ""], ["101 characters", "a".repeat(101)]];
const seven = Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`key${index}`, ""]));
const BAD_METADATA: Values = [
  ["a text", "x"],
  ["a number", 1],
  ["a list", []],
  ["a list of texts", ["x"]],
  ["7 pairs", seven],
  ["a key of 101 characters", { ["k".repeat(101)]: "" }],
  ["an empty key", { "": "x" }],
  ["a value of 101 characters", { k: "v".repeat(101) }],
  ["a number inside", { k: 1 }],
  ["null inside", { k: null }],
  ["an object inside", { k: { l: "m" } }],
  ["NUL in a value", { k: "\0" }],
  ["NUL in a key", { "\0": "k" }],
  ["half a surrogate pair in a key", { "\udc00": "k" }],
];

const TOO_PRECISE: Values = [
  ["one digit too precise", "1.001"],
  ["far too precise", "0.0000000000000000000000001"],
];

interface Operation {
  readonly method: string;
  readonly path: () => string;
  /** A body that would be accepted. */
  readonly good: () => Record<string, unknown>;
  readonly bad: Readonly<Record<string, Values>>;
}

const move = (kind: string): Operation => ({
  method: "POST",
  path: () => `/v2/transfer/${kind}`,
  good: () => ({ from_profile_id: profile, to_profile_id: second, amount: "1", asset: "USD" }),
  bad: {
    from_profile_id: [...NEVER_ABSENT, ...BAD_UUID],
    to_profile_id: [...NEVER_ABSENT, ...BAD_UUID],
    amount: [...BAD_AMOUNT, ...TOO_PRECISE],
    asset: BAD_CODE,
    ref_id: BAD_TEXT,
    metadata: BAD_METADATA,
    recipient_metadata: BAD_METADATA,
    from_identity_id: BAD_TEXT,
    from_account_id: BAD_TEXT,
    to_identity_id: BAD_TEXT,
    to_account_id: BAD_TEXT,
  },
});

const OPERATIONS: Readonly<Record<string, Operation>> = {
  "a platform transfer": move("platform"),
  "an internal transfer": move("internal"),
  "a conversion": {
    method: "POST",
    path: () => "/v2/conversion/stablecoins",
    good: () => ({ profile_id: profile, amount: "1", source_asset: "USD", target_asset: "USDG" }),
    bad: {
      profile_id: [...NEVER_ABSENT, ...BAD_UUID],
      recipient_profile_id: BAD_UUID,
      amount: [...BAD_AMOUNT, ...TOO_PRECISE],
      source_asset: BAD_CODE,
      target_asset: BAD_CODE,
      ref_id: BAD_TEXT,
      identity_id: BAD_TEXT,
      account_id: BAD_TEXT,
      metadata: BAD_METADATA,
    },
  },
  "a deposit": {
    method: "POST",
    path: () => `/v2/sandbox/profiles/${profile}/deposit`,
    good: () => ({ amount: "1", asset: "USDG" }),
    bad: {
      amount: [...BAD_AMOUNT, ["one digit too precise", "0.000000001"]],
      asset: BAD_CODE,
      crypto_network: [...NOT_STRINGS, ["empty", ""], ["unknown", "DOGECOIN"], ["in small letters", "ethereum"]],
      crypto_address: BAD_TEXT,
    },
  },
  "a new profile": {
    method: "POST",
    path: () => "/v2/profiles",
    good: () => ({ nickname: "never made" }),
    bad: {
      nickname: [...NEVER_ABSENT, ...BAD_TEXT],
      description: [...NOT_STRINGS, ...NUL, ["501 characters", "a".repeat(501)]],
    },
  },
  "a change of a profile": {
    method: "PUT",
    path: () => `/v2/profiles/${profile}`,
    good: () => ({ nickname: "never named" }),
    bad: { nickname: BAD_TEXT, description: [...NOT_STRINGS, ...NUL, ["501 characters", "a".repeat(501)]] },
  },
};

describe.each(Object.entries(OPERATIONS))("%s", (_name, { method, path, good, bad }) => {
  test.each(Object.keys(bad))("is refused for a bad %s, which is named", async (field) => {
    for (const [what, value] of bad[field] ?? []) {
      const answer = await call(method, path(), { ...good(), [field]: value });
      const { status, detail } = answer.body ?? {};
      expect([what, answer.status, status]).toEqual([what, 400, 400]);
      expect([what, detail]).toEqual([what, expect.stringContaining(field)]);
      expect(answer.headers.get("content-type")).toBe("application/problem+json");
    }
  });

  test.each(["amounts", "profileId", "AMOUNT", "id", "constructor"])(
    "is refused for the field %s, which it does not have",
    async (field) => {
      const answer = await call(method, path(), { ...good(), [field]: "x" });
      const rule = "is not a field of this request";
      const expected = { status: 400, detail: `${field} ${rule}`, meta: { errors: [{ field, rule }] } };
      expectProblem(answer, expected);
    },
  );

  test("is refused for __proto__, which JSON can say", async () => {
    const text = JSON.stringify({ ...good(), nothing: 1 }).replace('"nothing":1', '"__proto__":{"amount":"1"}');
    expect((await call(method, path(), text)).status).toBe(400);
  });

  test.each([
    ["nothing", "", 400],
    ["no JSON", "{", 400],
    ["a text after the JSON", "{} x", 400],
    ["a list", "[]", 400],
    ["null", "null", 400],
    ["a number", "1", 400],
    ["a text", '"x"', 400],
    ["JSON a thousand levels deep", `{"metadata":${"[".repeat(1_000)}${"]".repeat(1_000)}}`, 400],
    ["more than 64 KiB", `{"ref_id":"${"x".repeat(65_536)}"}`, 413],
  ])("is refused with %s for a body", async (_what, text, status) => {
    const answer = await call(method, path(), text, { "content-type": "application/json" });
    expect([answer.status, answer.body.status]).toEqual([status, status]);
  });

  test.each(["text/plain", "application/x-www-form-urlencoded", "application/xml", "multipart/form-data; boundary=x"])(
    "is refused as %s",
    async (type) => {
      const answer = await call(method, path(), JSON.stringify(good()), { "content-type": type });
      expectProblem(answer, { status: 415, detail: `the content type is "${type}": send application/json` });
    },
  );
});

const PAGE: Values = [
  ["limit", "0"],
  ["limit", "1001"],
  ["limit", "-1"],
  ["limit", "1.5"],
  ["limit", "ten"],
  ["limit", "99999999999999999999"],
  ["page_cursor", "garbage"],
  ["page_cursor", "WzEsImEiLFsiYiJdXQ"],
  ["page_cursor", "a".repeat(2_000)],
  ["order", "asc"],
  ["order", "SIDEWAYS"],
];
const TIMES: Values = ["yesterday", "2026-11-21", "2026-02-30T00:00:00Z", "2026-11-21T09:30:00.0000000001Z", "1"].map(
  (text) => ["created_at.lt", text] as const,
);

const LISTS: Readonly<Record<string, Values>> = {
  "/v2/transfer/transfers": [
    ...PAGE,
    ...TIMES,
    ...["ids", "profile_ids", "group_ids"].map((name) => [name, "no-uuid"] as const),
    ["ref_ids", "a".repeat(101)],
    ["account_ids", "%00"],
    ["identity_ids", "a".repeat(101)],
    ["type", "PLATFORM"],
    ["statuses", "completed"],
    ["order_by", "AMOUNT"],
    ["updated_at.eq", "now"],
  ],
  "/v2/conversion/stablecoins": [
    ...PAGE,
    ["profile_id", "default"],
    ["ref_id", "a".repeat(101)],
    ["status", "OPEN"],
    ["created_at.begin", "now"],
    ["updated_at.end", "2026-13-01T00:00:00Z"],
  ],
  "/v2/profiles": [...PAGE, ...TIMES, ["ids", "default"], ["nickname", "a".repeat(101)]],
  "/v2/profiles/default/balances": [
    ["at", "now"],
    ["assets", "usd"],
    ["assets", "a".repeat(101)],
  ],
};

describe.each(Object.entries(LISTS))("GET %s", (path, bad) => {
  test("rejects every bad parameter by name", async () => {
    for (const [name, value] of bad) {
      const answer = await call("GET", `${path}?${name}=${value}`);
      expect([name, value, answer.status]).toEqual([name, value, 400]);
      expect(answer.body.detail).toContain(name);
    }
  });

  test("rejects empty values, more than a hundred values, and a repeated single-valued parameter", async () => {
    const repeatable = /^(ids|profile_ids|group_ids|ref_ids|account_ids|identity_ids|type|statuses|assets)$/;
    const fine = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00";
    for (const name of new Set(bad.map(([parameter]) => parameter))) {
      const twice = `${name}=${fine}&${name}=${fine}`;
      const queries = name === "page_cursor" ? [twice] : [`${name}=`, repeatable.test(name) ? "" : twice];
      if (repeatable.test(name)) queries.push(Array.from({ length: 101 }, () => `${name}=${fine}`).join("&"));
      for (const query of queries.filter((text) => text !== "")) {
        const answer = await call("GET", `${path}?${query}`);
        expect([query.slice(0, 100), answer.status]).toEqual([query.slice(0, 100), 400]);
        expect(answer.body.detail).toContain(name);
      }
    }
  });
});

test.each([
  ["GET", "/v2/profiles/ID"],
  ["PUT", "/v2/profiles/ID/deactivate"],
  ["GET", "/v2/profiles/ID/balances"],
  ["GET", "/v2/profiles/ID/balances/USD"],
  ["GET", "/v2/transfer/transfers/ID"],
  ["GET", "/v2/conversion/stablecoins/ID"],
  ["DELETE", "/v2/conversion/stablecoins/ID"],
])("%s %s refuses what is no id", async (method, path) => {
  for (const id of ["treasury", "DEFAULT", "0190d5a47e1b7c3d8a2f5b6c7d8e9f00", "%00", "%F0%9F%98%80", "'or'1'='1"]) {
    const answer = await call(method, path.replace("ID", id));
    expect([id, answer.status, answer.body.status]).toEqual([id, 400, 400]);
  }
});
