/** `parbook events --follow`, as a process. */
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startTestService, type TestCustomer, type TestService, urlOf } from "../support/service.ts";
import { until } from "../support/until.ts";
import { dataDirectory, launchParbook, type Settings } from "./parbook.ts";

let service: TestService;
let acme: TestCustomer;
let settings: Settings;
let remove: () => Promise<void>;
beforeAll(async () => {
  service = await startTestService();
  acme = await service.customer("Acme");
  const directory = await dataDirectory();
  remove = directory.remove;
  settings = { PARBOOK_DATABASE_URL: urlOf(service.db), PARBOOK_DATA_DIR: directory.path, PARBOOK_LOG_LEVEL: "error" };
});
afterAll(async () => {
  await service.close();
  await remove();
});

/** Follows, and makes profiles until the follower has printed one. */
async function follow() {
  const follower = launchParbook(settings, "events", "--follow", "--json");
  onTestFinished(() => void follower.child.kill("SIGKILL"));
  await until("it prints an event", async () => {
    await service.profile(acme);
    return follower.said.stdout.includes("\n");
  });
  return follower;
}

test("each line of JSON is an event, and Ctrl-C ends it in order", async () => {
  const { child, ended } = await follow();
  child.kill("SIGINT");
  const { exitCode, stdout, stderr } = await ended;
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  const events = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(events).toEqual(
    events.map((_, place) => ({
      at: expect.stringMatching(/Z$/),
      customer_id: acme.id,
      number: events[0].number + place,
      type: "profile.created",
      object_id: expect.any(String),
      version: 1,
    })),
  );
});

test("it ends when nobody reads it any more", async () => {
  const { child, ended } = await follow();
  child.stdout?.destroy();
  await until("it has ended", async () => {
    await service.profile(acme);
    return child.exitCode !== null;
  });
  expect(await ended).toMatchObject({ exitCode: 0, stderr: "" });
});
