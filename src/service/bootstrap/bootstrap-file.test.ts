/** The exact messages for an invalid bootstrap file. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BootstrapError, idOf, readBootstrapFile } from "./bootstrap-file.ts";

let directory = "";

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parbook-bootstrap-"));
});

afterAll(() => rm(directory, { recursive: true, force: true }));

/** The lines below the first, which names the file. */
async function errorLinesOf(content: unknown): Promise<string[]> {
  const path = join(directory, "bootstrap.json");
  await writeFile(path, JSON.stringify(content));
  const error = await readBootstrapFile(path).then(
    () => new Error("it was accepted"),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(BootstrapError);
  const [first, ...lines] = (error as Error).message.split("\n");
  expect(first).toBe(`the bootstrap file ${path} is wrong:`);
  return lines;
}

test("a misspelt field is reported with its entry and the missing field", async () => {
  expect(await errorLinesOf({ customers: [{ nam: "Acme" }] })).toEqual([
    "  customers[0].name is required",
    "  customers[0].nam is not a field of a customer",
  ]);
  const client = { client_id: "acme", client_secret: "s", scopes: ["*"], colour: "blue" };
  const profile = { nickname: "desk", balance: { USD: "1" } };
  expect(
    await errorLinesOf({ customers: [{ name: "A" }, { name: "B", clients: [client], profiles: [profile] }] }),
  ).toEqual([
    "  customers[1].clients[0].colour is not a field of a client",
    "  customers[1].profiles[0].balance is not a field of a profile",
  ]);
  expect(await errorLinesOf({ customers: [], tenants: [] })).toEqual(["  tenants is not a field of the file"]);
});

test("an invalid value is reported by its rule and never shown", async () => {
  const clients = [{ client_id: "x".repeat(101), client_secret: 4711, scopes: [] }];
  const profiles = [{ id: "17", nickname: "desk", balances: { USD: "-1" } }];
  expect(await errorLinesOf({ customers: [{ name: "", clients, profiles }] })).toEqual([
    "  customers[0].name is empty",
    "  customers[0].clients[0].client_id has more than 100 characters",
    '  customers[0].clients[0].client_secret must be text, in " "',
    "  customers[0].clients[0].scopes is empty",
    "  customers[0].profiles[0].id is not a UUID in lower case",
    '  customers[0].profiles[0].balances.USD is not a decimal number such as "1000" or "0.5"',
  ]);
});

test("a long balance that is none is reported at once", async () => {
  const profiles = [{ nickname: "desk", balances: { USD: `${"1".repeat(50_000)}x` } }];
  // Of CPU: others may keep the machine busy.
  const before = process.cpuUsage();
  expect(await errorLinesOf({ customers: [{ name: "Acme", profiles }] })).toEqual([
    '  customers[0].profiles[0].balances.USD is not a decimal number such as "1000" or "0.5"',
  ]);
  expect(process.cpuUsage(before).user).toBeLessThan(500_000);
});

test("a file of the wrong shape gets an error with the right one", async () => {
  expect(await errorLinesOf([])).toEqual(["  the file must be an object, in { }"]);
  expect(await errorLinesOf({})).toEqual(["  customers is required"]);
  expect(await errorLinesOf({ customers: {} })).toEqual(["  customers must be a list, in [ ]"]);
});

test("only the first errors are listed, with a note that there may be more", async () => {
  const misspelt = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`field${at}`, at]));
  const lines = await errorLinesOf({ customers: [{ name: "Acme", ...misspelt }] });
  const first = Array.from({ length: 8 }, (_, at) => `  customers[0].field${at} is not a field of a customer`);
  expect(lines).toEqual([...first, "  there may be more errors"]);
});

test("an entry without an id always gets the same one, so that its opening balance is deposited once", () => {
  // A UUID of version 8 with the digits of: printf '["customer","Acme"]' | sha256sum
  const acme = "1e0e16ac-ebfe-8918-8918-efda815fc81c";
  expect(idOf("customer", "Acme")).toBe(acme);
  expect(idOf("profile", acme, "treasury")).toBe("cdd5b4dc-bb69-8f07-8948-f3ad2cc2b4de");
  expect(idOf("profile", acme, "a", "b")).not.toBe(idOf("profile", acme, "a,b"));
});

test("a field whose name has the signs of a JSON pointer is named as it stands in the file", async () => {
  const odd = ["a/b", "c~d", "e~1f"];
  const balances = Object.fromEntries(odd.map((name) => [name, "-1"]));
  const customers = [{ name: "Acme", profiles: [{ nickname: "desk", balances }] }];
  expect(await errorLinesOf({ customers })).toEqual(
    odd.map((name) => `  customers[0].profiles[0].balances.${name} is not a decimal number such as "1000" or "0.5"`),
  );
});
