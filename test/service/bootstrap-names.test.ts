/** How a bootstrap file calls what is there already, and what is new: opening balances are made once. */
import { expect, test } from "vitest";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import { applyBootstrap } from "../../src/service/bootstrap/bootstrap.ts";
import { idOf, readBootstrapFile } from "../../src/service/bootstrap/bootstrap-file.ts";
import { reject } from "../../src/std/result.ts";
import { expectBooksBalance } from "../support/books.ts";
import { bootstrapFile, partsOf } from "../support/bootstrap-file.ts";
import { TESTER } from "../support/movements.ts";
import { startTestService } from "../support/service.ts";

const PROFILE = "0190d5a4-1111-7000-8000-000000000004";
const CUSTOMER = "0190d5a4-1111-7000-8000-000000000001";

test("a customer of a bootstrap file is called what a command could call it", async () => {
  const stranger = "0190D5A4-0000-7000-8000-00000000000b";
  const clients = [{ client_id: "acme", client_secret: "a secret", scopes: ["cook"] }];
  const names = ["Acme ", "Ac\u200bme", "Two  Blanks", stranger, "\u0958".repeat(51)];
  const wrong = { customers: [...names.map((name) => ({ name })), { name: "A\u0308cme Bank", clients }] };
  await expect(startTestService({ bootstrap: bootstrapFile(wrong) })).rejects.toThrow(
    [
      "the bootstrap file cannot be applied:",
      '  customer "Acme ": its name must not have invisible characters, or blanks at an end or beside each other',
      '  customer "Ac\u200bme": its name must not have invisible characters, or blanks at an end or beside each other',
      '  customer "Two  Blanks": its name must not have invisible characters, or blanks at an end or beside each other',
      `  customer "${stranger}": its name must not be a UUID, which commands take for an id`,
      // Each of these letters has two characters in the form NFC.
      `  customer "${names[4]}": its name must have 1 to 100 characters`,
      '  client "acme": "cook" is not a scope',
    ].join("\n"),
  );
});

test("a name with a letter and its accent in two characters is that of one customer, which commands find", async () => {
  const entry = { name: "A\u0308cme Bank", profiles: [{ nickname: "desk", balances: { USD: "5" } }] };
  const service = await startTestService({ bootstrap: bootstrapFile({ customers: [entry] }) });
  const parts = partsOf(service);
  const apply = async (customer: object) =>
    applyBootstrap(parts, await readBootstrapFile(bootstrapFile({ customers: [customer] })));
  const customers = () => service.db.owner.rows<{ id: CustomerId; name: string }>("select id, name from customer");
  const id = idOf("customer", entry.name) as CustomerId;
  expect(await customers()).toEqual([{ id, name: "\u00c4cme Bank" }]);
  expect(await parts.customers.create("\u00c4cme Bank", TESTER)).toEqual(reject("customer_name_taken"));
  await apply(entry);
  // As an editor may write it.
  const taken =
    'the bootstrap file cannot be applied:\n  customer "\u00c4cme Bank": another customer in the database has this name';
  await expect(apply({ ...entry, name: "\u00c4cme Bank" })).rejects.toThrow(taken);
  await apply({ ...entry, id, name: "\u00c4cme Bank" });
  expect(await customers()).toEqual([{ id, name: "\u00c4cme Bank" }]);
  await expectBooksBalance(service.db.owner);
  await service.close();
});

test("customers whose names an earlier version took are found again, and get no second one", async () => {
  const names = ["A\u0308cme Bank", "Acme ", CUSTOMER];
  const entries = names.map((name) => ({ name, profiles: [{ nickname: "desk", balances: { USD: "5" } }] }));
  const service = await startTestService();
  const parts = partsOf(service);
  const apply = async (customers: object[]) =>
    applyBootstrap(parts, await readBootstrapFile(bootstrapFile({ customers })));
  for (const name of names) await parts.customers.ensure(idOf("customer", name) as CustomerId, name, TESTER);
  const customers = () => service.db.owner.rows("select id, name from customer order by created_at, id");
  const before = await customers();
  await apply(entries);
  await expect(apply([{ name: "\u00c4cme Bank" }])).rejects.toThrow("another customer in the database has this name");
  expect(await customers()).toEqual(before);
  // As commands could make it beside the first.
  await parts.customers.create("\u00c4cme Bank", TESTER);
  const both = await customers();
  await apply(entries);
  expect(await customers()).toEqual(both);
  const rows = await service.db.owner.rows("select available from account where house is null and asset = 'USD'");
  expect(rows).toEqual(Array(3).fill({ available: "5" }));
  await expectBooksBalance(service.db.owner);
  await service.close();
});

test("a profile gets its opening balance once, however the accents of its nickname are written", async () => {
  const [composed, decomposed] = ["B\u00fcro", "Bu\u0308ro"].map((nickname) => ({ nickname, balances: { USD: "5" } }));
  const of = (...profiles: unknown[]) => ({ customers: [{ name: "Acme", profiles }] });
  const service = await startTestService({ bootstrap: bootstrapFile(of(composed)) });
  const parts = partsOf(service);
  const apply = async (file: object) => applyBootstrap(parts, await readBootstrapFile(bootstrapFile(file)));
  const balances = () => service.db.owner.rows("select available from account where house is null and asset = 'USD'");
  const id = idOf("profile", idOf("customer", "Acme"), "B\u00fcro");
  const looksTheSame = `the customer's profile ${id} has a nickname that looks the same: give the entry that id`;
  for (const other of [decomposed, { ...decomposed, id: PROFILE }])
    await expect(apply(of(other))).rejects.toThrow(`  profile "Bu\u0308ro": ${looksTheSame}`);
  await expect(apply(of(composed, decomposed))).rejects.toThrow(
    `  profile "Bu\u0308ro": the nickname is there more than once\n  profile "Bu\u0308ro": ${looksTheSame}`,
  );
  await apply(of({ ...decomposed, id }));
  expect(await balances()).toEqual([{ available: "5" }]);
  // Its customer may call them so.
  const customerId = idOf("customer", "Acme") as CustomerId;
  const request = { customerId, nickname: "Bu\u0308ro", description: undefined };
  const made = await parts.profiles.create(request, TESTER);
  await apply(of(composed, { ...decomposed, id: made.kind === "done" ? made.value.id : undefined }));
  expect(await balances()).toEqual([{ available: "5" }, { available: "5" }]);
  await expectBooksBalance(service.db.owner);
  await service.close();
});

test("who corrects the case of a name in a bootstrap file makes no second customer or profile, unless it has an id", async () => {
  const acme = { name: "Acme", profiles: [{ nickname: "treasury", balances: { USD: "5" } }] };
  const service = await startTestService({ bootstrap: bootstrapFile({ customers: [acme] }) });
  const parts = partsOf(service);
  const apply = async (customer: object) =>
    applyBootstrap(parts, await readBootstrapFile(bootstrapFile({ customers: [customer] })));
  const balances = () =>
    service.db.owner.rows("select available from account where house is null and asset = 'USD' order by available");
  const customerId = idOf("customer", "Acme");
  const almost = (id: string) =>
    `${id} is called almost so: give the entry that id, or one of its own if it is another`;
  await expect(apply({ ...acme, name: "ACME" })).rejects.toThrow(
    `the bootstrap file cannot be applied:\n  customer "ACME": ${almost(customerId)}`,
  );
  const desk = { nickname: "Treasury", balances: { USD: "7" } };
  await expect(apply({ ...acme, profiles: [desk] })).rejects.toThrow(
    `the bootstrap file cannot be applied:\n  profile "Treasury": ${almost(idOf("profile", customerId, "treasury"))}`,
  );
  expect(await balances()).toEqual([{ available: "5" }]);
  await apply({ ...acme, profiles: [{ ...desk, id: idOf("profile", customerId, "treasury") }] });
  await apply({ ...acme, name: "ACME", id: customerId });
  expect(await balances()).toEqual([{ available: "5" }]);
  await apply({ ...acme, profiles: [{ ...desk, id: PROFILE }] });
  await apply({ name: "ACME", id: CUSTOMER, profiles: [{ nickname: "desk", balances: { USD: "9" } }] });
  expect(await balances()).toEqual([{ available: "5" }, { available: "7" }, { available: "9" }]);
  await expectBooksBalance(service.db.owner);
  await service.close();
});

test("a file with names that are almost the same is applied to its end after a start that died in the midst of it", async () => {
  const desk = (nickname: string, USD: string) => ({ nickname, balances: { USD } });
  const customers = [
    { name: "Acme", profiles: [desk("desk", "5"), desk("Desk", "6")] },
    { name: "ACME", profiles: [desk("desk", "7")] },
  ];
  const service = await startTestService();
  const parts = partsOf(service, "production");
  const apply = async (to: typeof parts) => applyBootstrap(to, await readBootstrapFile(bootstrapFile({ customers })));
  const balances = () =>
    service.db.owner.rows("select available from account where house is null and asset = 'USD' order by available");
  // The first profile has its balance, and the others are not there yet.
  const { transfers } = parts;
  let made = 0;
  const dying = (...given: Parameters<typeof transfers.recordExternal>) => {
    made += 1;
    return made === 2 ? Promise.reject(new Error("killed")) : transfers.recordExternal(...given);
  };
  const died = apply({ ...parts, transfers: Object.assign(Object.create(transfers), { recordExternal: dying }) });
  await expect(died).rejects.toThrow("killed");
  expect(await balances()).toEqual([{ available: "5" }]);
  for (let time = 0; time < 2; time += 1) {
    await apply(parts);
    expect(await balances()).toEqual([{ available: "5" }, { available: "6" }, { available: "7" }]);
  }
  await expectBooksBalance(service.db.owner);
  await service.close();
});

test("in production a name that is new in a bootstrap file gets no opening balance while one that had one is gone from it", async () => {
  const desk = { nickname: "desk", balances: { USD: "5" } };
  const till = { nickname: "till", balances: { USD: "1" } };
  const acme = { name: "Acme", profiles: [desk, till] };
  const service = await startTestService({ bootstrap: bootstrapFile({ customers: [acme] }) });
  const apply = async (customers: object[], mode: "sandbox" | "production" = "production") =>
    applyBootstrap(partsOf(service, mode), await readBootstrapFile(bootstrapFile({ customers })));
  const balances = async () => {
    const rows = await service.db.owner.rows<{ available: string }>(
      "select available from account where house is null and asset = 'USD' order by available",
    );
    return rows.map(({ available }) => available).join(" ");
  };
  const customerId = idOf("customer", "Acme");
  const gone = (id: string) =>
    `${id} has an opening balance and is no longer in the file: give the entry that id, or one of its own if it is another`;
  const renamed = { ...desk, nickname: "front desk" };
  const deskId = idOf("profile", customerId, "desk");
  await expect(apply([{ ...acme, profiles: [renamed, till] }])).rejects.toThrow(
    `the bootstrap file cannot be applied:\n  profile "front desk": ${gone(deskId)}`,
  );
  await expect(apply([{ ...acme, name: "Acme Ltd" }])).rejects.toThrow(
    `the bootstrap file cannot be applied:\n  customer "Acme Ltd": ${gone(customerId)}`,
  );
  expect(await balances()).toBe("1 5");
  await apply([{ ...acme, profiles: [{ ...renamed, id: deskId }, till] }]);
  await apply([{ ...acme, name: "Acme Ltd", id: customerId }]);
  // Nothing is credited twice, or nothing is gone.
  await apply([{ ...acme, profiles: [{ nickname: "empty" }, till] }]);
  await apply([{ name: "Elm" }]);
  expect(await balances()).toBe("1 5");
  await apply([acme, { name: "Oak", profiles: [{ ...desk, balances: { USD: "7" } }] }]);
  await apply([
    { ...acme, profiles: [desk, till, { ...desk, nickname: "vault", balances: { USD: "9" } }] },
    { name: "Oak" },
  ]);
  expect(await balances()).toBe("1 5 7 9");
  await apply([{ name: "Yew", profiles: [{ ...desk, balances: { USD: "8" } }] }], "sandbox");
  expect(await balances()).toBe("1 5 7 8 9");
  await expectBooksBalance(service.db.owner);
  await service.close();
});
