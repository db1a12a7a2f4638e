import { expect, test } from "vitest";
import { toyAuthServer } from "../../../test/support/http/toy-auth-server.ts";

test("requests have as long to arrive, and connections as long to be idle, as SECURITY.md says", () => {
  const { headersTimeout, requestTimeout, keepAliveTimeout, timeout } = toyAuthServer().server;
  expect({ headersTimeout, requestTimeout, keepAliveTimeout, timeout }).toEqual({
    headersTimeout: 10_000,
    requestTimeout: 10_000,
    keepAliveTimeout: 65_000,
    timeout: 20_000,
  });
});
