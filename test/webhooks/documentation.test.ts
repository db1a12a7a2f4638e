/** docs/webhooks.md: its commands and receivers run against the service, and what is posted verifies with others' libraries. */
import { execFile, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { UnansweredReason } from "../../src/web/outgoing-requests/exchange.ts";
import { callerAs } from "../events/stories.ts";
import { freePort } from "../support/free-port.ts";
import { receiver, useReceivers } from "../support/http/outgoing.ts";
import { missingProgram, required } from "../support/required.ts";
import { startTestService, type TestCustomer, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { areSignedWith, missingV1aJudge } from "./v1a-judge.ts";

useReceivers();

let service: TestService;
let acme: TestCustomer;
let page: string;
beforeAll(async () => {
  page = await readFile(new URL("../../docs/webhooks.md", import.meta.url), "utf8");
  service = await startTestService();
  acme = await service.customer("Acme");
});
afterAll(() => service.close());

function blocks(language: string): string[] {
  return [...page.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g"))].map(([, text = ""]) => text);
}

/** What the commands of the page print; they run one after another, with these variables. */
async function shell(variables: Readonly<Record<string, string>>, ...commands: readonly string[]): Promise<string> {
  const { baseUrl: BASE_URL, authUrl: AUTH_URL } = service;
  const env = {
    ...process.env,
    BASE_URL,
    AUTH_URL,
    CLIENT_ID: acme.clientId,
    CLIENT_SECRET: acme.secret,
    ...variables,
  };
  return new Promise((resolve, reject) => {
    execFile("bash", ["-c", commands.join("\n")], { env }, (error, stdout) =>
      error === null ? resolve(stdout) : reject(error),
    );
  });
}

const RECEIVERS = [
  ["node", "js", [process.execPath, "--input-type=module", "-e"]],
  ["python3", "python", ["python3", "-c"]],
] as const;

test.for(RECEIVERS)("in %s, a webhook is created, received, verified, tried and rotated", async (each, context) => {
  const [program, language, [command, ...options]] = each;
  required(context, missingProgram(program));
  required(context, missingProgram("curl"));
  const [create = "", tryIt = ""] = blocks("sh");
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const created = JSON.parse(await shell({}, create.replace("http://127.0.0.1:9000/", url).replace("first", program)));
  expect(created).toMatchObject({ name: program, url, types: ["*"], status: "ACTIVE" });

  const environment = { ...process.env, SECRET: created.signing_secret, PORT: String(port) };
  const running = spawn(command, [...options, ...blocks(language)], { env: environment });
  onTestFinished(() => void running.kill("SIGKILL"));
  let printed = "";
  for (const output of [running.stdout, running.stderr]) output.on("data", (part) => (printed += part));
  await until("the receiver listens", () =>
    fetch(url).then(
      () => true,
      () => false,
    ),
  );

  const tried = await shell({ WEBHOOK: created.id, TOKEN: acme.token }, tryIt);
  expect(JSON.parse(tried)).toMatchObject({ events: 1, status: 204 });
  await until("the test event is printed", () => printed.includes("webhook.test"));
  const call = callerAs(service, acme);
  await call("PUT", `/v2/profiles/${acme.defaultProfile}`, { description: program });
  await until("the change is printed", () => printed.includes("profile.updated"), 30);

  const now = Math.floor(Date.now() / 1_000);
  const forged = (secret: string, time: number | string, signed = "1") => {
    const key = Buffer.from(secret.replace("whsec_", ""), "base64");
    const signature = `v1,${createHmac("sha256", key).update(`${signed}.${time}.{"type":"forged"}`).digest("base64")}`;
    const headers = { "webhook-id": "1", "webhook-timestamp": String(time), "webhook-signature": signature };
    return fetch(url, { method: "POST", headers, body: '{"type":"forged"}' }).then(({ status }) => status);
  };
  expect(await forged(created.signing_secret, now - 3_600)).toBe(401);
  expect(await forged(created.signing_secret, now + 3_600)).toBe(401);
  expect(await forged(created.signing_secret, now, "2")).toBe(401);
  expect(await forged("whsec_AAAA", now)).toBe(401);
  expect(await fetch(url, { method: "POST", body: "{}" }).then(({ status }) => status)).toBe(401);
  expect(printed).not.toContain("forged");

  const rotated = await call("POST", `/v2/webhooks/${created.id}/rotate-secret`, { overlap_seconds: 3_600 });
  expect(rotated.signing_secret).not.toBe(created.signing_secret);
  expect(JSON.parse(await shell({ WEBHOOK: created.id, TOKEN: acme.token }, tryIt))).toMatchObject({ status: 204 });
  await call("DELETE", `/v2/webhooks/${created.id}`);
});

test("what is posted verifies with the public library, and with public keys in another language", async (context) => {
  required(context, missingV1aJudge());
  const { port, received } = await receiver();
  const call = callerAs(service, acme);
  const sent = { name: "judged", url: `http://127.0.0.1:${port}/`, types: ["profile.*"], body: "FULL" };
  const created = await call("POST", "/v2/webhooks", sent);
  const rotated = await call("POST", `/v2/webhooks/${created.id}/rotate-secret`, {});
  await call("PUT", `/v2/profiles/${acme.defaultProfile}`, { description: "Zoë – 日本 💶" });
  await until("the change is posted", () => received.some(({ body }) => body.includes("日本")), 30);

  const messages = received.map(({ head, body }) => ({
    id: String(head.headers["webhook-id"]),
    timestamp: String(head.headers["webhook-timestamp"]),
    signature: String(head.headers["webhook-signature"]),
    body,
  }));
  for (const { id, timestamp, signature, body } of messages) {
    const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
    for (const secret of [created.signing_secret, rotated.signing_secret]) {
      expect(new Webhook(secret).verify(body, headers)).toMatchObject({ id, object: "event" });
    }
  }
  const keys = await fetch(`${service.baseUrl}/v2/webhooks/${created.id}/public-keys`);
  const { public_keys: publicKeys } = (await keys.json()) as { public_keys: string[] };
  expect(publicKeys).toHaveLength(2);
  for (const key of publicKeys) expect(areSignedWith(key, messages)).toEqual(messages.map(() => true));
});

test("the page has every reason for which there is no answer", () => {
  const reasons = {
    url_not_allowed: true,
    address_not_allowed: true,
    dns: true,
    connection: true,
    tls: true,
    timeout: true,
    protocol: true,
    cancelled: false, // The service stops, and tries again.
  } satisfies Record<UnansweredReason, boolean>;
  for (const [reason, isNamed] of Object.entries(reasons)) expect(page.includes(`\`${reason}: ...\``)).toBe(isNamed);
});
