import { expect, test, vi } from "vitest";
import { handleTokenRequest } from "./token-endpoint.ts";
import { rejectToken } from "./token-error.ts";

const ASKED = {
  query: "",
  contentType: "application/x-www-form-urlencoded",
  authorization: undefined,
  body: Buffer.from("grant_type=client_credentials&client_id=acme&client_secret=wrong"),
  address: "203.0.113.9",
};

test("while the clock is wrong no secret is checked, because which secrets are valid depends on the time", async () => {
  const [authenticate, issue] = [vi.fn(), vi.fn()];
  const fault = "the clock of this node is 3.0 s behind the database's, and 2 s are allowed";
  const parts = { clients: { authenticate }, tokens: { issue }, clock: { fault } };
  expect(await handleTokenRequest(ASKED, parts)).toEqual(rejectToken("temporarily_unavailable", fault));
  expect([authenticate.mock.calls, issue.mock.calls]).toEqual([[], []]);
});
