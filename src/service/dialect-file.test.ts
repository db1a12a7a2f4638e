import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type KnownWords, readDialectFile, rejectMistakes } from "./dialect-file.ts";
import { StartupError } from "./startup-error.ts";

const KNOWN: KnownWords = {
  assets: new Set(["USD", "PLATFORMG"]),
  markets: new Set(["PLATFORMGUSD"]),
  scopes: new Set(["transfer:read_transfer"]),
  problem_titles: new Set(["Forbidden"]),
  enums: new Set(["BUY", "SELL", "OPEN"]),
  paths: new Set([
    "/docs/*",
    "/v2/profiles",
    "/v2/profiles/{id}",
    "/v2/events/{id}",
    "/v2/events/stream",
    "/oauth2/token",
  ]),
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "dialect-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** The lines that a file is rejected with; none if it is taken. */
async function mistakesIn(content: unknown, known = KNOWN): Promise<readonly string[]> {
  const path = join(folder, "words.json");
  await writeFile(path, typeof content === "string" ? content : JSON.stringify(content));
  try {
    rejectMistakes(await readDialectFile(path), known);
    return [];
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    return error.lines.map((line) => line.replace(path, "FILE"));
  }
}

test("a file without mistakes is taken", async () => {
  expect(await mistakesIn({})).toEqual([]);
  expect(await mistakesIn(`{${" ".repeat(1_048_574)}}`)).toEqual([]);
  expect(
    await mistakesIn({
      assets: { PLATFORMG: "PAXG" },
      markets: { PLATFORMGUSD: "PAXGUSD" },
      enums: { BUY: "SELL", SELL: "BUY" },
      scopes: { "transfer:read_transfer": "read transfers".replace(" ", "_") },
      paths: { "/v2/events/{id}": "/v2/news/{id}", "/v2/events/stream": "/v2/news/stream" },
      problem_types: "https://example.com/problems#",
      problem_titles: { Forbidden: "Not Allowed" },
    }),
  ).toEqual([]);
});

test("every mistake is reported, those of its form and those of its words", async () => {
  const lines = await mistakesIn({
    asset: {},
    assets: { USD: "", PLATFORMG: "PLATFORMG", GOLD: "PAXG" },
    markets: { PLATFORMGUSD: "SEVENTEEN-LETTERS" },
    enums: { BUY: "SIDE", SELL: "SIDE", OPEN: "SELL" },
    scopes: { "transfer:read_transfer": "two words" },
    paths: {
      "/v2/profiles": "/docs/index",
      "/v2/profiles/{id}": "/v2/profiles/{name}",
      "/v2/events/{id}": "/v2/profiles/{id}",
      "/v2/events/stream": "v2/stream",
      "/oauth2/token": "/token",
    },
    problem_types: "problems",
    problem_titles: [],
  });
  expect(lines).toEqual([
    "the dialect FILE is wrong:",
    "  asset is not one of assets, markets, enums, scopes, paths, problem_titles, problem_types",
    '  assets: "USD" does not become a code of letters, digits and _ . -, 1 to 100 characters',
    '  assets: "PLATFORMG" becomes itself',
    '  markets: "PLATFORMGUSD" does not become a code of letters, digits and _ . -, 1 to 16 characters',
    '  enums: "BUY" and "SELL" both become SIDE',
    '  scopes: "transfer:read_transfer" does not become a scope: 1 to 100 visible ASCII characters without quotes and backslashes',
    '  paths: "/v2/events/stream" does not become a path such as /v2/profiles/{id}: letters, digits and _ . - between slashes',
    "  problem_types is not the beginning of a URL, such as https://example.com/problems/",
    "  problem_titles is not an object of words",
    '  assets: "GOLD" is not one that Parbook has',
    '  enums: "OPEN" becomes SELL, but that is a word of Parbook\'s that keeps its meaning',
    '  paths: "/v2/profiles" becomes /docs/index, but that is also the path of /docs/*',
    '  paths: "/v2/profiles/{id}" becomes /v2/profiles/{name}, but that is also the path of /v2/events/{id}',
    '  paths: "/v2/events/{id}" becomes /v2/profiles/{id}, but that is also the path of /v2/profiles/{id}',
    '  paths: "/oauth2/token" is not one that Parbook has',
  ]);
});

test("a path keeps its parameters", async () => {
  expect(await mistakesIn({ paths: { "/v2/profiles/{id}": "/v2/owners/{name}" } })).toEqual([
    "the dialect FILE is wrong:",
    "  paths: /v2/profiles/{id} becomes /v2/owners/{name}, which has other parameters",
  ]);
});

test("a process without the API cannot check its enums and paths", async () => {
  const known = { ...KNOWN, enums: undefined, paths: undefined };
  const words = { assets: { GOLD: "PAXG" }, enums: { UNKNOWN: "WORD" }, paths: { "/v2/unknown": "/v2/path" } };
  expect(await mistakesIn(words, known)).toEqual([
    "the dialect FILE is wrong:",
    '  assets: "GOLD" is not one that Parbook has',
  ]);
});

test.each([
  ["{", "the dialect FILE cannot be read: it is not JSON"],
  ['{"assets":{"USD":"A","USD":"B"}}', "the dialect FILE cannot be read: it has a field twice"],
  ["[]", "the dialect FILE is not a JSON object"],
  [
    { enums: Object.fromEntries(Array.from({ length: 600 }, (_, at) => [`A${at}`, `B${at}`])) },
    "the dialect FILE cannot be read: it has more than 500 values",
  ],
  [`"${"a".repeat(1_048_576)}"`, "PARBOOK_DIALECT FILE is longer than 1048576 bytes"],
])("what cannot be read at all is reported alone", async (content, line) => {
  expect(await mistakesIn(content)).toEqual([line]);
});

test("a file that is not there is reported by the name of the setting", async () => {
  await expect(readDialectFile("/nowhere/words.json")).rejects.toThrow(
    "PARBOOK_DIALECT /nowhere/words.json cannot be read: ENOENT",
  );
});
