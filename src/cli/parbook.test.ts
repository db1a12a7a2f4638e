import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { buildProgram } from "./parbook.ts";

test("a command does not wait for the servers, which only the service needs", () => {
  expect(buildProgram().commands.map((command) => command.name())).toContain("start");
  const loaded = Object.keys(createRequire(import.meta.url).cache).filter((path) =>
    /node_modules\/(?:fastify|@fastify|ws|prom-client)\//.test(path),
  );
  expect(loaded).toEqual([]);
});
