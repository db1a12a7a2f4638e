import { expect, test } from "vitest";
import { done, PASSED } from "../../std/result.ts";
import { TokenAdmission } from "./token-admission.ts";

test("token requests from all over an IPv6 network of 48 bits leave room for others", async () => {
  const admission = new TokenAdmission();
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const flood = Array.from({ length: 500 }, (_, at) =>
    admission.run(`2001:db8:0:${at.toString(16)}::1`, async () => {
      await finished;
      return done(at);
    }),
  );
  expect(admission.check("2001:db8:0:ffff::1").kind).toBe("rejected");
  expect(admission.check("198.51.100.7")).toBe(PASSED);
  finish();
  const served = (await Promise.all(flood)).filter(({ kind }) => kind === "done");
  expect(served).toHaveLength(250);
});
