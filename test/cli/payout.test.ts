/** `parbook payout run`, with the commands of docs/payouts.md. */

import { once } from "node:events";
import { readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { BulkClient, pauseMs } from "../../src/cli/payout/bulk-client.ts";
import { expectBooksBalance } from "../support/books.ts";
import { startTestService, type TestCustomer, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { run } from "./in-process.ts";
import { availableTo, HEAD, makeFolder, runPayout, writeLines } from "./payout-files.ts";

let service: TestService;
let acme: TestCustomer;
let folder: string;
/** When transfers were made that a payout found. */
const MADE = /\(made 20[-0-9: ]+(?: to 20[-0-9: ]+)?UTC\)/;

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

const payout = (path: string, url = service.baseUrl, ...more: string[]) =>
  runPayout(folder, acme.clientId, path, "--url", url, ...more);

const available = (profile: string) => availableTo(service, acme, profile);

async function fund(profileId: string, amount: string): Promise<void> {
  const body = { asset: "USD", amount };
  const { status } = await service.call("POST", `/v2/sandbox/profiles/${profileId}/deposit`, { as: acme.token, body });
  expect(status).toBe(200);
}

test("the commands of docs/payouts.md try a payout, send it, and send what was rejected again", async () => {
  const [from, to] = [await service.profile(acme, { USD: "10" }), await service.profile(acme)];
  const page = await readFile(new URL("../../docs/payouts.md", import.meta.url), "utf8");
  const table = /\n(from_profile_id,[^`]*)```/.exec(page)?.[1]?.trim().split("\n") ?? [];
  expect(table.length).toBe(4);
  const sent = table.map((line) => line.replace("0190d5a4-1111-7000-8000-000000000004", from));
  await file("salaries.csv", ...sent.map((line) => line.replace("0190d5a4-2222-7000-8000-000000000006", to)));
  const commands = [...page.matchAll(/^ {4}parbook (payout run .*)$/gm)].map(([, command = ""]) =>
    command
      .replace(/[\w.]+\.(?:csv|secret)/g, (name) => join(folder, name))
      .replace("0190d5a4-3333-7000-8000-000000000008", acme.clientId)
      .split(" "),
  );
  expect(commands.length).toBe(3);
  const said: string[][] = [];
  for (const [i, command] of commands.entries()) {
    // The second line needs more than there is at first.
    if (i === 2) await fund(from, "100");
    const { exitCode, stdout, stderr } = await run([...command, "--url", service.baseUrl]);
    said.push([String(exitCode), stderr, ...stdout.trimEnd().split("\n")]);
  }
  const result = join(folder, "salaries.result.csv");
  const again = `parbook payout run ${result} --client ${acme.clientId} --secret-file ${join(folder, "acme.secret")}`;
  const missing = `line 3: profile ${from} has 5 USD available, but 50 is needed`;
  expect(said).toEqual([
    ["1", "", "3 lines: 2 WOULD_COMPLETE, 1 REJECTED", missing],
    [
      ...["1", "", "3 lines: 2 COMPLETED, 1 REJECTED", missing, `Result: ${result}`],
      `What is not done can be sent again: ${again} --url ${service.baseUrl}`,
    ],
    ["0", "", "3 lines: 2 done before, 1 COMPLETED", `Result: ${result}`],
  ]);
  expect([await available(from), await available(to)]).toEqual(["52.5", "57.5"]);
  // The first file, as if there were no result.
  const { exitCode, stdout } = await payout(join(folder, "salaries.csv"));
  expect([exitCode, stdout.replace(MADE, "(made THEN)")]).toEqual([
    0,
    `3 lines: 3 EXISTS (made THEN)\nResult: ${result}\n`,
  ]);
  expect(await available(to)).toBe("57.5");
});

test("a line whose ref_id belongs to something else is not taken for paid", async () => {
  const [from, to] = [await service.profile(acme, { USD: "10" }), await service.profile(acme)];
  const line = (amount: string, refId: string): string => `${from},${to},${amount},USD,${refId},`;
  expect((await payout(await file("before.csv", HEAD, line("1", "other-1")))).exitCode).toBe(0);
  const { exitCode, stdout } = await payout(await file("after.csv", HEAD, line("1", "other-1"), line("2", "other-2")));
  expect([exitCode, stdout.split("\n")[0]?.replace(MADE, "(made THEN)")]).toEqual([
    0,
    "2 lines: 1 EXISTS (made THEN), 1 COMPLETED",
  ]);
  const path = await file("wrong-ref.csv", HEAD, line("3", "other-1"));
  const answer = await payout(path);
  const [paid] = (await service.call("GET", "/v2/transfer/transfers?ref_ids=other-1", { as: acme.token })).body.items;
  expect([answer.exitCode, answer.stdout.split("\n").slice(0, 2)]).toEqual([
    1,
    [
      "1 lines: 1 REJECTED",
      `line 2: ref_id "other-1" is already in use: transfer ${paid.id} is a PLATFORM_TRANSFER_DEBIT of 1 USD`,
    ],
  ]);
  expect([await available(from), await available(to)]).toEqual(["7", "3"]);
});

test("wrong lines are all named, and nothing is sent", async () => {
  const from = await service.profile(acme, { USD: "10" });
  const path = await file(
    "wrong.csv",
    HEAD,
    `${from},default,1,USD,wrong-1,fine`,
    `${from},default,1e3,USD,wrong-2,`,
    `x,default,1,USD,wrong-1,`,
    `${from},default,1,USD`,
    `${from},default,1,,,${"n".repeat(101)}`,
  );
  const { exitCode, stdout, stderr } = await payout(path);
  expect([exitCode, stdout, stderr.trimEnd().split("\n")]).toEqual([
    1,
    "",
    [
      "nothing was sent, because of these lines:",
      '  line 3: amount "1e3" is not a decimal number: up to 60 characters, digits with at most one point, like "10.5"',
      '  line 4: from_profile_id "x" is not a UUID: 36 characters, like 0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00, and not "default"',
      '  line 4: ref_id "wrong-1" is that of line 2 too',
      "  line 5: it has 4 cells, but there are 6 columns",
      "  line 6: asset is empty",
      "  line 6: ref_id is empty",
      `  line 6: metadata.note "${"n".repeat(100)}" has more than 100 characters`,
    ],
  ]);
  expect(await available(from)).toBe("10");
  const columns = await file("columns.csv", "from_profile_id,amount,asset,ref_id,amuont,amount");
  expect((await payout(columns)).stderr.trimEnd().split("\n").slice(1)).toEqual([
    "  line 1: there is no column to_profile_id",
    '  line 1: "amuont" is not a column of a payout',
    "  line 1: there are two columns amount",
  ]);
});

test("a file in another encoding than UTF-8 is rejected, in which two ref_ids would become one", async () => {
  const from = await service.profile(acme, { USD: "10" });
  for (const name of ["M\u00fcller", "M\u00f6ller"]) {
    const path = join(folder, "latin1.csv");
    await writeFile(path, `${HEAD}\n${from},default,1,USD,${name},\n`, "latin1");
    const { exitCode, stdout, stderr } = await payout(path);
    expect([exitCode, stdout, stderr]).toEqual([1, "", "the file is not UTF-8 text: save it as CSV in UTF-8\n"]);
  }
  expect(await available(from)).toBe("10");
});

/** Answers tokens, and bulks by this function. */
async function standIn(
  answer: (bulks: number, request: IncomingMessage) => [status: number, body: object] | undefined,
): Promise<Server> {
  let [bulks, tokens] = [0, 0];
  const server = createServer((request, response) => {
    request.resume();
    const isToken = request.url === "/oauth2/token";
    if (isToken) tokens += 1;
    else bulks += 1;
    const found = isToken ? ([200, { access_token: `t${tokens}` }] as const) : answer(bulks, request);
    const headers = { "retry-after": "0", location: "/elsewhere" };
    if (found !== undefined) response.writeHead(found[0], headers).end(JSON.stringify(found[1]));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

const urlOfServer = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

test("what could not be answered is sent again until it is", async () => {
  const transfer = { id: "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00" };
  const server = await standIn((bulks) => {
    if (bulks === 1) return [503, { detail: "busy" }];
    // It is looked for at the end.
    const status = ["UNKNOWN", "NOT_TRIED", "COMPLETED", "EXISTS"][bulks - 2];
    return [200, { items: [{ index: 0, status, ...(bulks >= 4 && { transfer }) }], ledger_history: "h" }];
  });
  const path = await file("again.csv", HEAD, `default,${acme.defaultProfile},1,USD,again-1,`);
  const { exitCode, stdout } = await payout(path, urlOfServer(server), "--json");
  expect([exitCode, JSON.parse(stdout).counts]).toEqual([0, { COMPLETED: 1 }]);
  server.close();
});

test("nothing is sent to where a server redirects, and an answer without items is none", async () => {
  const path = await file("elsewhere.csv", HEAD, `default,${acme.defaultProfile},1,USD,elsewhere-1,`);
  for (const [status, body] of [
    [307, { detail: "elsewhere" }],
    [200, { detail: "no items" }],
  ] as const) {
    let requests = 0;
    const server = await standIn((bulks) => {
      requests = bulks;
      return bulks === 1 ? [status, body] : [200, { items: [{ index: 0, status: "COMPLETED" }] }];
    });
    const { exitCode, stderr } = await payout(path, urlOfServer(server));
    server.close();
    expect([exitCode, stderr.split("\n")[0], requests]).toEqual([
      1,
      `the service answers ${status}: ${body.detail}: 0 of 1 lines were answered`,
      1,
    ]);
  }
});

test.each([
  ["a token that is no JSON", "token", 200, "welcome", "the service does not respond", 12],
  [
    "a token that is none",
    "token",
    200,
    '{"access_token":{}}',
    "the service gives CLIENT no token: no reason given",
    1,
  ],
  ["a bulk that is cut off", "bulk", 200, '{"items":[{"ind', "the service does not respond", 12],
  ["items that are none", "bulk", 200, '{"items":[null]}', "the service answers 200: no reason given", 1],
  ["an answer of 17 MiB", "bulk", 503, " ".repeat(17 * 1_048_576), "the service does not respond", 12],
  ["a rest of centuries", "bulk", 503, "busy", "the service answers 503: no reason given", 12],
])("%s: the payout ends with words", async (name, of, status, body, reason, attempts) => {
  const pauses: number[] = [];
  const pausing = vi.spyOn(BulkClient.prototype, "pause").mockImplementation(async (attempt, asked) => {
    pauses.push(pauseMs(attempt, asked));
  });
  let requests = 0;
  const server = createServer((request, response) => {
    const isToken = request.url === "/oauth2/token";
    if (isToken === (of === "token")) requests += 1;
    response.statusCode = isToken === (of === "token") ? status : 200;
    response.setHeader("retry-after", "99999999999");
    request.resume().on("end", () => response.end(isToken === (of === "token") ? body : '{"access_token":"t"}'));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const path = await file("hostile.csv", HEAD, `default,${acme.defaultProfile},1,USD,hostile-1,`);
  const { exitCode, stderr } = await payout(path, urlOfServer(server));
  server.close();
  pausing.mockRestore();
  const [said = ""] = stderr.replace(acme.clientId, "CLIENT").split("\n");
  expect([exitCode, said.startsWith(reason), requests, stderr.includes("    at ")]).toEqual([1, true, attempts, false]);
  expect(pauses.every((ms) => ms <= 600_000)).toBe(true);
  expect(pauses).toHaveLength(attempts - 1);
  if (name === "a rest of centuries") expect(pauses[0]).toBe(600_000);
});

test("that a result cannot be written is said beside what was paid", async () => {
  const target = await service.profile(acme);
  const path = await file("full.csv", HEAD, `default,${target},1,USD,full-1,`);
  await fund(acme.defaultProfile, "1");
  // As with a full disk: known only once all is sent.
  const nowhere = join(folder, "nowhere", "full.csv");
  const { exitCode, stdout, stderr } = await payout(path, service.baseUrl, "--result", nowhere);
  expect([exitCode, stdout]).toEqual([1, "1 lines: 1 COMPLETED\n"]);
  const lines = stderr.trimEnd().split("\n");
  expect(lines).toEqual([
    expect.stringMatching(/^the result could not be written: .*nowhere\/full\.csv/),
    `  nothing is paid twice: once there is room, or to another place, get it with: parbook payout run ${path} --client ${acme.clientId} --secret-file ${join(folder, "acme.secret")} --url ${service.baseUrl} --result PATH`,
  ]);
  expect(await available(target)).toBe("1");
  const elsewhere = await payout(path, service.baseUrl, "--result", join(folder, "later.csv"));
  expect([elsewhere.exitCode, elsewhere.stdout]).toEqual([0, expect.stringContaining("1 lines: 1 EXISTS")]);
  expect(await available(target)).toBe("1");
});

test("of an answer only texts are taken", async () => {
  const odd = { detail: { a: 1 }, meta: { existing: 7 } };
  const existing = { id: [], type: "internal", amount: "1", asset: "USD" };
  const server = await standIn(() => [
    200,
    {
      items: [
        { status: "REJECTED", transfer: { id: {} }, problem: odd },
        { status: "REJECTED", transfer: 7, problem: { detail: "it is used", meta: { existing: null } } },
        { status: "REJECTED", problem: { detail: "it is used", meta: { existing } } },
        { status: "REJECTED", problem: { detail: "it is used", meta: { existing: { ...existing, id: "ID" } } } },
      ],
    },
  ]);
  const lines = Array.from({ length: 4 }, (_, i) => `default,${acme.defaultProfile},1,USD,odd-${i},`);
  const path = await file("odd.csv", HEAD, ...lines);
  const { exitCode, stdout, stderr } = await payout(path, urlOfServer(server));
  const result = await readFile(join(folder, "odd.result.csv"), "utf8");
  const refused = await standIn(() => [418, odd]);
  const { stderr: why } = await payout(path, urlOfServer(refused));
  server.close();
  refused.close();
  expect([exitCode, stderr]).toEqual([1, ""]);
  expect(stdout.split("\n").slice(0, 5)).toEqual([
    "4 lines: 4 REJECTED",
    "line 2: no reason given",
    "line 3: it is used",
    "line 4: it is used",
    "line 5: it is used: transfer ID is a internal of 1 USD",
  ]);
  const [reason, next] = why.split("\n");
  expect(reason).toBe("the service answers 418: no reason given: 0 of 4 lines were answered");
  // The result of the run before is still there.
  expect(next).toContain(`go on with: parbook payout run ${path} --client`);
  expect(await readFile(join(folder, "odd.result.csv"), "utf8")).toBe(result);
  expect(result).toContain(",odd-1,,REJECTED,,");
});

test("a token that is no longer accepted is replaced, and what it was sent with is sent again", async () => {
  const tokens: (string | undefined)[] = [];
  const server = await standIn((bulks, { headers }) => {
    tokens.push(headers.authorization);
    if (bulks === 2) return [401, { detail: "the token has expired" }];
    // Behind both they are looked for.
    const [length = 0, status] = [[100, 0, 1, 100, 1][bulks - 1], bulks < 4 ? "COMPLETED" : "EXISTS"];
    return [200, { items: Array.from({ length }, (_, index) => ({ index, status })), ledger_history: "h" }];
  });
  const lines = Array.from({ length: 101 }, (_, i) => `default,${acme.defaultProfile},1,USD,late-${i},`);
  const { exitCode, stdout } = await payout(await file("late.csv", HEAD, ...lines), urlOfServer(server), "--json");
  server.close();
  expect([exitCode, JSON.parse(stdout).counts]).toEqual([0, { COMPLETED: 101 }]);
  expect(tokens).toEqual(["Bearer t1", "Bearer t1", ...new Array(3).fill("Bearer t2")]);
});

test("Ctrl-C says how to go on, and its result can be run", async () => {
  let bulks = 0;
  const server = await standIn((count) => {
    bulks = count;
    if (count > 1) return undefined;
    const items = Array.from({ length: 100 }, (_, index) => ({
      index,
      ...(index === 99 ? { status: "UNKNOWN" } : { status: "COMPLETED", transfer: { id: `t${index}` } }),
    }));
    return [200, { items }];
  });
  const [from, to] = [await service.profile(acme, { USD: "200" }), await service.profile(acme)];
  const lines = Array.from({ length: 150 }, (_, i) => `${from},${to},1,USD,stop-${i},"a, b"`);
  const path = await file("it's to stop.csv", HEAD, ...lines);
  const url = urlOfServer(server);
  const running = payout(path, url, "--kind", "internal");
  await until("the second bulk is sent", () => bulks === 2);
  process.listeners("SIGINT").at(-1)?.("SIGINT");
  const { exitCode, stdout, stderr } = await running;
  server.closeAllConnections();
  server.close();
  const result = join(folder, "it's to stop.result.csv");
  const options = `--client ${acme.clientId} --secret-file ${join(folder, "acme.secret")} --kind internal --url ${url}`;
  expect([exitCode, stdout, stderr.trimEnd().split("\n")]).toEqual([
    1,
    "",
    [
      "interrupted: 99 of 150 lines were answered",
      `  go on with: parbook payout run '${result.replace("'", "'\\''")}' ${options}`,
    ],
  ]);
  const written = (await readFile(result, "utf8")).split("\n");
  expect([written[0], written[99], written[100], written[101]]).toEqual([
    `${HEAD},status,transfer_id,detail`,
    `${from},${to},1,USD,stop-98,"a, b",COMPLETED,t98,it was answered; the run ended before it looked whether the service still has it`,
    `${from},${to},1,USD,stop-99,"a, b",UNKNOWN,,`,
    `${from},${to},1,USD,stop-100,"a, b",,,`,
  ]);
  const itemsOf = (status: string, first: number, next: number) =>
    Array.from({ length: next - first }, (_, i) => ({ status, transfer: { id: `t${first + i}` } }));
  const found = [itemsOf("EXISTS", 0, 100), itemsOf("EXISTS", 100, 150)];
  const answers = [itemsOf("EXISTS", 0, 99), itemsOf("COMPLETED", 99, 150), ...found];
  const resumed = await standIn((count) => [200, { items: answers[count - 1], ledger_history: "h" }]);
  const answer = await payout(result, urlOfServer(resumed), "--kind", "internal");
  expect([answer.exitCode, answer.stdout.split("\n")[0]]).toEqual([0, "150 lines: 99 done before, 51 COMPLETED"]);
  expect((await readFile(result, "utf8")).split("\n")[100]).toBe(`${from},${to},1,USD,stop-99,"a, b",COMPLETED,t99,`);
  resumed.close();
});

test("a client without the secret or the scope is told so", async () => {
  const path = await file("denied.csv", HEAD, `default,${acme.defaultProfile},1,USD,denied-1,`);
  const answer = '{"error":"invalid_scope","error_description":"the client does not hold it"}';
  const server = createServer((request, response) =>
    request.resume().on("end", () => response.writeHead(400).end(answer)),
  );
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { stderr } = await payout(path, urlOfServer(server));
  server.close();
  expect(stderr.split("\n")[0]).toBe(
    `the service gives ${acme.clientId} no token: the client does not hold it (a service with a dialect has other scopes: it takes no payouts): 0 of 1 lines were answered`,
  );
  const denied = await run([
    "payout",
    "run",
    path,
    "--client",
    "nobody",
    "--secret-file",
    join(folder, "acme.secret"),
    "--url",
    service.baseUrl,
  ]);
  expect([denied.exitCode, denied.stderr]).toEqual([1, expect.stringContaining("the service gives nobody no token")]);
});
