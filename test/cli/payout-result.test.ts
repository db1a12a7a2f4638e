/** `parbook payout run` with the result of a run at another service, or before a restore. */
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectBooksBalance } from "../support/books.ts";
import { newId } from "../support/movements.ts";
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

test("all lines that are done are looked for, wherever they stand", async () => {
  const [from, to] = [await service.profile(acme, { USD: "200" }), await service.profile(acme)];
  const line = (refId: string): string => `${from},${to},1,USD,${refId},`;
  const bulks = Array.from({ length: 150 }, (_, i) => line(`kept-${i}`));
  const kept = await file("kept.csv", HEAD, ...bulks);
  const { exitCode: first, stdout: said } = await payout(kept, "--result", join(folder, "kept.result.csv"));
  expect([first, said.split("\n")[0]]).toEqual([0, "150 lines: 150 COMPLETED"]);
  const done = (await readFile(join(folder, "kept.result.csv"), "utf8")).trimEnd().split("\n");
  const [head = "", ...paid] = done;
  const lost = `${line("lost")},COMPLETED,${newId()},`;
  const open = `${line("open")},,,`;
  const refused = (number: number) => [
    1,
    "",
    `a line is done by the file, but this service has no such transfer, beginning with line ${number}`,
  ];
  for (const [lines, number] of [
    [[lost, ...paid, open], 2],
    [[...paid, lost, open], 152],
  ] as const) {
    const { exitCode, stdout, stderr } = await payout(await file("lost.result.csv", head, ...lines));
    expect([exitCode, stdout, stderr.split(":")[0]]).toEqual(refused(number));
  }
  expect(await available(to)).toBe("150");
});
