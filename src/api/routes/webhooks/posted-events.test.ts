import { expect, test } from "vitest";
import type { CustomerEvent, EventId } from "../../../events/events.ts";
import type { Instant } from "../../../std/clock.ts";
import type { Uuid } from "../../../std/id.ts";
import { createDialect, OWN_WORDS } from "../../../web/dialect/dialect.ts";
import { ApiDialect } from "../../dialect/api-dialect.ts";
import { createPostedEvents } from "./posted-events.ts";

const ID = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00" as Uuid;
const TIME = "2026-11-21T09:30:00.000Z";
const now = Date.parse(TIME) as Instant;

function eventOf(profile: { readonly nickname: string }): CustomerEvent {
  const value = { ...profile, id: ID, kind: "NORMAL", status: "ACTIVE", createdAt: now, updatedAt: now };
  const object = { type: "profile", value } as unknown as CustomerEvent["object"];
  return { id: ID as EventId, number: 7n, type: "profile.created", createdAt: now, version: 1n, object };
}

test.each([
  ["a sandbox", true],
  ["no sandbox", false],
])("what %s posts says so, and where it is read, on the paths that its receiver knows", (_name, isTest) => {
  const paths = new Map([
    ["/v2/events/{id}", "/zz/happenings/{id}"],
    ["/v2/webhooks/{id}", "/zz/hooks/{id}"],
  ]);
  const { bodyOf, testBodyOf } = createPostedEvents({
    dialect: new ApiDialect(createDialect({ ...OWN_WORDS, paths })),
    exchange: {} as never,
    isTest,
    baseUrl: () => "https://api.example",
    clock: { now: () => now },
  });
  const event = eventOf({ nickname: "n" });
  const thin = { id: ID, time: TIME, object: "event", is_test: isTest };
  expect(JSON.parse(bodyOf(event, { body: "thin" }))).toEqual({
    ...thin,
    type: "profile.created",
    source: `https://api.example/zz/happenings/${ID}`,
  });
  expect(JSON.parse(testBodyOf(ID, { id: ID }))).toEqual({
    ...thin,
    type: "webhook.test",
    source: `https://api.example/zz/hooks/${ID}`,
  });
});

test("what is posted, thin or full, has the words of the dialect, and the texts of the customer", () => {
  const enums = new Map(["profile.created", "profile", "NORMAL", "ACTIVE"].map((word) => [word, `z_${word}`]));
  const { bodyOf } = createPostedEvents({
    dialect: new ApiDialect(createDialect({ ...OWN_WORDS, enums })),
    exchange: {} as never,
    isTest: true,
    baseUrl: () => "https://api.example",
    clock: { now: () => now },
  });
  const thin = {
    ...{ id: ID, time: TIME, object: "event", is_test: true },
    type: "z_profile.created",
    source: `https://api.example/v2/events/${ID}`,
  };
  const event = eventOf({ nickname: "NORMAL" });
  expect(JSON.parse(bodyOf(event, { body: "thin" }))).toEqual(thin);
  const data = { id: ID, nickname: "NORMAL", type: "z_NORMAL", status: "z_ACTIVE", created_at: TIME, updated_at: TIME };
  expect(JSON.parse(bodyOf(event, { body: "full" }))).toEqual({
    ...thin,
    ...{ number: 7, object_type: "z_profile", version: 1, data },
  });
});
