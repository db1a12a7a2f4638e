/** What becomes of a client's secret: rotated under the demo's feet, and asked for when the client has ended. */
import { readFile, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { demoFile } from "../../src/service/bootstrap/demo-file.ts";
import { answerOf, dataDirectory, parbook, type ServiceProcess, startService } from "./parbook.ts";

let data: Awaited<ReturnType<typeof dataDirectory>>;
let settings: { readonly PARBOOK_DATA_DIR: string };
let service: ServiceProcess;

beforeAll(async () => {
  data = await dataDirectory();
  settings = { PARBOOK_DATA_DIR: data.path };
  service = await startService(settings);
});

afterAll(async () => {
  await service.end("SIGTERM");
  await data.remove();
});

test("the demo says when its secret was rotated, and runs the tour with the new one", async () => {
  const path = demoFile(data.path);
  const file = await readFile(path, "utf8");
  const { client_id: clientId, client_secret: secret } = JSON.parse(file).customers[0].clients[0];
  const rotated = await answerOf(settings, "client", "rotate", clientId, "--overlap", "0");
  const { client_secret: fresh } = rotated as { client_secret: string };
  const { exitCode, stdout } = await parbook(settings, "demo");
  expect(exitCode).toBe(1);
  expect(stdout.split("\n").slice(-5)).toEqual([
    '  401 {"error":"invalid_client","error_description":"client authentication failed"}',
    "  WRONG: the status is 401, not 200",
    `  WRONG: the secret of ${clientId} in demo.json is no longer valid: it was rotated, or the client was disabled. Update demo.json; or, for a new demo, stop the service, remove its data directory and start it again`,
    "The last response was not as expected.",
    "",
  ]);
  await writeFile(path, file.replace(secret, fresh));
  expect(await answerOf(settings, "demo")).toMatchObject({ passed: true });
});

test("the warning about unencrypted signing keys is printed by key commands only", async () => {
  const { path, remove } = await dataDirectory();
  onTestFinished(remove);
  const production = { PARBOOK_DATA_DIR: path, PARBOOK_MODE: "production" };
  await answerOf(production, "migrate");
  expect((await parbook(production, "customer", "list")).stderr).toBe("");
  const { exitCode, stderr } = await parbook(production, "key", "list");
  expect(exitCode).toBe(0);
  expect(JSON.parse(stderr).msg).toBe(
    "signing-keys: PARBOOK_KEY_ENCRYPTION_KEY is not set; who reads database or backup can issue any token. Do: set it on all nodes, then parbook key rotate; or accept it: PARBOOK_ACCEPT=signing-keys",
  );
});

test("a disabled client gets no new secret", async () => {
  const customer = (await answerOf(settings, "customer", "create", "--name", "Gone")) as { id: string };
  const client = ["--customer", customer.id, "--client-id", "gone", "--scopes", "*"];
  await answerOf(settings, "client", "create", ...client);
  await answerOf(settings, "client", "disable", "gone");
  expect(await parbook(settings, "client", "rotate", "gone")).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: "client gone is permanently disabled: create another one with client create\n",
  });
});

test("no secret of a webhook is encrypted with a key that the nodes do not have", async () => {
  const keyOf = (byte: number) => ({ PARBOOK_KEY_ENCRYPTION_KEY: Buffer.alloc(32, byte).toString("base64") });
  const theirs = { ...settings, ...keyOf(1) };
  const { kid } = (await answerOf(theirs, "key", "rotate")) as { kid: string };
  const terms = ["--customer", "Gone", "--url", "http://127.0.0.1:9/", "--types", "transfer.*"];
  const { id } = (await answerOf(theirs, "webhook", "create", ...terms, "--name", "sink")) as { id: string };
  const ofIt = [id, "--customer", "Gone"];
  const wrong = "is not the key that it was encrypted with";
  for (const [command, key, why] of [
    [["create", ...terms, "--name", "another"], keyOf(2), wrong],
    [["update", ...ofIt, "--url", "http://127.0.0.1:10/"], keyOf(2), wrong],
    [["rotate-secret", ...ofIt], {}, "is not set"],
  ] as const) {
    expect(await parbook({ ...settings, ...key }, "webhook", ...command)).toEqual({
      exitCode: 1,
      stdout: "",
      stderr: `the signing key ${kid} is encrypted, and PARBOOK_KEY_ENCRYPTION_KEY ${why}\n`,
    });
  }
  const { items } = (await answerOf(theirs, "webhook", "list", "--customer", "Gone")) as { items: object[] };
  expect(items).toMatchObject([{ id, url: "http://127.0.0.1:9/" }]);
});
