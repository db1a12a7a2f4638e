import { expect, test } from "vitest";
import { done } from "../../std/result.ts";
import { readForm } from "./form.ts";
import { rejectToken } from "./token-error.ts";

const read = (name: string, value: string) =>
  readForm("application/x-www-form-urlencoded", Buffer.from(new URLSearchParams({ [name]: value }).toString()));

test.each([
  ["grant_type", 100],
  ["client_id", 100],
  ["client_secret", 256],
  ["scope", 2_000],
])("%s has at most %d characters", async (name, most) => {
  expect(await read(name, "x".repeat(most))).toEqual(done(new Map([[name, "x".repeat(most)]])));
  const tooLong = rejectToken("invalid_request", `${name} is longer than ${most} characters`);
  expect(await read(name, "x".repeat(most + 1))).toEqual(tooLong);
});
