import { expect, test } from "vitest";
import { Callers, type ClientCaller } from "./caller.ts";

const CLIENT: ClientCaller = { client: "c", token: "t", address: "127.0.0.1", operation: "POST /v2/toys" };

test("each distinct caller of a batch has a number, whichever object says it and whatever came between", () => {
  const callers = new Callers();
  const numbers = [CLIENT, CLIENT, { house: "engine" } as const, { ...CLIENT }, CLIENT, { ...CLIENT, token: "u" }];
  expect(numbers.map((caller) => callers.numberOf(caller))).toEqual([0, 0, 1, 0, 0, 2]);
  expect(JSON.parse(callers.text() ?? "")).toEqual([CLIENT, { house: "engine" }, { ...CLIENT, token: "u" }]);
});
