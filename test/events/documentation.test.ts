/** docs/events.md: its programs run, its types are all there are, and its example is like a real event. */
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { EVENT_TYPES } from "../../src/events/events.ts";
import { startRelay } from "../support/postgres/relay.ts";
import { missingProgram, required } from "../support/required.ts";
import { startTestService, type TestCustomer, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { callerAs, eventsOf } from "./stories.ts";

let service: TestService;
let acme: TestCustomer;
let page: string;
beforeAll(async () => {
  page = await readFile(new URL("../../docs/events.md", import.meta.url), "utf8");
  service = await startTestService();
  acme = await service.customer("Acme");
});
afterAll(() => service.close());

/** The one block of the page in this language. */
function block(language: string): string {
  const [, text = "", ...more] = new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(page) ?? [];
  expect(more).toEqual([]);
  return text;
}

const PROGRAMS = [
  ["curl", "sh", ["bash", "-c"]],
  ["node", "js", [process.execPath, "--input-type=module", "-e"]],
  ["python3", "python", ["python3", "-c"]],
] as const;

test.for(PROGRAMS)(
  "the %s program follows events, and goes on when its connection breaks",
  async ([program, language, [command, ...options]], context) => {
    required(context, missingProgram(program));
    const { hostname, port } = new URL(service.baseUrl);
    const relay = await startRelay({ host: hostname, port: Number(port) });
    onTestFinished(() => relay.close());
    const env = {
      BASE_URL: `http://127.0.0.1:${relay.connection.port}`,
      AUTH_URL: service.authUrl,
      CLIENT_ID: acme.clientId,
      CLIENT_SECRET: acme.secret,
    };
    const running = spawn(command, [...options, block(language)], { env: { ...process.env, ...env }, detached: true });
    // Its children too: curl is one.
    onTestFinished(() => void process.kill(-(running.pid as number), "SIGKILL"));
    let received = "";
    for (const output of [running.stdout, running.stderr]) output.on("data", (part) => (received += part));
    await until(`${program} reports the profile`, () => received.includes("profile.created"), 30);
    if (program !== "curl") {
      relay.reject(true);
      relay.cut();
      await until(`${program} notices the loss`, () => received.includes("again: "), 30);
      relay.reject(false);
    }
    await callerAs(service, acme)("PUT", `/v2/profiles/${acme.defaultProfile}`, { description: program });
    await until(`${program} reports its change`, () => received.includes("profile.updated"), 30);
  },
);

test("the page has every type", () => {
  const named = [...page.matchAll(/`((?:transfer|conversion|order|execution|profile|market|webhook)\.[a-z_.]+)`/g)].map(
    ([, type]) => type,
  );
  expect([...new Set(named)].sort()).toEqual([...EVENT_TYPES].sort());
});

test("the example has the fields of a real event", async () => {
  const profile = await service.profile(acme, { USD: "10" });
  const mint = { profile_id: profile, amount: "7", source_asset: "USD", target_asset: "USDG" };
  await callerAs(service, acme)("POST", "/v2/conversion/stablecoins", mint);
  const events = await eventsOf(service, acme, ["conversion.settled"]);
  const real = events.find(({ type }) => type === "conversion.settled");
  const example = JSON.parse(block("json"));
  const fields = (of: object) => Object.keys(of).sort();
  expect(fields(example)).toEqual(fields(real));
  expect(fields(example.object)).toEqual(fields(real.object));
  const alike = ({ type, object_type, version, is_test, undelivered_webhooks }: typeof real) => [
    type,
    object_type,
    version,
    is_test,
    undelivered_webhooks,
  ];
  expect(alike(example)).toEqual(alike(real));
});
