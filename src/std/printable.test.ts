import { expect, test } from "vitest";
import { escapeJson, printable, printableJson } from "./printable.ts";

test("ordinary characters of names, in any script, are shown unchanged", () => {
  for (const text of ['Acme & Söhne ("A") \\ 100 %', "株式会社", "شركة", "Ærø", "e\u0301", "🚀", ""]) {
    expect(printable(text)).toBe(text);
    expect(printableJson({ text })).toBe(JSON.stringify({ text }));
  }
});

test.for([
  ["escape", "a\u001b[31mb", "a\\u001b[31mb"],
  ["line breaks and a tab", "a\nb\r\tc", "a\\nb\\r\\tc"],
  ["C1 and DEL", "a\u009b2J\u007f", "a\\u009b2J\\u007f"],
  ["a bidirectional override", "a\u202egpj.exe\u2066", "a\\u202egpj.exe\\u2066"],
  ["zero-width characters", "a\u200bb\u200dc\ufeff\u00ad\u2060", "a\\u200bb\\u200dc\\ufeff\\u00ad\\u2060"],
  ["separators of lines", "a\u2028b\u2029", "a\\u2028b\\u2029"],
  ["a tag beyond U+FFFF", "a\u{e0041}", "a\\udb40\\udc41"],
  ["half a character", "a\ud800", "a\\ud800"],
  [
    "blanks that look like the usual one, or like nothing",
    "a\u00a0b\u3000c\u3164\u2800",
    "a\\u00a0b\\u3000c\\u3164\\u2800",
  ],
] as const)("%s is shown as an escape, and JSON keeps its value", ([, text, shown]) => {
  expect(printable(text)).toBe(shown);
  const json = printableJson({ text }) as string;
  expect(JSON.parse(json)).toEqual({ text });
  expect(printable(json)).toBe(json);
  expect(escapeJson(JSON.stringify([text]))).toBe(printableJson([text]));
});

test("a value that JSON cannot write gives nothing", () => {
  expect(printableJson(undefined)).toBeUndefined();
});
