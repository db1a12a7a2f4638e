import { expect, test } from "vitest";
import { EVENT_TYPES, LAST_TYPES, transferEventType } from "./event-types.ts";

test("an object never changes again after what its last status says, and after nothing else", () => {
  const last = /\.(?:completed|failed|settled|cancelled|filled|rejected|expired)$/;
  expect(EVENT_TYPES.filter((type) => LAST_TYPES.includes(type))).toEqual(
    EVENT_TYPES.filter((type) => last.test(type)),
  );
});

test.each([
  ["requested", "pending"],
  ["approved", "updated"],
  ["sent", "updated"],
  ["completed", "completed"],
  ["failed", "failed"],
  // docs/events.md: "it failed or was cancelled".
  ["cancelled", "failed"],
] as const)("a withdrawal that is %s is %s", (status, told) => {
  expect(transferEventType("WIRE_WITHDRAWAL", status)).toBe(`transfer.wire_withdrawal.${told}`);
});
