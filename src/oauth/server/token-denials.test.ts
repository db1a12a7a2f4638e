import { expect, test } from "vitest";
import type { AuthenticationRejection, Clients } from "../../customers/clients/clients.ts";
import type { CustomerId } from "../../customers/customer-id.ts";
import { done, reject } from "../../std/result.ts";
import { handleTokenRequest } from "./token-endpoint.ts";

const body = Buffer.from("grant_type=client_credentials&client_id=acme&client_secret=guess");
const REQUEST = { query: "", contentType: "application/x-www-form-urlencoded", authorization: undefined, body };

/** The rejection of a request, whose client is authenticated like this. */
async function rejectionWith(authenticate: Clients["authenticate"], request = {}) {
  const issue = () => Promise.reject(new Error("no token is issued here"));
  const result = await handleTokenRequest(
    { ...REQUEST, ...request, address: "192.0.2.1" },
    { clients: { authenticate }, tokens: { issue } },
  );
  return result.kind === "rejected" && result.rejection;
}

/** The rejection of a request whose client is not authenticated, for this reason. */
const rejectionOf = (why: AuthenticationRejection) => rejectionWith(async () => reject(why));

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

test("of credentials that can be read in two ways the log names the client of the likelier one that there is", async () => {
  const authorization = `Basic ${Buffer.from("acme%2Beu:guess").toString("base64")}`;
  const denied = (...known: string[]) => {
    const authenticate: Clients["authenticate"] = async (clientId) =>
      reject(known.includes(clientId) ? "client_authentication_failed" : "unknown_client");
    return rejectionWith(authenticate, { authorization, body: Buffer.from("grant_type=client_credentials") });
  };
  const expected = { ...DENIED, reason: DENIED.description, challenge: true };
  expect(await denied("acme+eu", "acme%2Beu")).toEqual({ ...expected, clientId: "acme+eu" });
  expect(await denied("acme%2Beu")).toEqual({ ...expected, clientId: "acme%2Beu" });
});

test("the log names a scope that there is, but not what is none: it may be a misplaced secret", async () => {
  const client = done({ clientId: "acme", customerId: "a customer" as CustomerId, scopes: ["events:read_event"] });
  const reasonFor = async (scope: string) => {
    const asked = { body: Buffer.from(`${body}&scope=${scope}`) };
    const rejection = await rejectionWith(async () => client, asked);
    return rejection && [rejection.description, rejection.reason];
  };
  const known = "the client does not hold the scope exchange:read_order";
  expect(await reasonFor("exchange:read_order")).toEqual([known, known]);
  expect(await reasonFor("s3cret")).toEqual([
    "the client does not hold the scope s3cret",
    "the client requested an unknown scope",
  ]);
});
