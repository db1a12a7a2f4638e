/** `parbook events`, as a process: the latest, and with --follow those to come. */
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startTestService, type TestCustomer, type TestService, urlOf } from "../support/service.ts";
import { until } from "../support/until.ts";
import { answerOf, dataDirectory, launchParbook, parbook, type Settings } from "./parbook.ts";

/** A command that comes up on a busy machine. */
const BUSY_S = 60;

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
  const hasPrinted = async (): Promise<boolean> => {
    await service.profile(acme);
    return follower.said.stdout.includes("\n");
  };
  await until("it prints an event", hasPrinted, BUSY_S);
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

test("without --follow the latest are printed, with it and no JSON it says that it follows", async () => {
  const profile = await service.profile(acme);
  const latest = async () =>
    (await answerOf(settings, "events")) as { items: { number: number; type: string; object_id: string }[] };
  const isThere = async (): Promise<boolean> => (await latest()).items.at(-1)?.object_id === profile;
  await until("the profile's event is there", isThere, BUSY_S);
  const { items } = await latest();
  expect(items.at(-1)).toMatchObject({ customer_id: acme.id, type: "profile.created" });
  expect(items.map(({ number }) => number)).toEqual(items.map((_, place) => (items[0]?.number ?? 0) + place));
  const { exitCode, stdout, stderr } = await parbook(settings, "events");
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  const lines = stdout.trimEnd().split("\n");
  expect(lines).toHaveLength(items.length + 2);
  expect(lines.at(-2)).toMatch(new RegExp(`Acme \\S+ +${items.at(-1)?.number}  profile.created +${profile}$`));
  expect(lines.at(-1)).toBe("parbook events --follow prints those to come.");

  const { child, said, ended } = launchParbook(settings, "events", "--follow");
  onTestFinished(() => void child.kill("SIGKILL"));
  await until("it says that it follows", () => said.stderr !== "", BUSY_S);
  child.kill("SIGINT");
  expect(await ended).toEqual({
    exitCode: 0,
    stdout: "0 events.\n",
    stderr: "following the events of all customers from now on; Ctrl-C ends it\n",
  });
});

test("it ends when nobody reads it any more", async () => {
  const { child, ended } = await follow();
  child.stdout?.destroy();
  const hasEnded = async (): Promise<boolean> => {
    await service.profile(acme);
    return child.exitCode !== null;
  };
  await until("it has ended", hasEnded, BUSY_S);
  expect(await ended).toMatchObject({ exitCode: 0, stderr: "" });
});
