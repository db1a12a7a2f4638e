import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type TestDatabase, testDatabase } from "../../../test/support/database.ts";
import { TESTER } from "../../../test/support/movements.ts";
import { countBlocked, untilBlocked } from "../../../test/support/postgres/rows-in-the-way.ts";
import { unwrap } from "../../../test/support/results.ts";
import { until } from "../../../test/support/until.ts";
import { must } from "../../std/assert.ts";
import type { Instant } from "../../std/clock.ts";
import { IdSource, type Uuid } from "../../std/id.ts";
import { type Network, parseNetwork } from "../../std/network.ts";
import { done, PASSED, reject } from "../../std/result.ts";
import type { CustomerId } from "../customer-id.ts";
import { Clients, type ShownSecret } from "./clients.ts";
import { setLastUsed } from "./store.ts";

const MINUTE = 60_000;
const ADDRESS = "192.0.2.1";
const ids = new IdSource();
const customerId = ids.next() as CustomerId;
let now = Date.parse("2026-11-21T09:30:00.000Z") as Instant;
let testing: TestDatabase;
let clients: Clients;

beforeAll(async () => {
  testing = await testDatabase();
  await testing.owner.rows("insert into customer (id, name, created_at) values ($1, 'Acme', now())", [customerId]);
  clients = clientsOn(testing);
});

afterAll(() => testing.close());

function clientsOn({ database }: TestDatabase): Clients {
  const onUnrecordedUse = (_: string, error: unknown): never => {
    throw error;
  };
  return new Clients({ database, clock: { now: () => now }, ids, onUnrecordedUse });
}

async function newClient(): Promise<ShownSecret> {
  return unwrap(await clients.create({ customerId, scopes: ["exchange:read_order", "*"] }, TESTER));
}

test("a client authenticates with the secret that was shown when it was created", async () => {
  const { clientId, secret } = await newClient();
  expect(await clients.authenticate(clientId, secret, ADDRESS)).toEqual(
    done({ clientId, customerId, scopes: ["exchange:read_order", "*"] }),
  );
});

test("client_id and secret may be chosen", async () => {
  const request = { customerId, scopes: ["*"], clientId: "acme", secret: "correct horse" };
  expect(await clients.create(request, TESTER)).toEqual(done({ clientId: "acme", secret: "correct horse" }));
  expect(await clients.authenticate("acme", "correct horse", ADDRESS)).toMatchObject({ value: { clientId: "acme" } });
  expect(await clients.authenticate("acme", "battery staple", ADDRESS)).toEqual(reject("client_authentication_failed"));
});

test("a client_id is created once, also by concurrent requests", async () => {
  const request = { customerId, scopes: ["*"], clientId: "twice" };
  const made = await Promise.all([clients.create(request, TESTER), clients.create(request, TESTER)]);
  expect(made).toContainEqual(reject("client_already_exists"));
  const [shown] = made.filter(({ kind }) => kind === "done").map(unwrap);
  expect(await clients.authenticate("twice", shown?.secret ?? "", ADDRESS)).toMatchObject({
    value: { clientId: "twice" },
  });
  expect(await secretsOf("twice")).toHaveLength(1);
});

test.each([
  ["an empty client_id", { clientId: "" }, "malformed_client_id"],
  ["a client_id of 101 characters", { clientId: "a".repeat(101) }, "malformed_client_id"],
  ["a client_id with a line break", { clientId: "a\nb" }, "malformed_client_id"],
  ["an empty secret", { secret: "" }, "malformed_secret"],
  ["a secret of 257 characters", { secret: "a".repeat(257) }, "malformed_secret"],
  ["a secret beyond ASCII", { secret: "naïve" }, "malformed_secret"],
  ["no scopes", { scopes: [] }, "client_without_scopes"],
  ["two scopes in one", { scopes: ["a b"] }, "malformed_scope"],
  ["an empty scope", { scopes: [""] }, "malformed_scope"],
  ["an unknown customer", { customerId: ids.next() as CustomerId }, "customer_not_found"],
])("a client with %s is rejected", async (_, fields, rejection) => {
  expect(await clients.create({ customerId, scopes: ["*"], ...fields }, TESTER)).toEqual(reject(rejection));
});

test("an unknown client, a disabled one and a wrong secret are rejected", async () => {
  const { clientId, secret } = await newClient();
  const disabled = await newClient();
  expect(await clients.disable(disabled.clientId, TESTER)).toEqual(PASSED);
  expect(await clients.authenticate("nobody", secret, ADDRESS)).toEqual(reject("unknown_client"));
  expect(await clients.authenticate(disabled.clientId, disabled.secret, ADDRESS)).toEqual(
    reject("client_authentication_failed"),
  );
  expect(await clients.authenticate(clientId, disabled.secret, ADDRESS)).toEqual(
    reject("client_authentication_failed"),
  );
});

test.each([
  ["disabled", (clientId: string) => clients.disable(clientId, TESTER)],
  ["given another secret at once", (clientId: string) => clients.rotateSecret(clientId, 0, TESTER)],
])("a client that is %s while its chosen secret waits to be verified is rejected", async (how, change) => {
  const request = { customerId, scopes: ["*"], clientId: how.replaceAll(" ", "-"), secret: "horse" };
  const { clientId, secret } = unwrap(await clients.create(request, TESTER));
  const rows = testing.database.rows.bind(testing.database);
  const read = vi.spyOn(testing.database, "rows");
  read.mockImplementationOnce((...statement) => rows(...statement).finally(() => change(clientId)) as never);
  expect(await clients.authenticate(clientId, secret, ADDRESS)).toEqual(reject("client_authentication_failed"));
  read.mockRestore();
});

test("after a rotation the old secret works until the overlap ends, the new one at once and for good", async () => {
  const { clientId, secret } = await newClient();
  const rotated = unwrap(await clients.rotateSecret(clientId, 10 * MINUTE, TESTER));
  expect(rotated.secret).not.toBe(secret);
  now = (now + 10 * MINUTE - 1) as Instant;
  expect(await clients.authenticate(clientId, secret, ADDRESS)).toMatchObject({ value: { clientId } });
  expect(await clients.authenticate(clientId, rotated.secret, ADDRESS)).toMatchObject({ value: { clientId } });
  now = (now + 1) as Instant;
  expect(await clients.authenticate(clientId, secret, ADDRESS)).toEqual(reject("client_authentication_failed"));
  expect(await clients.authenticate(clientId, rotated.secret, ADDRESS)).toMatchObject({ value: { clientId } });
});

test("a rotation without overlap ends the old secret at once and removes what had expired", async () => {
  const { clientId, secret } = await newClient();
  const second = await clients.rotateSecret(clientId, 0, TESTER);
  expect(await clients.authenticate(clientId, secret, ADDRESS)).toEqual(reject("client_authentication_failed"));
  const third = await clients.rotateSecret(clientId, MINUTE, TESTER);
  expect(await secretsOf(clientId)).toHaveLength(2);
  expect([second.kind, third.kind]).toEqual(["done", "done"]);
});

test("a rotation without overlap also ends a secret that an earlier overlap had kept alive", async () => {
  const { clientId, secret: leaked } = await newClient();
  const second = unwrap(await clients.rotateSecret(clientId, 24 * 60 * MINUTE, TESTER));
  expect(await clients.authenticate(clientId, leaked, ADDRESS)).toMatchObject({ value: { clientId } });
  const third = unwrap(await clients.rotateSecret(clientId, 0, TESTER));
  const answers = [leaked, second.secret, third.secret].map((each) => clients.authenticate(clientId, each, ADDRESS));
  expect(await Promise.all(answers)).toEqual([
    reject("client_authentication_failed"),
    reject("client_authentication_failed"),
    done(expect.objectContaining({ clientId })),
  ]);
});

test("a disabled client is given no new secret, and keeps those that it had", async () => {
  const { clientId } = await newClient();
  await clients.disable(clientId, TESTER);
  const before = await secretsOf(clientId);
  expect(await clients.rotateSecret(clientId, 0, TESTER)).toEqual(reject("client_disabled"));
  expect(await secretsOf(clientId)).toEqual(before);
});

test("a later rotation does not lengthen the life of a secret that is to end sooner", async () => {
  const { clientId, secret } = await newClient();
  await clients.rotateSecret(clientId, MINUTE, TESTER);
  await clients.rotateSecret(clientId, 60 * MINUTE, TESTER);
  now = (now + MINUTE) as Instant;
  expect(await clients.authenticate(clientId, secret, ADDRESS)).toEqual(reject("client_authentication_failed"));
});

test("rotations at the same time leave one secret that does not end", async () => {
  const { clientId } = await newClient();
  await Promise.all(Array.from({ length: 4 }, () => clients.rotateSecret(clientId, MINUTE, TESTER)));
  expect((await secretsOf(clientId)).filter((each) => each.expires_at === null)).toHaveLength(1);
});

test("an unknown client is neither rotated nor disabled", async () => {
  expect(await clients.rotateSecret("nobody", 0, TESTER)).toEqual(reject("client_not_found"));
  expect(await clients.disable("nobody", TESTER)).toEqual(reject("client_not_found"));
});

const restrictionOf = async (clientId: string, since: Instant): Promise<string[] | undefined> => {
  const restricted = await clients.listRestricted(since);
  return restricted
    .find((each) => each.clientId === clientId)
    ?.networks()
    .map(({ text }) => text);
};

test("a disabled client may call from nowhere, and keeps the time at which it was disabled", async () => {
  const { clientId } = await newClient();
  expect(await restrictionOf(clientId, 0 as Instant)).toBeUndefined();
  const disabledAt = now;
  await clients.disable(clientId, TESTER);
  now = (now + MINUTE) as Instant;
  await clients.disable(clientId, TESTER);
  expect(await restrictionOf(clientId, disabledAt)).toEqual([]);
  expect(await restrictionOf(clientId, (disabledAt + 1) as Instant)).toBeUndefined();
});

const networks = (...texts: string[]): Network[] => texts.map((text) => parseNetwork(text) as Network);

test("a client with networks authenticates from there only, and a wrong secret is rejected alike from everywhere", async () => {
  const made = unwrap(
    await clients.create({ customerId, scopes: ["*"], networks: networks("192.0.2.0/24", "2001:db8::/32") }, TESTER),
  );
  const from = (address: string) => clients.authenticate(made.clientId, made.secret, address);
  for (const address of ["192.0.2.255", "::ffff:192.0.2.1", "2001:db8::7"]) {
    expect(await from(address)).toMatchObject({ value: { clientId: made.clientId } });
  }
  for (const address of ["192.0.3.1", "::1", ""]) expect(await from(address)).toEqual(reject("address_not_allowed"));
  expect(await clients.authenticate(made.clientId, `${made.secret.slice(1)}A`, "192.0.3.1")).toEqual(
    reject("client_authentication_failed"),
  );
});

test("a client's networks can be changed and removed, and are listed until then", async () => {
  const { clientId, secret } = await newClient();
  expect(await clients.restrict(clientId, networks("198.51.100.7"), TESTER)).toEqual(PASSED);
  expect(await clients.authenticate(clientId, secret, ADDRESS)).toEqual(reject("address_not_allowed"));
  expect(await restrictionOf(clientId, now)).toEqual(["198.51.100.7/32"]);
  expect(await clients.restrict(clientId, networks("192.0.2.0/24"), TESTER)).toEqual(PASSED);
  expect(await clients.authenticate(clientId, secret, ADDRESS)).toMatchObject({ value: { clientId } });
  expect(await clients.restrict(clientId, undefined, TESTER)).toEqual(PASSED);
  expect(await clients.authenticate(clientId, secret, "203.0.113.1")).toMatchObject({ value: { clientId } });
  expect(await restrictionOf(clientId, now)).toBeUndefined();
});

test("a disabled client with networks is listed as disabled only", async () => {
  const { clientId } = await newClient();
  await clients.restrict(clientId, networks("192.0.2.0/24"), TESTER);
  await clients.disable(clientId, TESTER);
  expect(await restrictionOf(clientId, now)).toEqual([]);
  // Long after, when no token of it can live any more, it is still shut out.
  expect(await restrictionOf(clientId, (now + 1) as Instant)).toEqual([]);
});

test("a forbidden address does not count as a use of the secret", async () => {
  const { clientId, secret } = await newClient();
  await clients.restrict(clientId, networks("198.51.100.7"), TESTER);
  await clients.authenticate(clientId, secret, ADDRESS);
  expect(await lastUsedAt(clientId)).toBeNull();
});

test("a client has at most a hundred networks, and an empty list is rejected", async () => {
  const { clientId } = await newClient();
  const many = (count: number) => networks(...Array.from({ length: count }, (_, i) => `10.0.0.${i}`));
  expect(await clients.restrict(clientId, many(100), TESTER)).toEqual(PASSED);
  for (const rejected of [many(101), []]) {
    expect(await clients.restrict(clientId, rejected, TESTER)).toEqual(reject("wrong_number_of_networks"));
    expect(await clients.create({ customerId, scopes: ["*"], networks: rejected }, TESTER)).toEqual(
      reject("wrong_number_of_networks"),
    );
  }
  expect(await restrictionOf(clientId, now)).toHaveLength(100);
  expect(await clients.restrict("nobody", undefined, TESTER)).toEqual(reject("client_not_found"));
});

test("the last use of a secret is recorded at most once a minute, and a wrong secret is no use", async () => {
  const { clientId, secret } = await newClient();
  await clients.authenticate(clientId, `${secret.slice(1)}A`, ADDRESS);
  expect(await lastUsedAt(clientId)).toBeNull();
  const first = now;
  await Promise.all(Array.from({ length: 5 }, () => clients.authenticate(clientId, secret, ADDRESS)));
  await untilLastUsed(clientId, first);
  now = (first + MINUTE - 1) as Instant;
  await clients.authenticate(clientId, secret, ADDRESS);
  now = (first + MINUTE) as Instant;
  await clients.authenticate(clientId, secret, ADDRESS);
  await untilLastUsed(clientId, first + MINUTE);
  // Another node, which has not read that yet.
  const [used] = await testing.owner.rows<{ id: Uuid }>("select id from client_secret where client_id = $1", [
    clientId,
  ]);
  const other = { clientId, id: used?.id as Uuid };
  await setLastUsed(testing.owner, other, (now + 1) as Instant, (now - 1) as Instant);
  expect(await lastUsedAt(clientId)).toBe(now);
});

test("an authentication costs one statement while the last use need not be recorded", async () => {
  const { clientId, secret } = await newClient();
  await clients.authenticate(clientId, secret, ADDRESS);
  await untilLastUsed(clientId, now);
  const rows = vi.spyOn(testing.database, "rows");
  await clients.authenticate(clientId, secret, ADDRESS);
  expect(rows).toHaveBeenCalledTimes(1);
  rows.mockRestore();
});

test("the secret itself is nowhere in the database", async () => {
  const { clientId, secret } = await newClient();
  const kept = JSON.stringify(await secretsOf(clientId));
  for (const encoded of [
    secret,
    Buffer.from(secret).toString("hex"),
    Buffer.from(secret, "base64url").toString("hex"),
  ]) {
    expect(kept).not.toContain(encoded);
  }
});

interface SecretRow {
  readonly expires_at: Instant | null;
  readonly last_used_at: Instant | null;
}

function secretsOf(clientId: string): Promise<SecretRow[]> {
  return testing.database.rows(
    `select id, scheme, encode(salt, 'hex') as salt, encode(digest, 'hex') as digest, expires_at, last_used_at
       from client_secret where client_id = $1`,
    [clientId],
  );
}

/** The use of a secret is recorded behind the answer. */
function untilLastUsed(clientId: string, at: number): Promise<void> {
  return until("the last use is recorded", async () => (await lastUsedAt(clientId)) === at);
}

async function lastUsedAt(clientId: string): Promise<Instant | null | undefined> {
  return (await secretsOf(clientId))[0]?.last_used_at;
}

test("while a customer is disabled its clients get no tokens, and those that they have are restricted", async () => {
  const shown = unwrap(await clients.create({ customerId, scopes: ["*"] }, TESTER));
  const known = async () => (await clients.authenticate(shown.clientId, shown.secret, ADDRESS)).kind;
  const isRestricted = async () =>
    (await clients.listRestricted(0 as Instant)).some(({ clientId }) => clientId === shown.clientId);
  expect([await known(), await isRestricted()]).toEqual(["done", false]);
  await testing.owner.rows("update customer set disabled_at = now() where id = $1", [customerId]);
  expect([await known(), await isRestricted()]).toEqual(["rejected", true]);
  await testing.owner.rows("update customer set disabled_at = null where id = $1", [customerId]);
  expect([await known(), await isRestricted()]).toEqual(["done", false]);
});

test("a client that is restricted to networks has none while its customer is disabled", async () => {
  const networks = [must(parseNetwork("192.0.2.0/24"), "a network")];
  const { clientId } = unwrap(await clients.create({ customerId, scopes: ["*"], networks }, TESTER));
  await testing.owner.rows("update customer set disabled_at = now() where id = $1", [customerId]);
  const restricted = new Map(
    (await clients.listRestricted(0 as Instant)).map((one) => [one.clientId, one.networks()] as const),
  );
  await testing.owner.rows("update customer set disabled_at = null where id = $1", [customerId]);
  expect(restricted.get(clientId)).toEqual([]);
});

/** Three clients with two secrets each, of which one has expired: two of a customer, and one of another. */
async function threeClients() {
  const [acme, borealis] = [ids.next() as CustomerId, ids.next() as CustomerId];
  await testing.owner.rows(
    "insert into customer (id, name, created_at) select id, id::text, now() from unnest($1::uuid[]) id",
    [[acme, borealis]],
  );
  const create = async (of: CustomerId): Promise<ShownSecret> => {
    const { clientId } = unwrap(await clients.create({ customerId: of, scopes: ["*"] }, TESTER));
    return unwrap(await clients.rotateSecret(clientId, MINUTE, TESTER));
  };
  const [client, sibling, stranger] = [await create(acme), await create(acme), await create(borealis)];
  now = (now + MINUTE) as Instant;
  return { acme, client, sibling, stranger };
}

test("what is done to a client changes no other one, and its use marks one secret", async () => {
  const { client, sibling, stranger } = await threeClients();
  const stored = () =>
    testing.owner.rows(
      "select * from client join client_secret using (client_id) where client_id = any($1) order by client_id, id",
      [[sibling.clientId, stranger.clientId]],
    );
  const before = await stored();
  const { clientId, secret } = unwrap(await clients.rotateSecret(client.clientId, MINUTE, TESTER));
  expect(await clients.authenticate(clientId, secret, ADDRESS)).toMatchObject({ kind: "done" });
  const secrets = async () =>
    (await secretsOf(clientId)).map(({ expires_at, last_used_at }) => ({ expires_at, last_used_at }));
  await until("the use is recorded", async () => (await secrets()).some(({ last_used_at }) => last_used_at === now));
  expect(await secrets()).toHaveLength(2);
  expect(await secrets()).toContainEqual({ expires_at: now + MINUTE, last_used_at: null });
  expect(await secrets()).toContainEqual({ expires_at: null, last_used_at: now });
  await clients.restrict(clientId, [must(parseNetwork("192.0.2.0/24"), "a network")], TESTER);
  await clients.disable(clientId, TESTER);
  expect(await stored()).toEqual(before);
});

test("a customer that is disabled restricts its own clients, from that time on", async () => {
  const { acme, sibling, stranger } = await threeClients();
  await testing.owner.rows("update customer set disabled_at = $2 where id = $1", [acme, new Date(now)]);
  const restricted = async (since: number) => {
    const listed = (await clients.listRestricted(since as Instant)).map(({ clientId }) => clientId);
    return [sibling, stranger].map(({ clientId }) => listed.includes(clientId));
  };
  expect(await restricted(now)).toEqual([true, false]);
  expect(await restricted(now + 1)).toEqual([false, false]);
  const known = async ({ clientId, secret }: ShownSecret) =>
    (await clients.authenticate(clientId, secret, ADDRESS)).kind;
  expect([await known(sibling), await known(stranger)]).toEqual(["rejected", "done"]);
});

test("a customer that disables clients waits for no client of another's, and has one connection", async () => {
  const { clientId } = await newClient();
  const { database, owner } = testing;
  let disablings: Promise<unknown>[] = [];
  await owner.transaction(async (transaction) => {
    await transaction.rows("select from client where client_id = $1 for update", [clientId]);
    expect(await clients.disableOf(ids.next() as CustomerId, clientId, TESTER)).toBeUndefined();
    disablings = Array.from({ length: 20 }, () => clients.disableOf(customerId, clientId, TESTER));
    await untilBlocked(testing);
    await Promise.all(Array.from({ length: 20 }, () => database.rows("select")));
    expect(await countBlocked(testing)).toBe(1);
  });
  for (const disabled of await Promise.all(disablings)) expect(disabled).toMatchObject({ clientId, disabledAt: now });
});
