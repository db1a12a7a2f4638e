import { expect, test } from "vitest";
import { withoutLongEscapes } from "./long-paths.ts";

const escapes = (count: number): string => "%25".repeat(count);

test("only a path that is longer than any loses its escapes, and never its length or its query", () => {
  const same = ["/v2/a%2Fb?c=%25", `/v2/${escapes(681)}`, `/v2?${escapes(20_000)}`, `/v2#${escapes(20_000)}`];
  for (const target of same) expect(withoutLongEscapes(target)).toBe(target);
  const bare = `/v2/${"_25".repeat(682)}`;
  expect(withoutLongEscapes(`/v2/${escapes(682)}`)).toBe(bare);
  for (const rest of ["?a=%25", "#%25"]) expect(withoutLongEscapes(`/v2/${escapes(682)}${rest}`)).toBe(bare + rest);
});
