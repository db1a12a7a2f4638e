import { expect, test } from "vitest";
import { createDialect, OWN_DIALECT, OWN_WORDS } from "./dialect.ts";

const words = (pairs: Readonly<Record<string, string>>) => new Map(Object.entries(pairs));

test("a word and what it becomes change places, so that every text comes out as it went in", () => {
  const { assets } = createDialect({ ...OWN_WORDS, assets: words({ PLATFORMG: "PAXG" }) });
  expect(assets.given("PLATFORMG")).toBe("PAXG");
  expect(assets.taken("PAXG")).toBe("PLATFORMG");
  // Our own word means nothing any more, and is quoted as it was sent.
  expect(assets.taken("PLATFORMG")).toBe("PAXG");
  for (const text of ["PLATFORMG", "PAXG", "USD", ""]) expect(assets.given(assets.taken(text))).toBe(text);
});

test("words may take each other's places, and follow one another in a chain", () => {
  const { enums, isOwn } = createDialect({
    ...OWN_WORDS,
    enums: words({ BUY: "SELL", SELL: "BUY", OPEN: "LIVE", LIVE: "ON" }),
  });
  expect(["BUY", "SELL", "OPEN", "LIVE"].map(enums.given)).toEqual(["SELL", "BUY", "LIVE", "ON"]);
  expect(["SELL", "BUY", "LIVE", "ON", "OPEN"].map(enums.taken)).toEqual(["BUY", "SELL", "OPEN", "LIVE", "ON"]);
  expect(isOwn).toBe(false);
  expect(OWN_DIALECT.isOwn).toBe(true);
});

test("each kind has its own words, and one word of any kind is enough for another dialect", () => {
  const kinds = ["assets", "enums", "markets", "scopes", "problemTitles"] as const;
  for (const kind of kinds) {
    const dialect = createDialect({ ...OWN_WORDS, [kind]: words({ OURS: "THEIRS" }) });
    const given = kinds.map((other) => dialect[other].given("OURS"));
    expect([given, dialect.isOwn]).toEqual([kinds.map((other) => (other === kind ? "THEIRS" : "OURS")), false]);
  }
  expect(createDialect({ ...OWN_WORDS, paths: words(PATHS) }).isOwn).toBe(false);
  expect(createDialect({ ...OWN_WORDS, problemTypes: "urn:problem:" })).toMatchObject({
    isOwn: false,
    problemTypes: "urn:problem:",
  });
});

const PATHS = {
  "/v2/transfer/platform": "/v2/transfer/paxos",
  "/v2/events/{id}": "/v2/news/{id}",
  "/v2/events/stream": "/v2/news/live",
  "/v2/profiles/{profile_id}/orders/{id}": "/v2/orders/{id}/of/{profile_id}",
};

test.each([
  ["/v2/transfer/paxos", "/v2/transfer/platform"],
  ["/v2/transfer/paxos?a=/v2/transfer/paxos", "/v2/transfer/platform?a=/v2/transfer/paxos"],
  ["http://example.com/v2/transfer/paxos#a", "/v2/transfer/platform#a"],
  ["HTTPS://EXAMPLE.COM/v2/transfer/paxos", "/v2/transfer/platform"],
  ["/v2/transfer/p%61xos", "/v2/transfer/platform"],
  ["/v2/transfer/platform", "/v2/transfer/paxos"],
  ["/v2/transfer/pl%61tform", "/v2/transfer/paxos"],
  ["/v2/transfer/%", "/v2/transfer/%"],
  ["/v2/transfer/paxos/", "/v2/transfer/paxos/"],
  ["/v2/news/live", "/v2/events/stream"],
  ["/v2/news/a%2Fb", "/v2/events/a%2Fb"],
  ["/v2/events/7", "/v2/news/7"],
  ["/v2/orders/1/of/default", "/v2/profiles/default/orders/1"],
  ["/v2/profiles", "/v2/profiles"],
  ["*", "*"],
])("a request for %s is routed to %s", (sent, routed) => {
  const { paths } = createDialect({ ...OWN_WORDS, paths: words(PATHS) });
  expect(paths?.taken(sent)).toBe(routed);
});

test("the path of a route is documented as callers know it, also that which another one has taken the place of", () => {
  const { paths } = createDialect({ ...OWN_WORDS, paths: words(PATHS) });
  const given = ["/v2/events/{id}", "/v2/transfer/platform", "/v2/transfer/paxos", "/v2/profiles"];
  expect(given.map((ours) => paths?.given(ours))).toEqual([
    "/v2/news/{id}",
    "/v2/transfer/paxos",
    "/v2/transfer/platform",
    "/v2/profiles",
  ]);
});

test("a path that keeps its name is reached by it alone, whatever path with a parameter is renamed beside it", () => {
  const routed = (renamed: Readonly<Record<string, string>>, sent: readonly string[]) => {
    const { paths } = createDialect({ ...OWN_WORDS, paths: words(renamed) });
    for (const path of ["/v2/events/{id}", "/v2/events/stream", "/v2/toys/{id}", "/v2/toys/{id}/parts"])
      paths?.know(path);
    return sent.map((target) => paths?.taken(target));
  };
  const sent = ["/v2/events/stream?a=1", "/v2/events/str%65am", "/v2/events/7", "/v2/news/7", "/v2/news/stream?a=1"];
  expect(routed({ "/v2/events/{id}": "/v2/news/{id}" }, sent)).toEqual([
    "/v2/events/stream?a=1",
    "/v2/events/str%65am",
    "/v2/news/7",
    "/v2/events/7",
    // An id that our own path cannot have either.
    "/v2?a=1",
  ]);
  const swapped = { "/v2/events/{id}": "/v2/toys/{id}", "/v2/toys/{id}": "/v2/events/{id}" };
  expect(routed(swapped, ["/v2/events/stream", "/v2/events/7", "/v2/toys/7", "/v2/toys/stream"])).toEqual([
    "/v2/events/stream",
    "/v2/toys/7",
    "/v2/events/7",
    "/v2",
  ]);
});
