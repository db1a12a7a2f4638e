import { expect, test } from "vitest";
import { heldScopes, isScope, SCOPES } from "./scopes.ts";

test("every scope of the interface and of the behaviour is known", () => {
  expect(Object.keys(SCOPES).sort()).toEqual([
    "api_creds:delete_credentials",
    "api_creds:read_credentials",
    "conversion:read_conversion_stablecoin",
    "conversion:write_conversion_stablecoin",
    "events:read_event",
    "exchange:historical_prices",
    "exchange:read_order",
    "exchange:write_order",
    "funding:read_profile",
    "funding:write_profile",
    "transfer:read_deposit_address",
    "transfer:read_fiat_account",
    "transfer:read_fiat_deposit_instructions",
    "transfer:read_transfer",
    "transfer:write_crypto_withdrawal",
    "transfer:write_deposit_address",
    "transfer:write_fiat_account",
    "transfer:write_fiat_deposit_instructions",
    "transfer:write_fiat_withdrawal",
    "transfer:write_internal_transfer",
    "transfer:write_platform_transfer",
    "webhooks:read_webhook",
    "webhooks:write_webhook",
  ]);
});

test("a star on a client stands for all scopes", () => {
  expect(heldScopes(["*"])).toEqual(Object.keys(SCOPES));
});

test("a client holds each known scope of its list once", () => {
  expect(heldScopes(["exchange:read_order", "exchange:read_order", "toString", "a:b"])).toEqual([
    "exchange:read_order",
  ]);
});

test("a name that every object has is not a scope", () => {
  expect(isScope("constructor")).toBe(false);
});
