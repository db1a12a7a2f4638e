/** Where webhooks may be posted to if nothing is set (docs/webhooks.md#for-operators). */
import { expect, test } from "vitest";
import { readConfig } from "./config.ts";

const NOTHING_ELSE = { allowedNetworks: [], refusedNetworks: [] };

test.each([
  ["sandbox", { allowLoopback: true, allowCleartext: true, allowedPorts: "any", ...NOTHING_ELSE }],
  ["production", { allowLoopback: false, allowCleartext: false, allowedPorts: [443], ...NOTHING_ELSE }],
])("in a %s", (mode, policy) => {
  expect(readConfig({ PARBOOK_MODE: mode }).webhookPolicy).toEqual(policy);
});
