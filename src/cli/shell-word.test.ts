import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { shellWord } from "./shell-word.ts";

test.each([
  ["salaries.csv", "salaries.csv"],
  ["/srv/pay/2026-11.csv", "/srv/pay/2026-11.csv"],
  ["two words.csv", "'two words.csv'"],
  ["it's $(here).csv", "'it'\\''s $(here).csv'"],
  ["it's Bob's.csv", "'it'\\''s Bob'\\''s.csv'"],
  ["~/a*b", "'~/a*b'"],
  ["", "''"],
])("%s is one word for a shell", (text, word) => {
  expect(shellWord(text)).toBe(word);
  expect(execFileSync("sh", ["-c", `printf %s ${word}`], { encoding: "utf8" })).toBe(text);
});
