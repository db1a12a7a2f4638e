/** What `parbook payout run` sends to a service, and when it sends again (docs/payouts.md). */
import { once } from "node:events";
import { readFile, rm, stat } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { BulkClient, pauseMs } from "../../src/cli/payout/bulk-client.ts";
import { IdSource } from "../../src/std/id.ts";
import { readCertificate } from "../support/http/certificate.ts";
import { HEAD, makeFolder, runPayout, writeLines } from "./payout-files.ts";

const [PROFILE, CLIENT, SECRET] = ["0190d5a4-1111-7000-8000-000000000004", "acme", "the secret"];

let folder: string;
beforeAll(async () => {
  folder = await makeFolder(SECRET);
});
afterAll(() => rm(folder, { recursive: true }));

const file = (name: string, ...lines: string[]) => writeLines(folder, name, lines);

const payout = (path: string, url: string, ...more: string[]) => runPayout(folder, CLIENT, path, "--url", url, ...more);

const urlOfServer = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

interface SentBulk {
  readonly dry_run: boolean;
  readonly items: readonly { readonly ref_id: string }[];
}

/**
 * Issues tokens, and answers each bulk by this function: with results, or a status without a body.
 * @param history what it names as that of its ledger; undefined: nothing
 * @returns its URL
 */
async function bulkServer(
  answer: (bulk: SentBulk) => readonly object[] | number,
  history: () => string | undefined = () => "h",
): Promise<string> {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request.setEncoding("utf8")) body += piece;
    if (request.url === "/oauth2/token") return void response.end(JSON.stringify({ access_token: "t" }));
    if (request.method === "GET") return void response.end('{"items":[]}');
    const answered = answer(JSON.parse(body));
    if (typeof answered === "number") response.writeHead(answered, { "retry-after": "0" }).end();
    else {
      const exists = answered.some((item) => "status" in item && item.status === "EXISTS");
      response.end(JSON.stringify({ items: answered, ...(exists && { ledger_history: history() }) }));
    }
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  return urlOfServer(server);
}

test("each bulk has the scope, the path and the body that its kind needs, and no result is written of what was tried", async () => {
  const requests: [path: string | undefined, authorization: string | undefined, body: string][] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request.setEncoding("utf8")) body += piece;
    requests.push([request.url, request.headers.authorization, body]);
    const answer = request.url === "/oauth2/token" ? { access_token: "t" } : { items: [{ status: "WOULD_COMPLETE" }] };
    response.end(JSON.stringify(answer));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const path = await file("bodies.csv", HEAD, `default,${PROFILE},1,USD,bodies-1,note`);
  const item = {
    ...{ from_profile_id: "default", to_profile_id: PROFILE, amount: "1", asset: "USD" },
    ...{ ref_id: "bodies-1", metadata: { note: "note" } },
  };
  for (const kind of ["internal", "platform"]) {
    // With a slash at the end, as it is copied from a browser.
    const { exitCode } = await payout(path, `${urlOfServer(server)}/`, "--dry-run", "--kind", kind);
    const [[, , form], [where, authorization, body]] = requests.splice(0) as [
      (typeof requests)[0],
      (typeof requests)[0],
    ];
    expect(Object.fromEntries(new URLSearchParams(form))).toEqual({
      grant_type: "client_credentials",
      client_id: CLIENT,
      client_secret: SECRET,
      scope: `transfer:write_${kind}_transfer`,
    });
    expect([exitCode, where, authorization]).toEqual([0, `/v2/transfer/${kind}/bulk`, "Bearer t"]);
    expect(JSON.parse(body)).toEqual({ mode: "independent", dry_run: true, items: [item] });
  }
  server.close();
  await expect(stat(join(folder, "bodies.result.csv"))).rejects.toThrow("ENOENT");
});

test("a bulk has no more lines than fit into it, whatever they hold", async () => {
  const bulks: { readonly lines: number; readonly bytes: number }[] = [];
  const url = await bulkServer((bulk) => {
    bulks.push({ lines: bulk.items.length, bytes: Buffer.byteLength(JSON.stringify(bulk)) });
    return bulk.items.map(() => ({ status: "WOULD_COMPLETE" }));
  });
  const pairs = ["metadata", "recipient_metadata"].flatMap((kind) =>
    Array.from({ length: 6 }, (_, i) => `${kind}.${i}${"\u{1F4B0}".repeat(99)}`),
  );
  // In JSON each of these characters has six.
  const values = pairs.map(() => "\u0001".repeat(100));
  const lines = Array.from({ length: 250 }, (_, i) => `default,${PROFILE},1,USD,long-${i},${values}`);
  const path = await file("long.csv", `from_profile_id,to_profile_id,amount,asset,ref_id,${pairs}`, ...lines);
  expect((await payout(path, url, "--dry-run")).exitCode).toBe(0);
  expect(bulks.map((bulk) => bulk.lines)).toEqual([81, 81, 81, 7]);
  expect(Math.max(...bulks.map(({ bytes }) => bytes))).toBeLessThanOrEqual(1_048_576);
});

test("the result is beside the file, by its name without the ending in whatever letters, and that of a result is itself", async () => {
  const server = createServer((request, response) => {
    const isToken = request.url === "/oauth2/token";
    const body = isToken ? { access_token: "t" } : { items: [{ status: "REJECTED" }] };
    request.resume().on("end", () => response.end(JSON.stringify(body)));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const resultOf = async (name: string) => {
    const path = await file(name, HEAD, `default,${PROFILE},1,USD,named-1,`);
    // With slashes at the end, as they are left over in a script.
    const { stdout } = await payout(path, `${urlOfServer(server)}//`);
    return /^Result: (.*)$/m.exec(stdout)?.[1]?.slice(folder.length + 1);
  };
  const names = ["PAY.CSV", "pay.csv.txt", "pay.result.csv"];
  const results: (string | undefined)[] = [];
  for (const name of names) results.push(await resultOf(name));
  server.close();
  expect(results).toEqual(["PAY.result.csv", "pay.csv.txt.result.csv", "pay.result.csv"]);
});

test("it waits as long as the service says, longer after each attempt, and gives up what cannot pass", async () => {
  const pauses: number[] = [];
  const pausing = vi.spyOn(BulkClient.prototype, "pause").mockImplementation(async (attempt, asked) => {
    pauses.push(pauseMs(attempt, asked));
  });
  onTestFinished(() => pausing.mockRestore());
  const path = await file("patient.csv", HEAD, `default,${PROFILE},1,USD,patient-1,`);
  const result = join(folder, "elsewhere.csv");
  const sent = async (statuses: readonly number[], last: string, retryAfter: string) => {
    pauses.length = 0;
    let bulks = 0;
    const server = createServer((request, response) => {
      request.resume();
      const isToken = request.url === "/oauth2/token";
      const status = isToken ? 200 : (statuses[bulks++] ?? 200);
      // What is paid is looked for at the end.
      const isThere = last === "COMPLETED" && bulks > statuses.length + 1;
      const items = [{ status: isThere ? "EXISTS" : last }];
      const body = isToken ? { access_token: "t" } : { detail: "not now", items, ledger_history: "h" };
      response.writeHead(status, { "retry-after": retryAfter }).end(JSON.stringify(body));
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { exitCode, stdout, stderr } = await payout(path, urlOfServer(server), "--result", result);
    server.close();
    return { exitCode, said: (stdout + stderr).split("\n")[0], bulks, pauses: [...pauses] };
  };
  expect(await sent([429, 408, 503, 500], "COMPLETED", "0")).toEqual({
    ...{ exitCode: 0, said: "1 lines: 1 COMPLETED", bulks: 6, pauses: [500, 1_000, 2_000, 4_000] },
  });
  expect(await readFile(result, "utf8")).toContain(",patient-1,,COMPLETED,,");
  expect((await stat(result)).mode & 0o777).toBe(0o600);
  expect((await sent([429], "COMPLETED", "40")).pauses).toEqual([40_000]);
  const denied = "the service answers 401: not now: 0 of 1 lines were answered";
  expect(await sent([401, 401, 401], "COMPLETED", "0")).toMatchObject({ exitCode: 1, said: denied, bulks: 3 });
  const gone = "the service answers 404: not now: 0 of 1 lines were answered";
  expect(await sent([404], "COMPLETED", "0")).toMatchObject({ exitCode: 1, said: gone, bulks: 1 });
  // What is not known is sent again, eight times in all.
  expect(await sent([], "UNKNOWN", "0")).toEqual({
    ...{ exitCode: 1, said: "1 lines: 1 UNKNOWN", bulks: 8 },
    pauses: [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000],
  });
  expect(await readFile(result, "utf8")).toContain(",patient-1,,UNKNOWN,,");
});

test("nothing is sent while the service does not say whether it has what is done already", async () => {
  const pausing = vi.spyOn(BulkClient.prototype, "pause").mockResolvedValue();
  onTestFinished(() => pausing.mockRestore());
  const tries: boolean[] = [];
  const url = await bulkServer(({ dry_run: isDryRun }) => {
    tries.push(isDryRun);
    return [{ status: "UNKNOWN" }];
  });
  const lines = ["done-1,,COMPLETED,t1,", "open-1,,,,"].map((rest) => `default,${PROFILE},1,USD,${rest}`);
  const path = await file("half.result.csv", `${HEAD},status,transfer_id,detail`, ...lines);
  const before = await readFile(path, "utf8");
  const { exitCode, stdout, stderr } = await payout(path, url);
  expect([exitCode, stdout, stderr.split("\n")[0], tries]).toEqual([
    ...[1, "", "the service does not say whether it has what is done already: 0 of 1 lines were answered"],
    new Array(8).fill(true),
  ]);
  expect(await readFile(path, "utf8")).toBe(before);
});

test("a service whose certificate is not trusted is not asked again", async () => {
  const server = createHttpsServer(readCertificate(), () => {
    throw new Error("asked");
  });
  let connections = 0;
  server.on("connection", () => {
    connections += 1;
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const path = await file("untrusted.csv", HEAD, `default,${PROFILE},1,USD,untrusted-1,`);
  const { exitCode, stderr } = await payout(path, `https://localhost:${port}`);
  server.close();
  expect([exitCode, stderr.split("\n")[0], connections]).toEqual([
    1,
    `the certificate of https://localhost:${port} is not trusted (self-signed certificate). If another authority has signed it, set NODE_EXTRA_CA_CERTS to a file with that authority's certificate: 0 of 1 lines were answered`,
    1,
  ]);
});

const ids = new IdSource();

/** @param paid the ids of what is paid, by ref_id: what is not yet there is added, unless it is only tried */
function payOnce({ dry_run: isDryRun, items }: SentBulk, paid: Map<string, string>): readonly object[] {
  return items.map(({ ref_id: refId }) => {
    const transfer = { id: paid.get(refId) };
    if (transfer.id !== undefined) return { status: "EXISTS", transfer };
    if (isDryRun) return { status: "WOULD_COMPLETE" };
    paid.set(refId, ids.next());
    return { status: "COMPLETED", transfer: { id: paid.get(refId) } };
  });
}

interface Restoring {
  readonly at: number;
  readonly isSeamless?: boolean;
  /** Whether it still has the last one: a bulk's transfers are not posted in their order. */
  readonly hasLast?: boolean;
}

/**
 * A service that loses what it had but for the first ten when the bulk of this number is sent; for a moment it does not serve,
 * unless another one takes its place at once.
 * @returns its URL, what is paid there, and a switch: whether it answers when many are looked for
 */
async function restoringService({ at, isSeamless = true, hasLast = false }: Restoring) {
  const service = { url: "", paid: new Map<string, string>(), answersLookUps: true };
  let history = "before";
  const { paid } = service;
  let bulks = 0;
  service.url = await bulkServer(
    (bulk) => {
      const isDryRun = bulk.dry_run;
      if (isDryRun && bulks >= at && !service.answersLookUps) return 400;
      if (!isDryRun) bulks += 1;
      if (!isDryRun && bulks === at) {
        history = "restored";
        for (const refId of [...paid.keys()].slice(10, hasLast ? -1 : undefined)) paid.delete(refId);
        if (!isSeamless) return 503;
      }
      return payOnce(bulk, paid);
    },
    () => history,
  );
  return service;
}

/** A result with twenty lines that are done there, and a hundred and thirty that are open. */
async function longResult(url: string): Promise<string> {
  const line = (at: number): string => `default,${PROFILE},1,USD,long-${at},`;
  const before = Array.from({ length: 20 }, (_, at) => line(at));
  await rm(join(folder, "long.result.csv"), { force: true });
  const first = await file("long.csv", HEAD, ...before);
  expect((await payout(first, url)).exitCode).toBe(0);
  const done = (await readFile(join(folder, "long.result.csv"), "utf8")).trimEnd().split("\n");
  const more = Array.from({ length: 130 }, (_, at) => `${line(20 + at)},,,`);
  return file("long.result.csv", ...done, ...more);
}

test.each([
  { at: 3, isSeamless: false, sums: "10 done before, 110 UNKNOWN, 30 COMPLETED", lost: 110 },
  { at: 3, isSeamless: true, sums: "10 done before, 110 UNKNOWN, 30 COMPLETED", lost: 110 },
  { at: 3, hasLast: true, sums: "10 done before, 109 UNKNOWN, 31 COMPLETED", lost: 109 },
  { at: 2, isSeamless: false, sums: "10 done before, 10 UNKNOWN, 130 COMPLETED", lost: 10 },
  { at: 2, isSeamless: true, sums: "10 done before, 10 UNKNOWN, 130 COMPLETED", lost: 10 },
])("a service that was restored to an earlier moment meanwhile: what is gone is open again: %o", async (one) => {
  const { url, paid } = await restoringService(one);
  const path = await longResult(url);
  const { exitCode, stdout } = await payout(path, url);
  expect([exitCode, stdout.split("\n").slice(0, 2)]).toEqual([
    1,
    [
      `150 lines: ${one.sums}`,
      `The service was restored to an earlier moment meanwhile: ${one.lost} lines that were done are gone`,
    ],
  ]);
  expect(paid.size).toBe(150 - one.lost);
  const again = await payout(path, url);
  expect([again.exitCode, again.stdout.split("\n")[0]]).toEqual([
    0,
    `150 lines: ${150 - one.lost} done before, ${one.lost} COMPLETED`,
  ]);
  expect(paid.size).toBe(150);
});

test("a restore behind the last bulk, whose answer waited, is seen at the end", async () => {
  const paid = new Set<string>();
  const url = await bulkServer(({ dry_run: isDryRun, items }) => {
    if (isDryRun) return items.map(({ ref_id: refId }) => ({ status: paid.has(refId) ? "EXISTS" : "WOULD_COMPLETE" }));
    for (const { ref_id: refId } of items.slice(0, 10)) paid.add(refId);
    return items.map(() => ({ status: "COMPLETED" }));
  });
  const lines = Array.from({ length: 30 }, (_, at) => `default,${PROFILE},1,USD,last-${at},`);
  const { exitCode, stdout } = await payout(await file("last.csv", HEAD, ...lines), url);
  expect([exitCode, stdout.split("\n").slice(0, 2)]).toEqual([
    1,
    [
      "30 lines: 10 COMPLETED, 20 UNKNOWN",
      "The service was restored to an earlier moment meanwhile: 20 lines that were done are gone",
    ],
  ]);
});

test("of a payout that ends before it has looked for its payments the next run looks for all of them first", async () => {
  const service = await restoringService({ at: 3 });
  const { url, paid } = service;
  const path = await longResult(url);
  service.answersLookUps = false;
  const { exitCode, stdout, stderr } = await payout(path, url);
  expect([exitCode, stdout, stderr.split("\n")[0]]).toEqual([
    ...[1, "", "the service answers 400: no reason given: 130 of 130 lines were answered"],
  ]);
  service.answersLookUps = true;
  const again = await payout(path, url);
  expect([again.exitCode, again.stdout, again.stderr.split(":")[0]]).toEqual([
    ...[
      1,
      "",
      "110 lines are done by the file, but this service has no such transfer of this client's customer, beginning with line 12",
    ],
  ]);
  expect(paid.size).toBe(40);
  const written = (await readFile(path, "utf8")).trimEnd().split("\n");
  const without = await file("long.csv", HEAD, ...written.slice(1).map((line) => line.replace(/,COMPLETED.*/, "")));
  const [said] = (await payout(without, url)).stdout.split("\n");
  expect(said).toMatch(/^150 lines: 40 EXISTS \(made [^)]* UTC\), 110 COMPLETED$/);
  expect(paid.size).toBe(150);
});

test.each([
  { when: "at the end", isPaid: false, lost: 100, said: "350 lines: 100 UNKNOWN, 250 COMPLETED\n" },
  { when: "at the end", isPaid: false, lost: 350, said: "350 lines: 350 UNKNOWN\n" },
  { when: "before anything is sent", isPaid: true, lost: 100, said: "100 lines are done by the file, but" },
  { when: "before anything is sent", isPaid: true, lost: 350, said: "350 lines are done by the file, but" },
])("a restore that takes what was found is seen $when: $lost of 350", async ({ isPaid, lost, said }) => {
  const pausing = vi.spyOn(BulkClient.prototype, "pause").mockResolvedValue();
  onTestFinished(() => pausing.mockRestore());
  const paid = new Map<string, string>();
  let [history, lookUps, restoredAt] = ["before", 0, 0];
  const url = await bulkServer(
    (bulk) => {
      if (bulk.dry_run) lookUps += 1;
      if (bulk.dry_run && lookUps === restoredAt) {
        history = "restored";
        for (const refId of [...paid.keys()].slice(0, lost)) paid.delete(refId);
      }
      return payOnce(bulk, paid);
    },
    () => history,
  );
  const path = await file(
    "looked.csv",
    HEAD,
    ...Array.from({ length: 350 }, (_, i) => `default,${PROFILE},1,USD,${i},`),
  );
  const result = path.replace(".csv", ".result.csv");
  if (isPaid) expect((await payout(path, url)).exitCode).toBe(0);
  restoredAt = lookUps + 3;
  const run = await payout(isPaid ? result : path, url);
  expect([run.exitCode, `${run.stdout}${run.stderr}`.slice(0, said.length)]).toEqual([1, said]);
  expect(paid.size).toBe(350 - lost);
  // The next run pays them, or one of the file without results.
  expect((await payout(isPaid ? path : result, url)).exitCode).toBe(0);
  expect(paid.size).toBe(350);
});

test.each([
  ["the database was started behind the first look-up", (bulks: number) => bulks === 1, 4, true],
  ["each look-up is of another history", (bulks: number) => bulks, 16, false],
  ["no history is named", () => undefined, 16, false],
])("what is found counts if all of it is of one history: %s", async (_, historyAt, lookUps, isSaid) => {
  const pausing = vi.spyOn(BulkClient.prototype, "pause").mockResolvedValue();
  onTestFinished(() => pausing.mockRestore());
  let bulks = 0;
  const url = await bulkServer(
    ({ items }) => {
      bulks += 1;
      return items.map(() => ({ status: "EXISTS", transfer: { id: "t" } }));
    },
    () => historyAt(bulks)?.toString(),
  );
  const lines = Array.from({ length: 150 }, (_, i) => `default,${PROFILE},1,USD,${i},,COMPLETED,t,`);
  const { exitCode, stdout, stderr } = await payout(
    await file("histories.result.csv", `${HEAD},status,transfer_id,detail`, ...lines),
    url,
  );
  const why = "the service does not say whether it has what is done already: 0 of 0 lines were answered";
  const outcome = isSaid ? [0, "150 lines: 150 done before", ""] : [1, "", why];
  expect([exitCode, stdout.split("\n")[0], stderr.split("\n")[0], bulks]).toEqual([...outcome, lookUps]);
});
