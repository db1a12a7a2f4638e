import { expect, test } from "vitest";
import { Outage } from "./outage.ts";

test("of failures in a row the first is reported, and their number when they end, for each row anew", () => {
  const reported: unknown[] = [];
  const outage = new Outage(
    (error) => reported.push(error),
    (failures) => reported.push(failures),
  );
  outage.succeeded();
  for (const error of ["first", "second", "third"]) outage.failed(error);
  outage.succeeded();
  outage.succeeded();
  outage.failed("fourth");
  outage.succeeded();
  expect(reported).toEqual(["first", 3, "fourth", 1]);
});
