/** `parbook payout run` with the result of an earlier run, the ref_ids of another payout, or a place where no result belongs. */
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { expectBooksBalance } from "../support/books.ts";
import { newId, TESTER } from "../support/movements.ts";
import { unwrap } from "../support/results.ts";
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

const notHere = (what: string, number: number): string =>
  `${what} done by the file, but this service has no such transfer of this client's customer, beginning with line ${number}: nothing was sent. Either --url is another service, --client is another customer's, ref_ids were changed since, or the service was restored from a backup. Only after a restore, with the ref_ids of the first run, run the file without results: it pays what was lost. In all other cases that pays twice\n`;

test("a result whose ref_ids were changed is told those of the payments, and never to pay them again", async () => {
  const [from, to] = [await service.profile(acme, { USD: "10" }), await service.profile(acme)];
  const refIds = ["first-1", "first-2", "first-3"];
  const path = await file("first.csv", HEAD, ...refIds.map((refId) => `${from},${to},1,USD,${refId},`));
  expect((await payout(path)).exitCode).toBe(0);
  const [head = "", one = "", two = "", three = ""] = (await readFile(join(folder, "first.result.csv"), "utf8")).split(
    "\n",
  );
  const idOf = (line: string): string | undefined => line.split(",").at(-2);
  const said = (line: number, id: string | undefined, refId: string, lines: string) => ({
    exitCode: 1,
    stdout: "",
    stderr: `line ${line} was paid as transfer ${id} with the ref_id "${refId}", but is different in the file now${lines}: nothing was sent. Undo what was changed and run this file again; without its results it could pay twice\n`,
  });
  const edited = (line: string): string => line.replace("first-", "second-");
  const both = await file("both.result.csv", head, one, edited(two), edited(three));
  expect(await payout(both)).toEqual(said(3, idOf(two), "first-2", " (2 such lines)"));
  // One that was never paid is not advised to be paid either, while another one was.
  const invented = `${from},${to},1,USD,second-0,,COMPLETED,${newId()},`;
  const mixed = await file("edited.result.csv", head, invented, edited(two));
  expect(await payout(mixed)).toEqual(said(3, idOf(two), "first-2", ""));
  // Its ref_id is as it was, and the amount is not.
  const more = await file("more.result.csv", head, one.replace(",1,USD,", ",2,USD,"));
  expect(await payout(more)).toEqual(said(2, idOf(one), "first-1", ""));
  expect(await available(to)).toBe("3");
});

test("what cannot be looked up is not advised to be paid again but after a restore", async () => {
  const [from, to] = [await service.profile(acme, { USD: "10" }), await service.profile(acme)];
  const path = await file("own.csv", HEAD, `${from},${to},1,USD,own-1,`);
  expect((await payout(path)).exitCode).toBe(0);
  const result = await readFile(join(folder, "own.result.csv"), "utf8");
  const edited = await file("others.result.csv", ...result.trimEnd().replace("own-1", "own-2").split("\n"));
  const { clients } = service.service.core;
  const scopes = ["transfer:write_platform_transfer"];
  const writer = unwrap(await clients.create({ customerId: acme.id, scopes }, TESTER));
  const borealis = await service.customer("Borealis");
  for (const { clientId, secret } of [writer, borealis]) {
    const theirs = await makeFolder(secret);
    onTestFinished(() => rm(theirs, { recursive: true }));
    expect(await runPayout(theirs, clientId, edited, "--url", service.baseUrl)).toEqual({
      exitCode: 1,
      stdout: "",
      stderr: notHere("a line is", 2),
    });
  }
  expect(await available(to)).toBe("1");
});

test("a result of payments that a service does not have pays nothing there", async () => {
  const [from, to] = [await service.profile(acme, { USD: "10" }), await service.profile(acme)];
  const line = (refId: string, result: string): string => `${from},${to},1,USD,${refId},,${result}`;
  const lines = [line("gone-1", "COMPLETED,t1,"), line("gone-2", "EXISTS,t2,"), line("gone-3", ",,")];
  const path = await file("restored.result.csv", `${HEAD},status,transfer_id,detail`, ...lines);
  const refused = (what: string, number: number) => ({
    exitCode: 1,
    stdout: "",
    stderr: notHere(what, number),
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
    `a line is done by the file, but this service has no such transfer of this client's customer, beginning with line ${number}`,
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

test("a result replaces only that of an earlier run of the same payout", async () => {
  const [from, to] = [await service.profile(acme, { USD: "10" }), await service.profile(acme)];
  const line = (refId: string, amount = "1") => `${from},${to},${amount},USD,${refId},`;
  const october = await file("salaries.csv", HEAD, line("october-1"), line("october-2", "100"));
  expect((await payout(october)).exitCode).toBe(1);
  const result = join(folder, "salaries.result.csv");
  const first = await readFile(result, "utf8");
  const rejected = (path: string) => ({
    exitCode: 1,
    stdout: "",
    stderr: `${path} exists, and is not the result of an earlier run of this payout: nothing was sent. Move it away, or name another place by --result\n`,
  });
  // The next month's, in the same file.
  await file("salaries.csv", HEAD, line("november-1"));
  expect(await payout(october)).toEqual(rejected(result));
  const december = await file("december.csv", HEAD, line("december-1"));
  expect(await payout(october, "--result", december)).toEqual(rejected(december));
  const notes = await file("notes.txt", 'no "CSV');
  expect(await payout(october, "--result", notes)).toEqual(rejected(notes));
  expect([await readFile(result, "utf8"), await available(to)]).toEqual([first, "1"]);
  // What was rejected is corrected, with another ref_id; and a place that was made for it.
  await file("salaries.csv", HEAD, line("october-1"), line("october-3"));
  expect((await payout(october)).exitCode).toBe(0);
  const made = join(folder, "made.csv");
  await writeFile(made, "");
  expect((await payout(october, "--result", made)).exitCode).toBe(0);
  expect((await readFile(made, "utf8")).split("\n").map((each) => each.split(",").at(-3))).toEqual([
    "status",
    "EXISTS",
    "EXISTS",
    undefined,
  ]);
  expect(await available(to)).toBe("2");
});

test("a file with the ref_ids of an earlier one says when those payments were made, and pays nothing", async () => {
  const [from, to] = [await service.profile(acme, { USD: "100" }), await service.profile(acme)];
  const lines = (month: string): string[] =>
    ["5", "7"].map((amount, i) => `${from},${to},${amount},USD,salary-${i},${month}`);
  expect((await payout(await file("october.csv", HEAD, ...lines("October")))).exitCode).toBe(0);
  const { body } = await service.call("GET", "/v2/transfer/transfers?ref_ids=salary-0&ref_ids=salary-1", {
    as: acme.token,
  });
  const times: string[] = body.items.map((item: { created_at: string }) => item.created_at).sort();
  const november = await file("november.csv", HEAD, ...lines("November"));
  const minutes = [...new Set(times.map((time) => time.slice(0, 16).replace("T", " ")))];
  const said = await payout(november);
  expect([said.exitCode, said.stdout.split("\n")[0]]).toEqual([
    0,
    `2 lines: 2 EXISTS (made ${minutes.join(" to ")} UTC)`,
  ]);
  const { json } = await payout(november, "--json").then(({ stdout }) => ({
    json: JSON.parse(stdout),
  }));
  expect(json).toMatchObject({ counts: { EXISTS: 2 }, exists_made: { first: times[0], last: times.at(-1) } });
  expect(await available(to)).toBe("12");
});

test("a result in the place of a device is rejected before anything is sent", async () => {
  const [from, to] = [await service.profile(acme, { USD: "10" }), await service.profile(acme)];
  const path = await file("device.csv", HEAD, `${from},${to},1,USD,device-1,`);
  expect(await payout(path, "--result", "/dev/null")).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: "/dev/null cannot be used: it is not a regular file\n",
  });
  expect(await available(to)).toBe("0");
});
