import { expect, test } from "vitest";
import { hasLongPath, withoutLongPath } from "./long-paths.ts";

const escapes = (count: number): string => "%25".repeat(count);

test("a path that is longer than any is replaced, with its length and query kept", () => {
  const same = ["/v2/a%2Fb?c=%25", `/v2/${escapes(681)}`, `/v2?${escapes(20_000)}#`, `/v2#${escapes(20_000)}?`];
  for (const target of same) expect([withoutLongPath(target), hasLongPath(target)]).toEqual([target, false]);
  for (const rest of ["", "?a=%25#%25", "#%25?"]) {
    const target = `/v2/${escapes(682)}${rest}`;
    expect([withoutLongPath(target), hasLongPath(target)]).toEqual([`/${"_".repeat(2_049)}${rest}`, true]);
  }
});
