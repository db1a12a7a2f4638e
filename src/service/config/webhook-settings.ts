/** Where webhooks may be posted to. */
import type { Network } from "../../std/network.ts";
import type { OutgoingPolicy } from "../../web/outgoing-requests/outgoing-policy.ts";
import { InvalidValue, type Setting } from "./setting.ts";

/** Undefined: the default of the mode. */
export const webhookPorts: Setting<readonly number[] | undefined> = {
  absent: undefined,
  read: (text) => {
    const ports = text.split(",").map((port) => (/^ *[1-9][0-9]{0,4} *$/.test(port) ? Number(port) : 0));
    return ports.every((port) => port >= 1 && port <= 65_535)
      ? ports
      : new InvalidValue('is not a list of ports like "443, 8443"');
  },
};

/** A sandbox may be used without the internet, and without certificates. */
export function outgoingPolicy(
  mode: "sandbox" | "production",
  ports: readonly number[] | undefined,
  allowedNetworks: readonly Network[],
  refusedNetworks: readonly Network[],
): OutgoingPolicy {
  const isSandbox = mode === "sandbox";
  return {
    allowLoopback: isSandbox,
    allowCleartext: isSandbox,
    allowedPorts: ports ?? (isSandbox ? "any" : [443]),
    allowedNetworks,
    refusedNetworks,
  };
}
