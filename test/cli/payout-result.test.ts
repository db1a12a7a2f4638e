/** `parbook payout run` with the result of a run at another service, or before a restore. */
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectBooksBalance } from "../support/books.ts";
import { startTestService, type TestCustomer, type TestService } from "../support/service.ts";
import { availableTo, HEAD, makeFolder, runPayout, writeLines } from "./payout-files.ts";

let service: TestService;
let acme: TestCustomer;
let folder: string;
beforeAll(async () => {
  service = await startTestService();
  acme = await service.customer("Acme");
  folder = await makeFolder(acme.secret);
});
afterAll(async () => {
  await expectBooksBalance(service.db.owner);
  await service.close();
  await rm(folder, { recursive: true });
});

const file = (name: string, ...lines: string[]) => writeLines(folder, name, lines);

const payout = (path: string, ...options: string[]) =>
  runPayout(folder, acme.clientId, path, "--url", service.baseUrl, ...options);

const available = (profile: string) => availableTo(service, acme, profile);

test("a result of payments that a service does not have pays nothing there", async () => {
  const [from, to] = [await service.profile(acme, { USD: "10" }), await service.profile(acme)];
  const line = (refId: string, result: string): string => `${from},${to},1,USD,${refId},,${result}`;
  const lines = [line("gone-1", "COMPLETED,t1,"), line("gone-2", "EXISTS,t2,"), line("gone-3", ",,")];
  const path = await file("restored.result.csv", `${HEAD},status,transfer_id,detail`, ...lines);
  const refused = (what: string, number: number) => ({
    exitCode: 1,
    stdout: "",
    stderr: `${what} done by the file, but this service has no such transfer, beginning with line ${number}: nothing was sent. Is it another service, or was it restored from a backup? The file without results pays each line once: run that\n`,
  });
  expect(await payout(path)).toEqual(refused("2 lines are", 2));
  expect(await available(to)).toBe("0");
  // What has the ref_id is another transfer than the one that the file names.
  const first = await file(
    "restored.csv",
    HEAD,
    ...["gone-1", "gone-2"].map((refId) => `${from},${to},1,USD,${refId},`),
  );
  expect((await payout(first, "--result", join(folder, "paid.csv"))).exitCode).toBe(0);
  expect(await payout(path)).toEqual(refused("2 lines are", 2));
  const [head = "", one = ""] = (await readFile(join(folder, "paid.csv"), "utf8")).split("\n");
  const mixed = await file("mixed.result.csv", head, one, line("gone-2", "EXISTS,t2,"), line("gone-3", ",,"));
  expect(await payout(mixed)).toEqual(refused("a line is", 3));
  const right = await file("right.result.csv", head, one, line("gone-2", "EXISTS,,"), line("gone-3", ",,"));
  expect((await payout(right)).stdout.split("\n")[0]).toBe("3 lines: 2 done before, 1 COMPLETED");
  expect(await available(to)).toBe("3");
});

test("of many lines that are done the last hundred are looked for: a restored service lacks those", async () => {
  const [from, to] = [await service.profile(acme, { USD: "200" }), await service.profile(acme)];
  const line = (refId: string): string => `${from},${to},1,USD,${refId},`;
  const hundred = Array.from({ length: 100 }, (_, i) => line(`kept-${i}`));
  const kept = await file("kept.csv", HEAD, ...hundred);
  expect((await payout(kept, "--result", join(folder, "kept.result.csv"))).exitCode).toBe(0);
  const done = (await readFile(join(folder, "kept.result.csv"), "utf8")).trimEnd().split("\n");
  const lost = await file("lost.result.csv", ...done, `${line("lost")},COMPLETED,t1,`, `${line("open")},,,`);
  const { exitCode, stdout, stderr } = await payout(lost);
  expect([exitCode, stdout, stderr.split(":")[0]]).toEqual([
    1,
    "",
    "a line is done by the file, but this service has no such transfer, beginning with line 102",
  ]);
  expect(await available(to)).toBe("100");
});
