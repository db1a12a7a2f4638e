import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { run } from "../../../test/cli/in-process.ts";
import { demoFile } from "../../service/bootstrap/demo-file.ts";
import { writeReadyFile } from "../../service/data-directory.ts";

const ID = "0190d5a4-1111-7000-8000-000000000004";
const SECRET = "the-secret-of-a-client";
const TOKEN = `eyJhbGciOiJF.${"payload".repeat(3)}.${"signature".repeat(3)}`;

/** A data directory with a demo, whose service answers tokens, and everything else by this. */
async function openDemo(answer: object): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "parbook-demo-"));
  const server = createServer((request, response) => {
    const token = { access_token: TOKEN, token_type: "bearer", expires_in: 3_599 };
    request.resume().on("end", () => response.end(JSON.stringify(request.url === "/oauth2/token" ? token : answer)));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    server.close();
    await rm(directory, { recursive: true });
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await writeReadyFile(directory, { baseUrl, authUrl: baseUrl });
  const customer = (name: string, profiles: number) => ({
    name,
    clients: [{ client_id: name, client_secret: SECRET, scopes: ["*"] }],
    profiles: Array.from({ length: profiles }, (_, i) => ({ id: ID, nickname: `p${i}` })),
  });
  await writeFile(demoFile(directory), JSON.stringify({ customers: [customer("acme", 2), customer("borealis", 1)] }));
  vi.stubEnv("PARBOOK_DATA_DIR", directory);
}

test("a field that is not as expected ends the tour, and neither secrets nor tokens are shown", async () => {
  await openDemo({ activity_id: 17 });
  const { exitCode, stdout, stderr } = await run(["demo"]);
  expect([exitCode, stderr]).toEqual([1, ""]);
  const token = JSON.stringify({ access_token: `${TOKEN.slice(0, 12)}...`, token_type: "bearer", expires_in: 3_599 });
  expect(stdout.split("\n")).toEqual([
    "A token for each of two customers, by multipart form",
    "  POST /oauth2/token client_id=acme",
    `  200 ${token}`,
    "  POST /oauth2/token client_id=borealis",
    `  200 ${token}`,
    "A sandbox deposit",
    '  POST /v2/sandbox/profiles/..00004/deposit {"asset":"EUR","amount":"100"}',
    '  200 {"activity_id":17}',
    expect.stringMatching(/^ {2}WRONG: activity_id is 17, which does not match /),
    "The last response was not as expected.",
    "",
  ]);
  const json = await run(["demo", "--json"]);
  expect(json.exitCode).toBe(1);
  expect(json.stdout).not.toMatch(new RegExp(`${SECRET}|${TOKEN}`));
  expect(JSON.parse(json.stdout)).toMatchObject({ passed: false, steps: { length: 3 } });
});

test("a field that is missing is said to be", async () => {
  await openDemo({ other: ID });
  expect((await run(["demo"])).stdout).toContain("\n  WRONG: activity_id is missing, which does not match ");
});
