import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { OTHER_WORDS } from "./other-words.ts";
import { buildProgram } from "./parbook.ts";

const COMMANDS = new Set(buildProgram().commands.map((command) => command.name()));

test("a word that people try leads to a command or a page that there is, and is no command itself", () => {
  for (const [word, answer] of OTHER_WORDS) {
    expect([word, COMMANDS.has(word)]).toEqual([word, false]);
    const named = [...answer.matchAll(/\bparbook ([a-z]+)/g)].map(([, name = ""]) => name);
    expect([word, named.filter((name) => name !== "alone" && !COMMANDS.has(name))]).toEqual([word, []]);
    for (const [page] of answer.matchAll(/\bdocs\/[a-z-]+\.md/g)) {
      expect([page, existsSync(new URL(`../../${page}`, import.meta.url))]).toEqual([page, true]);
    }
  }
});
