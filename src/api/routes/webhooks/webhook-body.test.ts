import { expect, test } from "vitest";
import type { Problem } from "../../problems/problems.ts";
import { type SentWebhook, webhookRequest } from "./webhook-body.ts";

function errorsOf(access: NonNullable<SentWebhook["receiver_access"]>): unknown {
  try {
    return webhookRequest({ name: "books", url: "https://acme.example", types: ["*"], receiver_access: access });
  } catch (problem) {
    return (problem as Problem).meta.errors;
  }
}

test("all that a receiver's access lacks, and all that belongs to the other kind, is named", () => {
  expect(errorsOf({ type: "API_KEY", secret: "s", token_url: "https://a", client_id: "c", scope: "hooks" })).toEqual([
    { field: "receiver_access.header", rule: "is required of API_KEY" },
    { field: "receiver_access.token_url", rule: "does not belong to API_KEY" },
    { field: "receiver_access.client_id", rule: "does not belong to API_KEY" },
    { field: "receiver_access.scope", rule: "does not belong to API_KEY" },
  ]);
  expect(errorsOf({ type: "OAUTH", secret: "s", scope: "hooks", header: "X-Key" })).toEqual([
    { field: "receiver_access.token_url", rule: "is required of OAUTH" },
    { field: "receiver_access.client_id", rule: "is required of OAUTH" },
    { field: "receiver_access.header", rule: "does not belong to OAUTH" },
  ]);
});
