import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { ask, DEFAULT_PROFILE, GRANT, problem, startToyApi, type ToyApi } from "../../../test/support/http/toy-api.ts";
import { DECIMAL_PATTERN } from "../../money/amount.ts";

let toy: ToyApi;
beforeAll(async () => {
  toy = await startToyApi();
});
afterAll(() => toy.close());

const ID = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00";
const TOY = { to_profile_id: ID, amount: "1", asset: "USD" };
const NOT_A_UUID = "is not a UUID: 36 characters, like 0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00";
const NOT_A_DECIMAL = 'is not a decimal number: up to 60 characters, digits with at most one point, like "10.5"';

const make = (json: unknown, profile = "default") => ask(toy, `/v2/toys/${profile}`, { method: "POST", json });

/** The detail about a body that is right but for these fields, or "accepted". */
async function detailOf(fields: object): Promise<string> {
  const { status, body } = await make({ ...TOY, ...fields });
  return status === 200 ? "accepted" : (body as { detail: string }).detail;
}

async function queryDetailOf(query: string): Promise<string> {
  const { status, body } = await ask(toy, `/v2/toys?${query}`);
  return status === 200 ? "accepted" : (body as { detail: string }).detail;
}

test("every failing field is reported once, path first, then body, in the order of the schema", async () => {
  const body = { ref_idd: "x", metadata: { a: 1 }, side: "HOLD", amount: "1e3", to_profile_id: null };
  expect(await make(body, "mine")).toEqual(
    problem(400, "Bad Request", `profile_id "mine" ${NOT_A_UUID}, and not "default"`, {
      meta: {
        errors: [
          { field: "profile_id", value: "mine", rule: `${NOT_A_UUID}, and not "default"` },
          { field: "to_profile_id", value: null, rule: "is not a string" },
          { field: "amount", value: "1e3", rule: NOT_A_DECIMAL },
          { field: "asset", rule: "is required" },
          { field: "metadata.a", value: 1, rule: "is not a string" },
          { field: "side", value: "HOLD", rule: "is not one of BUY, SELL" },
          { field: "ref_idd", rule: "is not a field of this request: did you mean ref_id?" },
        ],
      },
    }),
  );
});

test("a body in which a name occurs twice is 400, wherever it is and however it is written", async () => {
  const rule = "has a field twice";
  const twice = problem(400, "Bad Request", `the body ${rule}`, { meta: { errors: [{ field: "the body", rule }] } });
  const good = JSON.stringify(TOY).slice(1, -1);
  expect(await make(`{${good},"amount":"2"}`)).toEqual(twice);
  expect(await make(`{"\\u0061mount" : "2",${good}}`)).toEqual(twice);
  expect(await make(`{${good},"metadata":{"a":"1","a":"1"}}`)).toEqual(twice);
  expect(await make(`{${good},"__proto__":{},"__proto__":{}}`)).toEqual(twice);
  // Colons, quotes and braces within texts make no names, and lists have none.
  const metadata = { a: '"amount":"1"', '"b":': ":", "\\": "\\", c: "{}" };
  expect((await make({ ...TOY, metadata })).status).toBe(200);
  expect(await detailOf({ ids: [{ a: [] }, "a:", { a: null }] })).toContain("ids is not a field of this request");
});

test("a body that is missing, not JSON, not UTF-8 or not an object is 400", async () => {
  const about = (rule: string) =>
    problem(400, "Bad Request", `the body ${rule}`, { meta: { errors: [{ field: "the body", rule }] } });
  expect(await ask(toy, "/v2/toys/default", { method: "POST" })).toEqual(about("is missing: send a JSON object"));
  expect(await make("")).toEqual(about("is missing: send a JSON object"));
  expect(await make('{"secret":"hunter2",}')).toEqual(about("is not JSON"));
  for (const json of ["[]", "null", '"text"', "1"]) expect(await make(json)).toEqual(about("is not a JSON object"));
  const notUtf8 = await fetch(`${toy.url}/v2/toys/default`, {
    method: "POST",
    body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]),
    headers: { authorization: "Bearer good", "content-type": "application/json", "x-request-id": "r-1" },
  });
  expect(await notUtf8.json()).toEqual(about("is not UTF-8 text").body);
});

test("an amount is a decimal above zero and below 10^18 of at most 60 characters", async () => {
  expect(await detailOf({ amount: "0.5" })).toBe("accepted");
  expect(await detailOf({ amount: ".5" })).toBe("accepted");
  expect(await detailOf({ amount: "999999999999999999.999999999999999999" })).toBe("accepted");
  expect(await detailOf({ amount: "0".repeat(59) + 1 })).toBe("accepted");
  // How many decimals there may be is the asset's to say.
  expect(await detailOf({ amount: `0.${"0".repeat(18)}1` })).toBe("accepted");
  expect(await detailOf({ amount: "0" })).toBe('amount "0" is not above zero');
  expect(await detailOf({ amount: "0.000" })).toBe('amount "0.000" is not above zero');
  expect(await detailOf({ amount: "1000000000000000000" })).toBe('amount "1000000000000000000" is not below 10^18');
  const both = `1000000000000000000.${"0".repeat(18)}1`;
  expect(await detailOf({ amount: both })).toBe(`amount "${both}" is not below 10^18`);
  for (const amount of ["", "1.", "-1", "+1", "1,5", " 1", "1\n", "Infinity", "0x1", "1.2.3", "0".repeat(60) + 1]) {
    expect(await detailOf({ amount })).toBe(`amount ${JSON.stringify(amount)} ${NOT_A_DECIMAL}`);
  }
  expect(await detailOf({ amount: 1 })).toBe("amount 1 is not a string");
});

test("a UUID is taken in the canonical layout and either case", async () => {
  expect(await detailOf({ to_profile_id: ID.toUpperCase() })).toBe("accepted");
  for (const id of ["default", `urn:uuid:${ID}`, `{${ID}}`, ID.replaceAll("-", ""), `${ID}\n`]) {
    expect(await detailOf({ to_profile_id: id })).toBe(`to_profile_id ${JSON.stringify(id)} ${NOT_A_UUID}`);
  }
});

test("null in an optional field counts as absent", async () => {
  const made = await make({ ...TOY, ref_id: null, metadata: null, side: null });
  expect(made.body).toEqual({ params: { profile_id: DEFAULT_PROFILE }, body: TOY });
  expect(await detailOf({ metadata: { a: null } })).toBe("metadata.a null is not a string");
  expect(await detailOf({ unknown: null })).toBe("unknown is not a field of this request");
});

test("texts and metadata are bounded in Unicode code points", async () => {
  expect(await detailOf({ ref_id: "💶".repeat(100) })).toBe("accepted");
  expect(await detailOf({ ref_id: "" })).toBe('ref_id "" is empty');
  expect(await detailOf({ ref_id: "💶".repeat(101) })).toBe(
    `ref_id "${"💶".repeat(100)}..." has more than 100 characters`,
  );
  expect(await detailOf({ metadata: {} })).toBe("accepted");
  expect(await detailOf({ metadata: { ["💶".repeat(100)]: "💶".repeat(100), empty: "" } })).toBe("accepted");
  const seven = Object.fromEntries([..."abcdefg"].map((key) => [key, key]));
  expect(await detailOf({ metadata: seven })).toBe(
    `metadata ${JSON.stringify(JSON.stringify(seven))} has more than 6 pairs`,
  );
  expect(await detailOf({ metadata: { "": "a" } })).toBe(
    'metadata "{\\"\\":\\"a\\"}" has a name that is not allowed: ""',
  );
  expect(await detailOf({ metadata: { a: "x".repeat(101) } })).toMatch(/^metadata\.a "x{100}\.\.\." has more than 100/);
  expect(await detailOf({ metadata: ["a"] })).toBe('metadata "[\\"a\\"]" is not an object');
});

test("names that JavaScript gives a meaning are names like others in metadata, with the rules of others", async () => {
  const good = JSON.stringify(TOY).slice(1, -1);
  const metadata = '{"__proto__":"a","constructor":"b","toString":"c","b":"d"}';
  const { status, body } = await make(`{${good},"metadata":${metadata}}`);
  expect([status, JSON.stringify((body as { body: { metadata: object } }).body.metadata)]).toEqual([200, metadata]);
  const wrong = (value: string) => make(`{${good},"metadata":{"__proto__":${value}}}`);
  for (const [value, rule] of [
    ["1", "1 is not a string"],
    ['{"amount":"2"}', '"{\\"amount\\":\\"2\\"}" is not a string'],
    [`"${"x".repeat(101)}"`, `"${"x".repeat(100)}..." has more than 100 characters`],
    ['"\\u0000"', "contains the character NUL"],
  ] as const) {
    expect(((await wrong(value)).body as { detail: string }).detail).toBe(`metadata.__proto__ ${rule}`);
  }
  expect(({} as Record<string, unknown>).amount).toBe(undefined);
});

test("names with a meaning in JavaScript and invalid text are rejected everywhere", async () => {
  expect(await detailOf({ ref_id: "a\0" })).toBe("ref_id contains the character NUL");
  expect(await detailOf({ metadata: { a: "\ud83d" } })).toBe(
    "metadata.a contains an unpaired surrogate, which is not valid Unicode",
  );
  expect(await detailOf({ metadata: { "a\0": "" } })).toBe("metadata.a\0 is not a name that a field can have");
  const proto = (await make(`{${JSON.stringify(TOY).slice(1, -1)},"__proto__":{"amount":"1"}}`)).body as {
    detail: string;
  };
  expect(proto.detail).toBe("__proto__ is not a field of this request");
  const deep = (await make(`{"asset":${"[".repeat(300)}${"]".repeat(300)}}`)).body as { detail: string };
  expect(deep.detail).toBe("asset[0][0][0][0][0][0][0] is nested more than 8 levels deep");
  expect(await ask(toy, "/v2/toys?nickname=a%00b")).toEqual(
    problem(400, "Bad Request", "nickname contains the character NUL", {
      meta: { errors: [{ field: "nickname", rule: "contains the character NUL" }] },
    }),
  );
});

test("a long text never reaches a pattern, where it would take quadratic time", async () => {
  // Of CPU: others may keep the machine busy.
  const before = process.cpuUsage();
  expect(await detailOf({ amount: `${"1".repeat(60_000)}x` })).toBe("amount has more than 1024 characters");
  expect(process.cpuUsage(before).user).toBeLessThan(500_000);
});

test("an overlong amount never reaches the pattern of the contract, nor does any amount: x-check is the rule", async () => {
  const tried = vi.spyOn(RegExp.prototype, "test");
  const rejected: [string, string][] = [];
  for (const length of [60, 61, 1_024]) {
    const amount = `${"1".repeat(length - 1)}x`;
    rejected.push([amount, await detailOf({ amount })]);
  }
  const patterns = tried.mock.contexts.filter((_, at) =>
    rejected.some(([amount]) => amount === tried.mock.calls[at]?.[0]),
  );
  tried.mockRestore();
  expect(patterns.map((pattern) => (pattern as unknown as RegExp).source)).not.toContain(DECIMAL_PATTERN);
  const shown = (amount: string) => (amount.length > 100 ? `${amount.slice(0, 100)}...` : amount);
  expect(rejected.map(([, detail]) => detail)).toEqual(
    rejected.map(([amount]) => `amount "${shown(amount)}" ${NOT_A_DECIMAL}`),
  );
});

test("a field for a secret is named, its value is not", async () => {
  const answer = await make({ ...TOY, code: "hunter2" });
  const errors = [{ field: "code", rule: "has more than 4 characters" }];
  expect(answer).toEqual(problem(400, "Bad Request", "code has more than 4 characters", { meta: { errors } }));
});

const TAKEN = "It takes ids, nickname, created_at.gte, open, order, limit, page_cursor.";

test("an unknown query parameter is 400, without its value, with the nearest name and all that there are", async () => {
  const unknown = [
    { field: "colour", rule: `is not a parameter of this operation. ${TAKEN}` },
    { field: "created_at[gte]", rule: `is not a parameter of this operation: did you mean created_at.gte? ${TAKEN}` },
  ];
  const ids = { field: "ids[0]", value: "x", rule: NOT_A_UUID };
  expect(await ask(toy, "/v2/toys?colour=hunter2&ids=x&colour=blue&created_at[gte]=y")).toEqual(
    problem(400, "Bad Request", `colour ${unknown[0]?.rule}`, { meta: { errors: [...unknown, ids] } }),
  );
});

test("a route without parameters takes none, with a body too, and both failures are reported", async () => {
  const rule = "is not a parameter of this operation. It takes none.";
  const body = { field: "the body", rule: "is missing: send a JSON object" };
  expect(await ask(toy, "/v2/toys/default?ref_id=1", { method: "POST" })).toEqual(
    problem(400, "Bad Request", `ref_id ${rule}`, { meta: { errors: [{ field: "ref_id", rule }, body] } }),
  );
});

test("of many unknown parameters the first ten are reported, and overlong names cost no more than their length", async () => {
  const many = Array.from({ length: 1_500 }, (_, index) => `nickname${index}${"x".repeat(25)}=`).join("&");
  // Of CPU: others may keep the machine busy.
  const before = process.cpuUsage();
  const { body } = await ask(toy, `/v2/toys?${many}`);
  expect((body as { meta: { errors: unknown[] } }).meta.errors).toHaveLength(10);
  expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
});

test("repeatable query parameters become lists, defaults are filled in", async () => {
  const { body } = await ask(toy, `/v2/toys?ids=${ID}&open=true&page_cursor=`);
  expect(body).toMatchObject({ query: { ids: [ID], open: true, order: "DESC", limit: 100, page_cursor: "" } });
  expect(await queryDetailOf(`ids=${ID}&ids=${ID}`)).toBe("accepted");
  expect(await queryDetailOf(Array.from({ length: 100 }, () => `ids=${ID}`).join("&"))).toBe("accepted");
  expect(await queryDetailOf(Array.from({ length: 101 }, () => `ids=${ID}`).join("&"))).toMatch(
    /has more than 100 entries$/,
  );
  expect(await queryDetailOf(`ids=${ID}&ids=x`)).toBe(`ids[1] "x" ${NOT_A_UUID}`);
});

test("a parameter is read the same with [] at the end of its name, and given both ways it is given twice", async () => {
  const other = ID.replace("0190", "0191");
  for (const query of [
    `ids[]=${ID}&ids[]=${other}`,
    `ids%5B%5D=${ID}&ids%5B%5D=${other}`,
    `ids=${ID}&ids[]=${other}`,
  ]) {
    const { body } = await ask(toy, `/v2/toys?${query}&limit[]=7`);
    expect(body).toEqual({ query: { ids: [ID, other], order: "DESC", limit: 7 }, customer: GRANT.customerId });
  }
  expect(await queryDetailOf(`ids[]=${ID}&ids[]=x`)).toBe(`ids[1] "x" ${NOT_A_UUID}`);
  expect(await queryDetailOf("nickname[]=a&nickname[]=b")).toBe("nickname is given more than once");
  expect(await queryDetailOf("nickname=a&nickname[]=a")).toBe("nickname is given more than once");
  expect(await queryDetailOf("nickname[]=")).toBe("nickname is empty");
  expect(await queryDetailOf("nickname[0]=")).toContain("did you mean nickname?");
});

test("a single-valued parameter given twice, empty or out of its range is 400", async () => {
  expect(await queryDetailOf("nickname=a&nickname=a")).toBe("nickname is given more than once");
  expect(await queryDetailOf("page_cursor=a&page_cursor=b")).toBe("page_cursor is given more than once");
  expect(await queryDetailOf("nickname=")).toBe("nickname is empty");
  expect(await queryDetailOf("limit=")).toBe("limit is empty");
  expect(await queryDetailOf("ids=")).toBe("ids is empty");
  expect(await queryDetailOf("limit=0")).toBe("limit 0 is below 1");
  expect(await queryDetailOf("limit=1000")).toBe("accepted");
  expect(await queryDetailOf("limit=1001")).toBe("limit 1001 is above 1000");
  for (const limit of ["1.5", "1e2", "ten", "0x10", "9".repeat(20)]) {
    expect(await queryDetailOf(`limit=${limit}`)).toBe(`limit "${limit}" is not a whole number`);
  }
  expect(await queryDetailOf("order=asc")).toBe('order "asc" is not one of ASC, DESC');
  expect(await queryDetailOf("open=yes")).toBe('open "yes" is not true or false');
});

test("a time is RFC 3339 with up to nine decimals", async () => {
  expect(await queryDetailOf("created_at.gte=2026-11-21T09:30:00.123456789%2B01:00")).toBe("accepted");
  for (const time of ["2026-02-30T00:00:00Z", "2026-11-21", "1700000000", "2026-11-21T09:30:00"]) {
    expect(await queryDetailOf(`created_at.gte=${time}`)).toBe(
      `created_at.gte "${time}" is not an RFC 3339 date-time with at most 9 decimals of a second, like "2026-11-21T09:30:00.000Z"`,
    );
  }
});

test("failures of reading and of shape are reported together, each field once", async () => {
  const empty = { errors: [{ field: "limit", rule: "is empty" }] };
  expect(await ask(toy, "/v2/toys?limit=")).toEqual(problem(400, "Bad Request", "limit is empty", { meta: empty }));
  expect((await ask(toy, "/v2/toys?nickname=&limit=0")).body).toMatchObject({
    meta: {
      errors: [
        { field: "nickname", rule: "is empty" },
        { field: "limit", value: 0, rule: "is below 1" },
      ],
    },
  });
});

test("a request of nothing but wrong values gets a short rejection, however many there are", async () => {
  const rule = "has more than 500 values";
  const tooMany = problem(400, "Bad Request", `the body ${rule}`, { meta: { errors: [{ field: "the body", rule }] } });
  const fields = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, index]));
  expect(await make(fields(5_000))).toEqual(tooMany);
  expect(await make({ ...TOY, metadata: fields(500) })).toEqual(tooMany);
  expect(await make(`{"asset":${"[".repeat(30_000)}${"]".repeat(30_000)}}`)).toEqual(tooMany);
  expect(await make(`[${"{},".repeat(500)}{}]`)).toEqual(tooMany);
  // Within a string nothing counts.
  const text = "[{,".repeat(300);
  expect(await detailOf({ ref_id: `\\"${text}\\` })).not.toContain(rule);
  expect(await make(`{"a":"\\"","b":[${"1,".repeat(500)}1]}`)).toEqual(tooMany);
  // The object is a value too.
  const most = await make(fields(499));
  expect(most.body).toMatchObject({ meta: { errors: { length: 502 } } });
  expect(JSON.stringify(most.body).length).toBeLessThan(65_536);
  expect(await make(fields(500))).toEqual(tooMany);
  const query = async (parameters: number) => (await ask(toy, `/v2/toys?${"&ids=x".repeat(parameters).slice(1)}`)).body;
  const failing = (field: string, words: string) =>
    problem(400, "Bad Request", `${field} ${words}`, { meta: { errors: [{ field, rule: words }] } }).body;
  expect(await query(1_500)).toEqual(failing("ids", "has more than 100 entries"));
  for (const parameters of [1_501, 10_000])
    expect(await query(parameters)).toEqual(failing("the query", "has more than 1500 parameters"));
});

test("of metadata with hundreds of wrong pairs one more than allowed is checked, and it is written out once", async () => {
  const pairs = (value: unknown) =>
    Object.fromEntries(Array.from({ length: 490 }, (_, i) => [`${i}${"k".repeat(100)}`, value]));
  const written = vi.spyOn(JSON, "stringify");
  const { body } = await make({ ...TOY, metadata: pairs("x") });
  const values = written.mock.results.filter(({ value }) => String(value).startsWith(`{"0${"k".repeat(100)}`));
  written.mockRestore();
  expect(body).toMatchObject({ meta: { errors: [{ field: "metadata" }] } });
  expect(values).toHaveLength(1);
  const wrong = (await make({ ...TOY, metadata: pairs(1) })).body as { meta: { errors: unknown[] } };
  expect(wrong.meta.errors).toHaveLength(8);
  expect(
    (
      await make({
        ...TOY,
        metadata: Object.fromEntries(
          Object.entries(pairs("x"))
            .slice(0, 7)
            .map(([, x], i) => [i, x]),
        ),
      })
    ).body,
  ).toMatchObject({
    meta: { errors: [{ field: "metadata", rule: "has more than 6 pairs" }] },
  });
});
