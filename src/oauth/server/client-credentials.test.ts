/** What stands in the header of a token request (RFC 6749, section 2.3.1). */
import { expect, test } from "vitest";
import { done } from "../../std/result.ts";
import { readCredentials } from "./client-credentials.ts";
import { rejectToken } from "./token-error.ts";

const basic = (pair: string): string => `Basic ${Buffer.from(pair).toString("base64")}`;
const NO_FORM = new Map<string, string>();

test("the longest client_id and secret are read with each character escaped, and as they were sent", () => {
  const [clientId, secret] = ["/".repeat(100), "/".repeat(256)];
  const [sentId, sentSecret] = [encodeURIComponent(clientId), encodeURIComponent(secret)];
  const readings = [
    { clientId, secret },
    { clientId: sentId, secret: sentSecret },
  ];
  expect(readCredentials(basic(`${sentId}:${sentSecret}`), NO_FORM)).toEqual(done({ readings, sentBy: "basic" }));
  const tooLong = rejectToken("invalid_request", "client_secret is longer than 256 characters");
  expect(readCredentials(basic(`${sentId}:${sentSecret}%2F`), NO_FORM)).toEqual(tooLong);
});

test("a client_id in the form leaves only the reading of the header that has it", () => {
  const sent = basic("acme%2Beu:secret");
  for (const clientId of ["acme+eu", "acme%2Beu"])
    expect(readCredentials(sent, new Map([["client_id", clientId]]))).toEqual(
      done({ readings: [{ clientId, secret: "secret" }], sentBy: "basic" }),
    );
});
