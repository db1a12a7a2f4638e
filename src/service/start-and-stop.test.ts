import { expect, test } from "vitest";
import { type Component, startAll } from "./start-and-stop.ts";

let events: string[];

function component(name: string, failing: { start?: true; stop?: true } = {}): Component {
  const event = async (what: "start" | "stop"): Promise<void> => {
    events.push(`${what} ${name}`);
    if (failing[what]) throw new Error(`${name} cannot ${what}`);
  };
  return {
    name,
    start: async () => {
      await event("start");
      return () => event("stop");
    },
  };
}

test("components start in order and stop once, in reverse, also behind one that fails to stop", async () => {
  events = [];
  const stop = await startAll([
    component("a"),
    { name: "empty", start: () => undefined },
    component("b", { stop: true }),
    component("c"),
  ]);
  await expect(stop()).rejects.toMatchObject({ errors: [{ message: "b failed to stop" }] });
  await stop();
  expect(events).toEqual(["start a", "start b", "start c", "stop c", "stop b", "stop a"]);
});

test("when one cannot start, those before it are stopped, and its error is thrown", async () => {
  events = [];
  const starting = startAll([component("a", { stop: true }), component("b", { start: true }), component("c")]);
  await expect(starting).rejects.toThrow("b cannot start");
  expect(events).toEqual(["start a", "start b", "stop a"]);
});
