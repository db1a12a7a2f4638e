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

test("a webhook's port is from 1 to 65535", () => {
  const ports = (text: string) => readConfig({ PARBOOK_WEBHOOK_PORTS: text }).webhookPolicy.allowedPorts;
  expect(ports("1,65535")).toEqual([1, 65_535]);
  for (const wrong of ["0", "65536", "443,", "0443", "443 8443"]) {
    expect(() => readConfig({ PARBOOK_WEBHOOK_PORTS: wrong })).toThrow(
      `PARBOOK_WEBHOOK_PORTS "${wrong}" is not a list of ports like "443, 8443"`,
    );
  }
});
