/** What a start does and what it refuses, with the service in this process. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClientConfig } from "pg";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { applyBootstrap } from "../../src/bootstrap/bootstrap.ts";
import { readBootstrapFile } from "../../src/bootstrap/bootstrap-file.ts";
import { expectBooksBalance } from "../support/books.ts";
import { startTestService } from "../support/service.ts";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parbook-start-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

async function bootstrapFile(content: unknown): Promise<string> {
  const path = join(directory, "bootstrap.json");
  await writeFile(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

const PROFILE = "0190d5a4-1111-7000-8000-000000000004";
const CUSTOMER = "0190d5a4-1111-7000-8000-000000000001";
const ACME = {
  customers: [
    {
      id: CUSTOMER,
      name: "Acme",
      clients: [{ client_id: "acme", client_secret: "a secret that a person chose", scopes: ["funding:read_profile"] }],
      profiles: [
        { id: PROFILE, nickname: "treasury", balances: { USD: "1000", PYUSD: "250.5", ETH: "0.000000000000000001" } },
      ],
    },
    { name: "Borealis", profiles: [{ nickname: "desk" }] },
  ],
};

test("the bootstrap file is applied, and applied again without effect", async () => {
  const bootstrap = await bootstrapFile(ACME);
  const service = await startTestService({ bootstrap });
  const token = await service.token({ clientId: "acme", secret: "a secret that a person chose" });
  const balances = `/v2/profiles/${PROFILE}/balances?assets=USD&assets=PYUSD&assets=ETH`;
  const expected = [
    { asset: "ETH", available: "0.000000000000000001", trading: "0" },
    { asset: "PYUSD", available: "250.5", trading: "0" },
    { asset: "USD", available: "1000", trading: "0" },
  ];
  expect((await service.call("GET", balances, { as: token })).body.items).toEqual(expected);
  const { body } = await service.call("GET", "/v2/profiles", { as: token });
  expect(body.items.map(({ nickname, type }: Record<string, string>) => [nickname, type])).toEqual([
    ["default", "DEFAULT"],
    ["treasury", "NORMAL"],
  ]);
  const count = async (): Promise<unknown> =>
    (
      await service.db.owner.rows(
        `select (select count(*) from customer)::int as customers, (select count(*) from profile)::int as profiles,
                (select count(*) from client)::int as clients, (select count(*) from posting)::int as postings`,
      )
    )[0];
  const before = await count();
  expect(before).toMatchObject({ customers: 2, profiles: 4, clients: 1 });
  await applyBootstrap({ ...service.service.core, ...service.service }, await readBootstrapFile(bootstrap));
  expect(await count()).toEqual(before);
  await expectBooksBalance(service.db.owner);
  await service.close();
});

test("a bootstrap file that is wrong starts nothing, and says every line", async () => {
  const wrong = {
    customers: [{ name: "", profiles: [{ nickname: "desk", balances: { USD: "-1" } }], colour: "blue" }],
  };
  await expect(startTestService({ bootstrap: await bootstrapFile(wrong) })).rejects.toThrow(
    /is wrong:\n.*customers\/0.*\n.*customers\/0/,
  );
  await expect(startTestService({ bootstrap: await bootstrapFile("{") })).rejects.toThrow("cannot be read");
  const scope = {
    customers: [{ name: "Acme", clients: [{ client_id: "acme", client_secret: "s", scopes: ["cook"] }] }],
  };
  await expect(startTestService({ bootstrap: await bootstrapFile(scope) })).rejects.toThrow('"cook" is not a scope');
  const asset = { customers: [{ name: "Acme", profiles: [{ nickname: "desk", balances: { GOLD: "1" } }] }] };
  await expect(startTestService({ bootstrap: await bootstrapFile(asset) })).rejects.toThrow("1 GOLD");
  const precision = { customers: [{ name: "Acme", profiles: [{ nickname: "desk", balances: { USD: "0.001" } }] }] };
  await expect(startTestService({ bootstrap: await bootstrapFile(precision) })).rejects.toThrow("exceed precision");
});

test("production refuses a database that is not durable, and a role that could change the books", async () => {
  const { user, password } = inject("owner");
  const asOwner = async (database: ClientConfig): Promise<ClientConfig> => ({ ...database, user, password });
  const failure = await startTestService({ mode: "production" }, asOwner).then(
    () => undefined,
    (error: Error) => error,
  );
  expect(failure?.message.split("\n")).toEqual([
    "the database runs with fsync=off: what was answered can be lost when it crashes",
    ...["batch", "execution", "posting", "transfer"].map(
      (name) => `the service's role can change or remove rows of ${name}: it is a superuser`,
    ),
  ]);
});

test("readyz and healthz answer, and ready.json is there while it serves", async () => {
  const service = await startTestService();
  expect((await service.call("GET", "/healthz")).body).toEqual({ status: "alive" });
  expect((await service.call("GET", "/readyz")).body).toEqual({ status: "ready" });
  await service.db.owner.rows("update migration set checksum = 'edited'");
  const { status, body } = await service.call("GET", "/readyz");
  expect([status, body.detail]).toEqual([503, "not ready: migrations"]);
  await service.close();
});
