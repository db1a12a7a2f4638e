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

/** A running service with what Acme had when it began, and Beta. */
async function startWithBalances() {
  const acme = {
    name: "Acme",
    profiles: [
      { nickname: "treasury", balances: { USD: "5" } },
      { nickname: "ops", balances: { USDG: "1" } },
    ],
  };
  const beta = { name: "Beta", profiles: [{ nickname: "main" }] };
  const service = await startTestService({ bootstrap: bootstrapFile({ customers: [acme, beta] }) });
  const apply = async (customers: object[], mode: "sandbox" | "production" = "production") =>
    applyBootstrap(partsOf(service, mode), await readBootstrapFile(bootstrapFile({ customers })));
  const balances = async () => {
    const rows = await service.db.owner.rows<{ text: string }>(
      "select available || ' ' || asset as text from account where house is null and available > 0 order by asset, available",
    );
    return rows.map(({ text }) => text).join(", ");
  };
  return { service, acme, beta, apply, balances, customerId: idOf("customer", "Acme") };
}

/** What is said of a balance that is gone from the file. */
const gone = (nickname: string, asset: string, lost: { asset: string; profile: string }, choice: string) =>
  `the bootstrap file cannot be applied:\n  profile "${nickname}": ${asset} would be deposited, and the opening balance of ${lost.asset} of profile ${lost.profile}, which was, is no longer in the file: ${choice}`;
const OTHERWISE = 'put that back, if only as "0", or give this entry an id of its own';

test("in production no opening balance is made for a new name while one that was made is gone from the file", async () => {
  const { service, acme, beta, apply, balances, customerId } = await startWithBalances();
  const [treasury, ops] = acme.profiles;
  const usd = { asset: "USD", profile: idOf("profile", customerId, "treasury") };
  const renamed = { ...treasury, nickname: "front desk" };
  await expect(apply([{ ...acme, profiles: [renamed, ops] }])).rejects.toThrow(
    gone("front desk", "USD", usd, `if this is that profile, give it that id; if not, ${OTHERWISE}`),
  );
  const ltd = { ...acme, name: "Acme Ltd" };
  // Of each of its balances, and of one that is gone.
  const itself = `if its customer is ${customerId}, give it that id; if not, ${OTHERWISE}`;
  const first = [usd, { asset: "USDG", profile: idOf("profile", customerId, "ops") }].sort((a, b) =>
    a.profile < b.profile ? -1 : 1,
  )[0] as typeof usd;
  const [, ...lines] = gone("ops", "USDG", first, itself).split("\n");
  await expect(apply([ltd, beta])).rejects.toThrow([gone("treasury", "USD", first, itself), ...lines].join("\n"));
  const moved = [
    { ...acme, profiles: [ops] },
    { ...beta, profiles: [treasury] },
  ];
  await expect(apply(moved)).rejects.toThrow(gone("treasury", "USD", usd, OTHERWISE));
  expect(await balances()).toBe("5 USD, 1 USDG");
  await apply([{ ...acme, profiles: [{ ...renamed, id: usd.profile }, ops] }]);
  await apply([{ ...ltd, id: customerId }]);
  // Nothing is deposited again, or nothing is gone.
  await apply([{ ...acme, profiles: [{ nickname: "empty" }, ops] }]);
  await apply([{ name: "Elm", profiles: [{ nickname: "desk", balances: { USD: "0" } }] }]);
  expect(await balances()).toBe("5 USD, 1 USDG");
  const oak = { name: "Oak", profiles: [{ nickname: "desk", balances: { USD: "7" } }] };
  await apply([acme, oak]);
  await apply([{ ...acme, profiles: [{ ...renamed, id: PROFILE, balances: { USD: "8" } }] }]);
  await apply([{ name: "Yew", id: CUSTOMER, profiles: [{ ...treasury, balances: { USD: "9" } }] }]);
  expect(await balances()).toBe("5 USD, 7 USD, 8 USD, 9 USD, 1 USDG");
  await apply([{ name: "Ash", profiles: [{ ...treasury, balances: { USD: "10" } }] }], "sandbox");
  expect(await balances()).toBe("5 USD, 7 USD, 8 USD, 9 USD, 10 USD, 1 USDG");
  await expectBooksBalance(service.db.owner);
  await service.close();
});

test("in production no opening balance is made for an existing profile while one that was made is gone from the file", async () => {
  const { service, acme, beta, apply, balances, customerId } = await startWithBalances();
  const [treasury, ops] = acme.profiles;
  const usd = { asset: "USD", profile: idOf("profile", customerId, "treasury") };
  const usdg = { asset: "USDG", profile: idOf("profile", customerId, "ops") };
  const choice = 'put that back, if only as "0", or use parbook deposit';
  const of = (...profiles: object[]) => apply([{ ...acme, profiles }, beta]);
  // Its asset is corrected.
  const corrected = { nickname: "ops", balances: { USDP: "1" } };
  await expect(of(treasury as object, corrected)).rejects.toThrow(gone("ops", "USDP", usdg, choice));
  // It is moved, to another or to that of the customer itself.
  const both = { nickname: "ops", balances: { USD: "5", USDG: "1" } };
  await expect(of({ nickname: "treasury" }, both)).rejects.toThrow(gone("ops", "USD", usd, choice));
  const own = { nickname: "default", balances: { USD: "5" } };
  await expect(of(own, ops as object)).rejects.toThrow(gone("default", "USD", usd, choice));
  // As by its id.
  await expect(of(treasury as object, { ...corrected, id: usdg.profile })).rejects.toThrow(
    gone("ops", "USDP", usdg, choice),
  );
  // Later, too: what was made is known for ever.
  await of({ nickname: "treasury" }, { nickname: "ops" });
  await expect(of(own)).rejects.toThrow('profile "default": USD would be deposited');
  expect(await balances()).toBe("5 USD, 1 USDG");
  await of(treasury as object, { nickname: "ops", balances: { USDG: "0", USDP: "2" } });
  expect(await balances()).toBe("5 USD, 1 USDG, 2 USDP");
  await expectBooksBalance(service.db.owner);
  await service.close();
});
