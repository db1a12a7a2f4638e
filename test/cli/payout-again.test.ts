/** Payouts whose ref_ids were used before, and results that must not be written. */
import { rm } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { expectBooksBalance } from "../support/books.ts";
import { startTestService, type TestCustomer, type TestService } from "../support/service.ts";
import type { Said } from "./in-process.ts";
import { availableTo, HEAD, makeFolder, runPayout, writeLines } from "./payout-files.ts";

let service: TestService;
let acme: TestCustomer;
let folder: string;
beforeAll(async () => {
  service = await startTestService();
  acme = await service.customer("Acme");
  folder = await makeFolder(acme.secret);
});
afterEach(() => expectBooksBalance(service.db.owner));
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true });
});

const pay = (path: string, ...options: string[]): Promise<Said> =>
  runPayout(folder, acme.clientId, path, "--url", service.baseUrl, ...options);

test("a file with the ref_ids of an earlier one says when those payments were made, and pays nothing", async () => {
  const [from, to] = [await service.profile(acme, { USD: "100" }), await service.profile(acme)];
  const lines = (month: string): string[] =>
    ["5", "7"].map((amount, i) => `${from},${to},${amount},USD,salary-${i},${month}`);
  expect((await pay(await writeLines(folder, "october.csv", [HEAD, ...lines("October")]))).exitCode).toBe(0);
  const { body } = await service.call("GET", "/v2/transfer/transfers?ref_ids=salary-0&ref_ids=salary-1", {
    as: acme.token,
  });
  const times: string[] = body.items.map((item: { created_at: string }) => item.created_at).sort();
  const november = await writeLines(folder, "november.csv", [HEAD, ...lines("November")]);
  const minutes = [...new Set(times.map((time) => time.slice(0, 16).replace("T", " ")))];
  const said = await pay(november);
  expect([said.exitCode, said.stdout.split("\n")[0]]).toEqual([
    0,
    `2 lines: 2 EXISTS (made ${minutes.join(" to ")} UTC)`,
  ]);
  const { json } = await pay(november, "--json").then(({ stdout }) => ({
    json: JSON.parse(stdout),
  }));
  expect(json).toMatchObject({ counts: { EXISTS: 2 }, exists_made: { first: times[0], last: times.at(-1) } });
  expect(await availableTo(service, acme, to)).toBe("12");
});

test("a result in the place of a device is rejected before anything is sent", async () => {
  const [from, to] = [await service.profile(acme, { USD: "10" }), await service.profile(acme)];
  const path = await writeLines(folder, "device.csv", [HEAD, `${from},${to},1,USD,device-1,`]);
  expect(await pay(path, "--result", "/dev/null")).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: "/dev/null cannot be used: it is not a regular file\n",
  });
  expect(await availableTo(service, acme, to)).toBe("0");
});
