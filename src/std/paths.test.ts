import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isInside, isPlainPath } from "./paths.ts";

let place: string;
beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), "parbook-path-"));
  await mkdir(join(place, "a/b"), { recursive: true });
  await symlink(join(place, "a"), join(place, "link"));
});
afterAll(() => rm(place, { recursive: true }));

test.each([
  ["a", "a", true],
  ["a/b", "a", true],
  ["a", "a/b", false],
  ["ab", "a", false],
  ["a/../a/x/y", "a", true],
  ["link", "a", true],
  ["link/b/new", "a", true],
  ["a/b", "link", true],
  ["a/new", "link/new", true],
  ["link/../c", "a", false],
])("whether %s is inside %s: %s", async (inner, outer, expected) => {
  expect(await isInside(join(place, inner), join(place, outer))).toBe(expected);
});

test("everything is inside the root directory", async () => {
  expect(await isInside(place, "/")).toBe(true);
});

test("only an absolute path of letters, digits, dots, hyphens and underscores needs no quoting in a shell", () => {
  expect(["/var/lib/parbook-1/A_b.c", "/"].map(isPlainPath)).toEqual([true, false]);
  const others = ["", "var/lib", "/a b", "/a%p", "/a'b", "/a;b", "/a$b", "/a\\b", "/a\n", "/ä"];
  expect(others.filter(isPlainPath)).toEqual([]);
});
