import { expect, test } from "vitest";
import { TESTER } from "../../../test/support/movements.ts";
import { profileOf, profileRow, stateOf } from "../../../test/support/states.ts";
import type { AnyCommand } from "../../ledger/writer/pending-command.ts";
import { must } from "../../std/assert.ts";
import type { Instant } from "../../std/clock.ts";
import { IdSource } from "../../std/id.ts";
import type { CustomerId } from "../customer-id.ts";
import { createProfiles, type Profile, type ProfileFields, profileNotFound, profileTable } from "./profiles.ts";

const NOW = 5_000 as Instant;
const acme = "acme" as CustomerId & string;

/** The command that updates the profile, by a customer. */
async function updating(profile: Profile, fields: ProfileFields, customerId = acme): Promise<AnyCommand> {
  const sent: AnyCommand[] = [];
  const lane = { execute: async (command: AnyCommand) => void sent.push(command) };
  const row = { ...profile, customer_id: profile.customerId, last_deactivation: "0", version: "3" };
  const database = { rows: async () => [row] };
  const parts = { database, lane, ids: new IdSource(), clock: { now: () => NOW } };
  await createProfiles(parts as never).update(customerId, profile.id, fields, TESTER);
  return must(sent[0], "a command was sent");
}

test.each([
  [NOW - 1, NOW],
  [NOW + 1, NOW + 1],
])("updating a profile that was updated at %d sets updated_at to %d: it never goes back", async (at, expected) => {
  const profile = profileOf(acme, { updatedAt: at as Instant, description: "pays" });
  const { decide } = await updating(profile, { nickname: "payouts" });
  const changed = { ...profile, nickname: "payouts", updatedAt: expected };
  expect(decide(stateOf(profileRow(profile)), NOW)).toEqual({
    kind: "done",
    value: changed,
    changes: { states: [{ table: profileTable, row: changed }] },
  });
});

test("a new nickname is claimed, an unchanged one is not", async () => {
  const profile = profileOf(acme, { nickname: "payouts" });
  const claim = { customerId: acme, kind: "nickname", refId: "salaries", id: profile.id };
  expect((await updating(profile, { nickname: "salaries" })).claims).toEqual([claim]);
  expect((await updating(profile, { nickname: "payouts", description: "pays" })).claims).toEqual([]);
  expect((await updating(profile, { description: "pays" })).claims).toEqual([]);
});

test("another customer's profile is not found", async () => {
  const profile = profileOf(acme);
  const { decide } = await updating(profile, { description: "mine" }, "other" as CustomerId & string);
  const decision = decide(stateOf(profileRow(profile)), NOW);
  expect(decision).toEqual({ kind: "rejected", rejection: profileNotFound(profile.id) });
});

test("a profile with a chosen id that was renamed since is there already, and its former nickname is not claimed again", async () => {
  const profile = profileOf(acme, { nickname: "salaries" });
  const row = { ...profile, customer_id: profile.customerId, last_deactivation: "0", version: "3" };
  const lane = { execute: () => expect.fail("nothing is to be written") };
  const parts = { database: { rows: async () => [row] }, lane, ids: new IdSource(), clock: { now: () => NOW } };
  const request = { customerId: acme, nickname: "payouts", description: undefined };
  const ensured = await createProfiles(parts as never).ensure(request, profile.id, TESTER);
  expect(ensured).toEqual({ kind: "exists", id: profile.id });
});
