import { expect, test } from "vitest";
import type { AuthenticationRejection, Clients } from "../../customers/clients/clients.ts";
import { reject } from "../../std/result.ts";
import { handleTokenRequest } from "./token-endpoint.ts";

const body = Buffer.from("grant_type=client_credentials&client_id=acme&client_secret=guess");
const REQUEST = { query: "", contentType: "application/x-www-form-urlencoded", authorization: undefined, body };

/** The rejection of a request whose client is not authenticated, for this reason. */
async function rejectionOf(why: AuthenticationRejection) {
  const authenticate: Clients["authenticate"] = async () => reject(why);
  const issue = () => Promise.reject(new Error("no token is issued here"));
  const result = await handleTokenRequest(
    { ...REQUEST, address: "192.0.2.1" },
    { clients: { authenticate }, tokens: { issue } },
  );
  return result.kind === "rejected" && result.rejection;
}

const DENIED = { error: "invalid_client", description: "client authentication failed", challenge: false };

test("the log names the client that was denied, but not what names no client: it may be a misplaced secret", async () => {
  const { description: reason } = DENIED;
  expect(await rejectionOf("client_authentication_failed")).toEqual({ ...DENIED, reason, clientId: "acme" });
  expect(await rejectionOf("unknown_client")).toEqual({ ...DENIED, reason, clientId: undefined });
});

test("only the log says that a secret is valid, and its client may not call from there", async () => {
  const reason = "the client acme may not call from this address";
  expect(await rejectionOf("address_not_allowed")).toEqual({ ...DENIED, reason, clientId: "acme" });
});

test("while too many clients are being authenticated nobody is denied", async () => {
  const busy = { error: "temporarily_unavailable", description: "too many clients are being authenticated" };
  expect(await rejectionOf("too_many_authentications")).toEqual({
    ...busy,
    reason: busy.description,
    challenge: false,
    clientId: undefined,
  });
});
