import { expect, test, vi } from "vitest";
import type { Clients } from "../customers/clients.ts";
import { DatabaseAway } from "../postgres/database.ts";
import type { Instant } from "../std/clock.ts";
import { DisabledClients } from "./disabled-clients.ts";

const NOW = Date.parse("2026-11-21T09:30:00.000Z") as Instant;

/** A list whose readings take so long, each in turn. */
function listThatTakes(...durations: number[]) {
  let elapsed = 0;
  const listDisabledSince = vi.fn<Clients["listDisabledSince"]>(async () => {
    elapsed += durations.shift() ?? 0;
    return ["leaver"];
  });
  const disabled = new DisabledClients({
    clients: { listDisabledSince },
    clock: { now: () => NOW },
    elapsed: () => elapsed,
  });
  return { disabled, listDisabledSince };
}

test("the list is not fresh before it was read", () => {
  const { disabled } = listThatTakes();
  expect([disabled.isFresh(), disabled.has("leaver")]).toEqual([false, false]);
});

test("it names those who were disabled while a token of theirs may still live, on any clock", async () => {
  const { disabled, listDisabledSince } = listThatTakes();
  await disabled.freshen();
  expect(listDisabledSince).toHaveBeenCalledExactlyOnceWith(Date.parse("2026-11-21T08:20:01.000Z"));
  expect([disabled.isFresh(), disabled.has("leaver"), disabled.has("stayer")]).toEqual([true, true, false]);
});

test("whoever asks while it is being read waits for the same reading", async () => {
  const { disabled, listDisabledSince } = listThatTakes(10);
  await Promise.all([disabled.freshen(), disabled.freshen(), disabled.follow()]);
  expect(listDisabledSince).toHaveBeenCalledTimes(1);
});

test("its age counts from when the reading began: one that took long is done again", async () => {
  const { disabled, listDisabledSince } = listThatTakes(4_000, 3_999);
  await disabled.freshen();
  expect(listDisabledSince).toHaveBeenCalledTimes(2);
});

test("a list that cannot be had in time is a database that is away", async () => {
  const { disabled } = listThatTakes(4_000, 4_000);
  await expect(disabled.freshen()).rejects.toThrow(DatabaseAway);
});

test("after a reading that failed the next one is a new one", async () => {
  const { disabled, listDisabledSince } = listThatTakes();
  listDisabledSince.mockRejectedValueOnce(new DatabaseAway("the database cannot be reached"));
  await expect(disabled.freshen()).rejects.toThrow(DatabaseAway);
  await disabled.freshen();
  expect(disabled.isFresh()).toBe(true);
});
