/** A whole node whose clock is wrong: it changes nothing, says why wherever it is asked, and goes on by itself. */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { writeNewKey } from "../../src/cli/auditing/checkpoint-and-key-files.ts";
import { main } from "../../src/cli/parbook.ts";
import { findTimesAhead } from "../../src/verify/times-ahead.ts";
import { expectBooksBalance } from "../support/books.ts";
import { freePort } from "../support/free-port.ts";
import { scrape } from "../support/http/metrics.ts";
import { startTestService, type TestService, urlOf } from "../support/service.ts";
import { until } from "../support/until.ts";

const MONTH_MS = 30 * 86_400_000;

let service: TestService;
afterEach(async () => {
  vi.useRealTimers();
  await expectBooksBalance(service.db.owner);
  await service.close();
});

const setClock = (aheadMs: number): void => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + aheadMs });
};

test("a node whose clock is a month ahead changes nothing and says why, and recovers within seconds of a correction", async () => {
  service = await startTestService({ metricsPort: 0 });
  const acme = await service.customer();
  const [from, to] = [await service.profile(acme, { USD: "10" }), await service.profile(acme, {})];
  const before = await service.db.owner.rows("select slot, n from batch order by 1, 2");
  const transfer = () =>
    service.call("POST", "/v2/transfer/internal", {
      as: acme.token,
      body: { amount: "1", asset: "USD", from_profile_id: from, to_profile_id: to },
    });
  setClock(MONTH_MS);
  const rejected = await transfer();
  const words = /the clock of this node is 259(?:19|20)\d\d\.\d s ahead of the database's, and 2 s are allowed/;
  expect([rejected.status, rejected.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(rejected.body.detail).toMatch(words);
  const form = { grant_type: "client_credentials", client_id: acme.clientId, client_secret: acme.secret };
  const asked = await fetch(`${service.authUrl}/oauth2/token`, { method: "POST", body: new URLSearchParams(form) });
  expect([asked.status, asked.headers.get("retry-after"), await asked.json()]).toEqual([
    503,
    "1",
    { error: "temporarily_unavailable", error_description: expect.stringMatching(words) },
  ]);
  const ready = await service.call("GET", "/readyz");
  expect([ready.status, ready.body.detail]).toEqual([503, expect.stringMatching(/^not ready: clock \(the clock of/)]);
  expect(ready.body.detail).toMatch(words);
  const { text } = await scrape(service.service.metricsUrl);
  expect(text).toMatch(/^parbook_lane_clock_wrong 1$/m);
  expect(text).toMatch(/^parbook_http_unavailable_total\{reason="clock"\} 2$/m);
  expect(await service.db.owner.rows("select slot, n from batch order by 1, 2")).toEqual(before);
  vi.useRealTimers();
  // Nothing of the time that has not come is left behind.
  expect(await findTimesAhead(service.db.database)).toEqual([]);
  await until("it is ready", async () => (await service.call("GET", "/readyz")).status === 200);
  expect((await transfer()).status).toBe(200);
  const placed = await service.call("POST", `/v2/profiles/${from}/orders`, {
    as: acme.token,
    body: {
      ...{ market: "BTCUSD", side: "BUY", type: "LIMIT", base_amount: "0.001", price: "1000", time_in_force: "GTT" },
      expiration_date: new Date(Date.now() + 3_600_000).toISOString(),
    },
  });
  expect([placed.status, placed.body.status]).toEqual([200, "PENDING_SUBMISSION"]);
});

test("a node that is started while its clock is wrong says why in log and metrics, and serves once it is right", async () => {
  service = await startTestService();
  await service.stop();
  const lines: unknown[] = [];
  const log = pino({ level: "error" }, { write: (line: string) => void lines.push(JSON.parse(line).msg) });
  const decided = () => service.db.owner.rows("select slot, n from batch where not void order by 1, 2");
  const before = await decided();
  setClock(MONTH_MS);
  const metricsPort = await freePort();
  let serves = false;
  const starting = service.another({ metricsPort }, log).then((node) => {
    serves = true;
    return node;
  });
  await until("it has logged why it waits", () => lines.length > 0);
  expect(lines).toEqual([
    expect.stringMatching(
      /^the clock of this node is 259(?:19|20)\d\d\.\d s ahead of the database's, and 2 s are allowed: commands are suspended$/,
    ),
  ]);
  const metrics = `http://127.0.0.1:${metricsPort}/metrics`;
  await until("metrics are served", async () => (await fetch(metrics).catch(() => undefined))?.status === 200);
  expect((await scrape(metrics)).text).toMatch(/^parbook_lane_clock_wrong 1$/m);
  expect([serves, await decided()]).toEqual([false, before]);
  vi.useRealTimers();
  const { baseUrl } = await starting;
  expect((await fetch(`${baseUrl}/readyz`)).status).toBe(200);
  expect(await findTimesAhead(service.db.database)).toEqual([]);
});

test("a node that is waiting for its clock to be corrected can be stopped", async () => {
  service = await startTestService();
  await service.stop();
  setClock(MONTH_MS);
  const stopping = new AbortController();
  const errors: string[] = [];
  const log = pino({ level: "error" }, { write: (line: string) => void errors.push(line) });
  const starting = service.another({}, log, stopping.signal).catch((error: Error) => `${error.name}: ${error.message}`);
  await until("it waits", () => errors.length > 0);
  stopping.abort();
  expect(await starting).toMatch(
    /^StartupError: the clock of this node is 259\d{4}\.\d s ahead of the database's, and 2 s are allowed: stopped before it was corrected$/,
  );
});

test("commands that would store a wrong time are rejected, but a compromised key can be revoked", async () => {
  service = await startTestService();
  const { clientId } = await service.customer();
  const stored = () =>
    service.db.owner.rows<{ kid: string }>("select * from signing_key, client_secret order by kid, client_id, id");
  const before = await stored();
  const directory = await mkdtemp(join(tmpdir(), "parbook-wrong-clock-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const [key, file] = [join(directory, "key"), join(directory, "checkpoint")];
  await writeNewKey(key);
  vi.stubEnv("PARBOOK_DATABASE_URL", urlOf(service.db));
  vi.stubEnv("PARBOOK_LOG_LEVEL", "fatal");
  onTestFinished(() => void vi.unstubAllEnvs());
  const said: string[] = [];
  const spies = [
    vi.spyOn(console, "error").mockImplementation((line) => void said.push(line)),
    vi.spyOn(process.stdout, "write").mockImplementation((text, done) => {
      said.push(String(text));
      (done as unknown as () => void)();
      return true;
    }),
  ];
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore();
  });
  setClock(-MONTH_MS);
  for (const argv of [
    ["key", "rotate"],
    ["client", "rotate", clientId],
    ["checkpoint", "--key", key, "--file", file],
  ]) {
    expect([argv, await main(argv)]).toEqual([argv, 1]);
  }
  const words = /^the clock of this node is 259\d{4}\.\d s behind the database's, and 2 s are allowed$/;
  expect(said.splice(0)).toEqual(new Array(3).fill(expect.stringMatching(words)));
  expect(existsSync(file)).toBe(false);
  expect(await stored()).toEqual(before);

  const kid = String(before[0]?.kid);
  expect(await main(["key", "revoke", "--kid", kid])).toBe(0);
  expect(said.join("")).toMatch(
    /^key \S+ and its tokens are revoked\nthe clock of this node is .* allowed: if this was the current key, a node with a correct clock will create the next one\n$/,
  );
  expect(await service.db.owner.rows("select 1 from signing_key where kid = $1", [kid])).toEqual([]);
});
