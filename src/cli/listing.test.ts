import { expect, test } from "vitest";
import { LIST_LIMIT, listing } from "./listing.ts";

const found = (count: number) => Array.from({ length: count }, (_, at) => ({ name: `number ${at}` }));
const list = (count: number) => listing(found(count), ["name"], ({ name }) => [name]);

test("a list within its limit is shown in full", () => {
  expect(list(2)).toEqual({ json: { items: found(2), more: false }, prose: ["name", "number 0", "number 1"] });
  const full = list(LIST_LIMIT);
  expect(full.json).toEqual({ items: found(LIST_LIMIT), more: false });
  expect(full.prose.at(-1)).toBe("number 999");
});

test("a list past its limit is truncated, and says so", () => {
  const { json, prose } = list(LIST_LIMIT + 1);
  expect(json).toEqual({ items: found(LIST_LIMIT), more: true });
  expect(prose.slice(-2)).toEqual(["number 999", "Only the first 1000 are shown."]);
});

test("a pageable list says how to continue when there is more", () => {
  const prose = (count: number) =>
    listing(
      found(count),
      ["name"],
      ({ name }) => [name],
      ({ name }) => `Continue after ${name}.`,
    ).prose;
  expect(prose(LIST_LIMIT).at(-1)).toBe("number 999");
  expect(prose(LIST_LIMIT + 1).slice(-2)).toEqual(["Only the first 1000 are shown.", "Continue after number 999."]);
});
