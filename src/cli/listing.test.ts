import { expect, test } from "vitest";
import { LISTED_AT_MOST, listing } from "./listing.ts";

const found = (count: number) => Array.from({ length: count }, (_, at) => ({ name: `number ${at}` }));
const list = (count: number) => listing(found(count), ["name"], ({ name }) => [name]);

test("a list within its bound is shown as it is", () => {
  expect(list(2)).toEqual({ json: { items: found(2), more: false }, prose: ["name", "number 0", "number 1"] });
  const full = list(LISTED_AT_MOST);
  expect(full.json).toEqual({ items: found(LISTED_AT_MOST), more: false });
  expect(full.prose.at(-1)).toBe("number 999");
});

test("a list past its bound is cut there, and says so", () => {
  const { json, prose } = list(LISTED_AT_MOST + 1);
  expect(json).toEqual({ items: found(LISTED_AT_MOST), more: true });
  expect(prose.slice(-2)).toEqual(["number 999", "These are the first 1000: there are more."]);
});

test("a list that can be gone on with says how, when there is more", () => {
  const prose = (count: number) =>
    listing(
      found(count),
      ["name"],
      ({ name }) => [name],
      ({ name }) => `Go on behind ${name}.`,
    ).prose;
  expect(prose(LISTED_AT_MOST).at(-1)).toBe("number 999");
  expect(prose(LISTED_AT_MOST + 1).slice(-2)).toEqual([
    "These are the first 1000: there are more.",
    "Go on behind number 999.",
  ]);
});
