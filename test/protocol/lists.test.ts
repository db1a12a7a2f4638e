/** Lists of profiles, transfers and conversions: their filters, and paging while the list grows. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { formatInstant, type Instant } from "../../src/std/clock.ts";
import { expectBooksBalance } from "../support/books.ts";
import { expectProblem, expectSuccess, failingField } from "../support/problems.ts";
import { type Answer, startTestService, type TestCustomer, type TestService } from "../support/service.ts";

const UNKNOWN = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00";

let service: TestService;
let acme: TestCustomer;
let other: TestCustomer;
beforeAll(async () => {
  service = await startTestService({ settlementDelayMs: 3_600_000 });
  acme = await service.customer("Acme");
  other = await service.customer("Other");
});
afterAll(async () => {
  await expectBooksBalance(service.db.owner);
  await service.close();
});

const get = (path: string, as = acme.token): Promise<Answer> => service.call("GET", path, { as });
const post = (path: string, body: object, as = acme.token): Promise<Answer> => service.call("POST", path, { as, body });

// biome-ignore lint/suspicious/noExplicitAny: a record of any kind
type Item = any;

async function itemsOf(path: string, as = acme.token): Promise<Item[]> {
  const answer = await get(path, as);
  expectSuccess(answer);
  expect(Object.keys(answer.body)).toEqual(["items", "next_page_cursor"]);
  return answer.body.items;
}

const idsOf = async (path: string): Promise<string[]> => (await itemsOf(path)).map(({ id }) => id);

/** A time moved by some nanoseconds, in text. */
const shifted = (time: string, milliseconds: number, finer = ""): string =>
  formatInstant((Date.parse(time) + milliseconds) as Instant).replace("Z", `${finer}Z`);

describe("transfers", () => {
  let from: string;
  let to: string;
  let deposit: Item;
  let internal: Item;
  let platform: Item;
  const LIST = "/v2/transfer/transfers";
  beforeAll(async () => {
    [from, to] = [await service.profile(acme, { USD: "100" }), await service.profile(acme)];
    const body = { from_profile_id: from, to_profile_id: to, amount: "1", asset: "USD" };
    [deposit] = await itemsOf(`${LIST}?profile_ids=${from}`);
    const identity = { from_identity_id: "i-1", from_account_id: "a-1", to_identity_id: "i-2" };
    internal = (await post("/v2/transfer/internal", { ...body, ...identity, ref_id: "list-1" })).body;
    platform = (await post("/v2/transfer/platform", { ...body, to_profile_id: other.defaultProfile })).body;
  });
  const credit = async (): Promise<string> => (await idsOf(`${LIST}?profile_ids=${to}`))[0] as string;

  test("are listed newest first, and only the caller's", async () => {
    expect(await idsOf(`${LIST}?profile_ids=${from}&profile_ids=${to}`)).toEqual([
      platform.id,
      await credit(),
      internal.id,
      deposit.id,
    ]);
    expect(await itemsOf(`${LIST}?ids=${platform.id}`)).toEqual([platform]);
    const theirs = await itemsOf(LIST, other.token);
    expect(theirs.map(({ group_id: group }) => group)).toEqual([platform.id]);
  });

  test("are filtered by each of their filters", async () => {
    const second = await credit();
    const cases: [string, string[]][] = [
      [`ids=${deposit.id}&ids=${platform.id}`, [platform.id, deposit.id]],
      [`ids=${deposit.id.toUpperCase()}`, [deposit.id]],
      [`ids=${UNKNOWN}`, []],
      [`profile_ids=${UNKNOWN}`, []],
      [`profile_ids=${other.defaultProfile}`, []],
      [`profile_ids=${UNKNOWN}&profile_ids=${to}&profile_ids=${other.defaultProfile}`, [second]],
      [`group_ids=${internal.id}`, [second, internal.id]],
      [`group_ids=${internal.id}&group_ids=${platform.id}`, [platform.id, second, internal.id]],
      [`group_ids=${second}`, []],
      [`group_ids=${deposit.id}`, []],
      [`group_ids=${deposit.id}&type=WIRE_DEPOSIT`, []],
      [`group_ids=${internal.id}&ids=${second}`, [second]],
      [`group_ids=${internal.id}&ids=${platform.id}`, []],
      [`group_ids=${internal.id}&type=INTERNAL_TRANSFER_CREDIT&type=WIRE_DEPOSIT`, [second]],
      [`profile_ids=${from}&type=WIRE_DEPOSIT`, [deposit.id]],
      [`profile_ids=${from}&type=PLATFORM_TRANSFER_DEBIT&type=INTERNAL_TRANSFER_DEBIT`, [platform.id, internal.id]],
      ["ref_ids=list-1&ref_ids=nobody", [internal.id]],
      ["account_ids=a-1", [internal.id]],
      ["account_ids=a-1&account_ids=a-1", [internal.id]],
      ["identity_ids=i-1&identity_ids=i-2", [second, internal.id]],
      [`ids=${internal.id}&statuses=COMPLETED&statuses=FAILED`, [internal.id]],
      [`ids=${internal.id}&statuses=PENDING&statuses=FAILED`, []],
      [`ids=${internal.id}&secondary_statuses=CUSTOMER_REJECTED&secondary_statuses=TRAVEL_RULE_REJECTED`, []],
    ];
    for (const [query, expected] of cases) expect([query, await idsOf(`${LIST}?${query}`)]).toEqual([query, expected]);
    // Whoever may ask for a profile: its other records are its own customer's.
    const page = { order: "ASC", limit: 10 } as const;
    const listed = (customer: TestCustomer, profileId: string) =>
      service.service.transfers.list({ customerId: customer.id, profileIds: [profileId], ...page });
    expect(await listed(acme, other.defaultProfile)).toEqual([]);
    expect(await listed(other, from)).toEqual([]);
  });

  test("are filtered by times of any precision", async () => {
    const at = internal.created_at;
    const one = `ids=${internal.id}`;
    const cases: [string, boolean][] = [
      [`created_at.eq=${at}`, true],
      [`updated_at.eq=${at}`, true],
      [`created_at.eq=${shifted(at, 0, "000001")}`, false],
      [`created_at.eq=${at.replace("Z", "%2B00:00")}`, true],
      [`created_at.gte=${at}&created_at.lte=${at}`, true],
      [`created_at.gt=${at}`, false],
      [`updated_at.lt=${at}`, false],
      [`created_at.gt=${shifted(at, -1, "999999")}`, true],
      [`created_at.gte=${shifted(at, 0, "000001")}`, false],
      [`created_at.lt=${shifted(at, 0, "000001")}`, true],
      [`created_at.lte=${shifted(at, -1, "999999")}`, false],
      [`created_at.gte=${at}&updated_at.lt=${at}`, false],
      [`created_at.lt=${at}&updated_at.lte=${at}`, false],
      [`created_at.lte=${at}&updated_at.lt=${at}`, false],
      [`created_at.lte=${at}&updated_at.lt=${shifted(at, 1)}`, true],
      [`created_at.gt=${at}&updated_at.gte=${at}`, false],
      [`created_at.gte=${at}&updated_at.gt=${at}`, false],
      [`created_at.gte=${shifted(at, 5)}&created_at.lte=${shifted(at, -5)}`, false],
      ["created_at.gte=0001-01-01T00:00:00Z&created_at.lte=9999-12-31T23:59:59.999999999Z", true],
      // The whole second in which times begin, and what is before it.
      ...["created_at", "updated_at"].flatMap((name): [string, boolean][] =>
        ["0001-01-01T00:00:00Z", "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00Z"].flatMap((time) => [
          [`${name}.gte=${time}`, true],
          [`${name}.gt=${time}`, true],
          [`order_by=UPDATED_AT&${name}.gte=${time}`, true],
          [`${name}.lt=${time}`, false],
          [`${name}.lte=${time}`, false],
          [`${name}.eq=${time}`, false],
        ]),
      ),
    ];
    for (const [query, isThere] of cases) {
      expect([query, await idsOf(`${LIST}?${one}&${query}`)]).toEqual([query, isThere ? [internal.id] : []]);
    }
  });

  test("are in the requested order; by UPDATED_AT the default is oldest first", async () => {
    const query = `${LIST}?profile_ids=${from}`;
    const newestFirst = [platform.id, internal.id, deposit.id];
    expect(await idsOf(`${query}&order=ASC`)).toEqual(newestFirst.toReversed());
    expect(await idsOf(`${query}&order_by=CREATED_AT`)).toEqual(newestFirst);
    expect(await idsOf(`${query}&order_by=UPDATED_AT`)).toEqual(newestFirst.toReversed());
    expect(await idsOf(`${query}&order_by=UPDATED_AT&order=DESC`)).toEqual(newestFirst);
  });
});

test("conversions are filtered by each of their filters", async () => {
  const LIST = "/v2/conversion/stablecoins";
  const [profile, empty] = [await service.profile(acme, { USD: "10" }), await service.profile(acme)];
  const body = { profile_id: profile, amount: "1", source_asset: "USD", target_asset: "USDG" };
  // Its nickname is kept unique as ref_ids are.
  await post("/v2/profiles", { nickname: "open" });
  const open = (await post(LIST, { ...body, ref_id: "open" })).body;
  // A ref_id belongs to its customer.
  const theirs = { ...body, profile_id: await service.profile(other, { USD: "1" }), ref_id: "open" };
  expectSuccess(await post(LIST, theirs, other.token));
  const { id } = (await post(LIST, body)).body;
  const closed = (await service.call("DELETE", `${LIST}/${id}`, { as: acme.token })).body;
  const of = `profile_id=${profile}`;
  const cases: [string, string[]][] = [
    [of, [closed.id, open.id]],
    [`${of}&order=ASC`, [open.id, closed.id]],
    [`profile_id=${empty}`, []],
    [`profile_id=${UNKNOWN}`, []],
    ["ref_id=open", [open.id]],
    ["ref_id=closed", []],
    [`${of}&status=CREATED`, [open.id]],
    [`${of}&status=CANCELLED`, [closed.id]],
    [`${of}&status=SETTLED`, []],
    [`${of}&created_at.begin=${open.created_at}&created_at.end=${open.created_at}&ref_id=open`, [open.id]],
    [`${of}&created_at.begin=${shifted(open.created_at, 0, "0001")}&ref_id=open`, []],
    [`${of}&created_at.end=${shifted(open.created_at, -1, "9999")}`, []],
    [`${of}&updated_at.begin=${closed.updated_at}&updated_at.end=${closed.updated_at}&status=CANCELLED`, [closed.id]],
    [`${of}&updated_at.begin=${shifted(closed.updated_at, 1)}`, []],
    [`${of}&updated_at.end=${shifted(open.updated_at, -1, "999")}`, []],
    [`profile_id=${other.defaultProfile}`, []],
    [`${of}&updated_at.begin=${closed.updated_at}&updated_at.end=${open.created_at}&status=CREATED`, []],
  ];
  for (const [query, expected] of cases) expect([query, await idsOf(`${LIST}?${query}`)]).toEqual([query, expected]);
});

test("profiles are filtered by each of their filters, oldest first", async () => {
  const customer = await service.customer();
  const made: Item[] = [];
  for (const nickname of ["ab", "abc", "b%", "Ab"]) {
    made.push((await post("/v2/profiles", { nickname }, customer.token)).body);
  }
  const [ab, abc, percent, capital] = made.map(({ nickname }) => nickname);
  const first = made[0];
  const cases: [string, string[]][] = [
    ["", ["default", ab, abc, percent, capital]],
    ["order=DESC", [capital, percent, abc, ab, "default"]],
    ["nickname=ab", [ab, abc, capital]],
    ["nickname=AB", [ab, abc, capital]],
    ["nickname=ABC&order_by=CREATED_AT", [abc]],
    ["nickname=b%25", [percent]],
    ["nickname=%25", []],
    [`ids=${made[1].id}&ids=${made[3].id}&ids=${UNKNOWN}`, [abc, capital]],
    [`ids=${acme.defaultProfile}`, []],
    [`ids=${first.id}&created_at.eq=${first.created_at}`, [ab]],
    [`ids=${first.id}&created_at.gt=${first.created_at}`, []],
    [`ids=${first.id}&created_at.lte=${first.created_at}&created_at.gte=${first.created_at}`, [ab]],
    [`ids=${first.id}&created_at.lt=${shifted(first.created_at, 0, "01")}`, [ab]],
    [`ids=${first.id}&created_at.lt=${first.created_at}`, []],
    [`ids=${first.id}&created_at.lte=${shifted(first.created_at, -1, "999")}`, []],
    [`ids=${first.id}&created_at.gte=${shifted(first.created_at, 0, "01")}`, []],
  ];
  for (const [query, expected] of cases) {
    const items = await itemsOf(`/v2/profiles?${query}`, customer.token);
    expect([query, items.map(({ nickname }) => nickname)]).toEqual([query, expected]);
  }
});

describe("pages", () => {
  const lists = {
    "/v2/transfer/transfers": (profile: string) =>
      post("/v2/transfer/platform", {
        from_profile_id: profile,
        to_profile_id: other.defaultProfile,
        amount: "0.01",
        asset: "USD",
      }),
    "/v2/conversion/stablecoins": (profile: string) =>
      post("/v2/conversion/stablecoins", {
        profile_id: profile,
        amount: "0.01",
        source_asset: "USD",
        target_asset: "USDG",
      }),
    "/v2/profiles": () => post("/v2/profiles", { nickname: `page ${Math.random()}` }),
  };

  test.each(Object.keys(lists).flatMap((path) => ["ASC", "DESC"].map((order) => [path, order] as const)))(
    "of %s, %s: together complete and nothing twice, whatever is added meanwhile",
    async (path, order) => {
      const profile = await service.profile(acme, { USD: "10" });
      const add = lists[path as keyof typeof lists];
      for (let made = 0; made < 7; made += 1) expectSuccess(await add(profile));
      const before = await idsOf(`${path}?order=${order}&limit=1000`);
      const seen: string[] = [];
      let cursor = "";
      for (let pages = 0; pages === 0 || (cursor !== "" && pages < 1_000); pages += 1) {
        const limit = 1 + (pages % 3);
        const answer = await get(`${path}?order=${order}&limit=${limit}&page_cursor=${cursor}`);
        expectSuccess(answer);
        seen.push(...answer.body.items.map(({ id }: Item) => id));
        cursor = answer.body.next_page_cursor;
        if (pages < 5) await Promise.all([add(profile), add(profile)]);
      }
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen.filter((id) => before.includes(id))).toEqual(before);
    },
  );

  test("of transfers may end between the two records of one transfer, and go on with the other one", async () => {
    const customer = await service.customer();
    const [from, to] = [await service.profile(customer, { USD: "10" }), await service.profile(customer)];
    const body = { from_profile_id: from, to_profile_id: to, amount: "1", asset: "USD" };
    for (let made = 0; made < 3; made += 1) expectSuccess(await post("/v2/transfer/internal", body, customer.token));
    const oldestFirst = (await itemsOf("/v2/transfer/transfers", customer.token)).map(({ id }) => id).toSorted();
    // The deposit, and three times a debit and its credit.
    expect(oldestFirst).toHaveLength(7);
    for (const query of ["", "&order_by=UPDATED_AT", `&profile_ids=${to}&profile_ids=${from}`]) {
      for (const order of ["ASC", "DESC"]) {
        for (const limit of [1, 2, 3]) {
          const path = `/v2/transfer/transfers?order=${order}&limit=${limit}${query}`;
          const seen: string[] = [];
          let cursor = "";
          do {
            const answer = await get(`${path}&page_cursor=${cursor}`, customer.token);
            expectSuccess(answer);
            seen.push(...answer.body.items.map(({ id }: Item) => id));
            cursor = answer.body.next_page_cursor;
          } while (cursor !== "" && seen.length < 10);
          expect([path, seen]).toEqual([path, order === "ASC" ? oldestFirst : oldestFirst.toReversed()]);
        }
      }
    }
  });

  test.each(Object.keys(lists))("of %s: a position with a part too many or too few is no cursor", async (path) => {
    const profile = await service.profile(acme, { USD: "10" });
    for (let made = 0; made < 2; made += 1) expectSuccess(await lists[path as keyof typeof lists](profile));
    const cursor = (await get(`${path}?limit=1`)).body.next_page_cursor;
    const [version, digest, position] = JSON.parse(Buffer.from(cursor, "base64url").toString());
    const pathAfter = (parts: readonly string[]) =>
      `${path}?page_cursor=${Buffer.from(JSON.stringify([version, digest, parts])).toString("base64url")}`;
    expectSuccess(await get(pathAfter(position)));
    const unreadable = failingField("page_cursor", undefined, "is not a cursor of this service");
    for (const parts of [[...position, ""], position.slice(0, -1), []])
      expectProblem(await get(pathAfter(parts)), unreadable);
  });

  test("end with an empty cursor, also when the last one is exactly full", async () => {
    const customer = await service.customer();
    for (const nickname of ["1", "2", "3"]) await post("/v2/profiles", { nickname }, customer.token);
    const first = await get("/v2/profiles?limit=2", customer.token);
    expect(first.body.items).toHaveLength(2);
    const cursor = first.body.next_page_cursor;
    const last = await get(`/v2/profiles?limit=2&page_cursor=${cursor}`, customer.token);
    expect([last.body.items.length, last.body.next_page_cursor]).toEqual([2, ""]);
  });

  test("belong to their filters and their customer", async () => {
    const cursor = (await get("/v2/transfer/transfers?limit=1")).body.next_page_cursor;
    const list = `/v2/transfer/transfers?page_cursor=${cursor}`;
    const rule = "belongs to another list: send the same filters as for the first page";
    const elsewhere = failingField("page_cursor", undefined, rule);
    expectSuccess(await get(`${list}&limit=7`));
    expectSuccess(await get(`${list}&order=DESC&order_by=CREATED_AT`));
    expectProblem(await get(`${list}&order=ASC`), elsewhere);
    expectProblem(await get(`${list}&type=WIRE_DEPOSIT`), elsewhere);
    expectProblem(await get(list, other.token), elsewhere);
    expectProblem(await get(`/v2/conversion/stablecoins?page_cursor=${cursor}`), elsewhere);
  });
});
