import { expect, test } from "vitest";
import { EVENT_TYPES, LAST_TYPES } from "./event-types.ts";

test("an object never changes again after what its last status says, and after nothing else", () => {
  const last = /\.(?:completed|failed|settled|cancelled|filled|rejected|expired)$/;
  expect(EVENT_TYPES.filter((type) => LAST_TYPES.includes(type))).toEqual(
    EVENT_TYPES.filter((type) => last.test(type)),
  );
});
