/** The settings of rate limits and of the proxies in front. */
import { isIP } from "node:net";
import { DEFAULT_RATES, RATE_CLASSES, type RateClass, type Rates } from "../limits/rates.ts";
import { type Setting, Wrong } from "./setting.ts";

/** `on`, `off`, or rates that differ from the usual ones: "token=2,rest=100". Undefined: as the mode has it. */
export const rateLimits: Setting<Rates | "off" | undefined> = {
  absent: undefined,
  read: (text) => {
    if (text === "on") return DEFAULT_RATES;
    if (text === "off") return "off";
    const entries = text.split(",").map((entry) => readRate(entry.trim()));
    const names = new Set(entries.map((entry) => entry?.[0]));
    if (names.has(undefined) || names.size < entries.length) {
      return new Wrong(
        `is not on, off, or rates per second from 0.01 to 100000 like "token=2,rest=100" of ${RATE_CLASSES.join(", ")}`,
      );
    }
    return { ...DEFAULT_RATES, ...Object.fromEntries(entries as Rate[]) };
  },
};

type Rate = readonly [RateClass, number];

function readRate(entry: string): Rate | undefined {
  const [, name, digits] = /^([a-z_]+)=([0-9]{1,6}(?:\.[0-9]{1,2})?)$/.exec(entry) ?? [];
  const rateClass = RATE_CLASSES.find((each) => each === name);
  const perSecond = Number(digits);
  return rateClass !== undefined && perSecond > 0 && perSecond <= 100_000 ? [rateClass, perSecond] : undefined;
}

/** Addresses and networks: "10.0.0.7, 192.168.0.0/16, fd00::/8". */
export const trustedProxies: Setting<readonly string[]> = {
  absent: [],
  read: (text) => {
    const entries = text.split(",").map((entry) => entry.trim());
    const wrong = entries.find((entry) => !isAddressOrNetwork(entry));
    if (wrong === undefined) return entries;
    return new Wrong('is not a list of IP addresses and networks like "10.0.0.7, 192.168.0.0/16, fd00::/8"');
  },
};

/** Every address would be a proxy in a network of 0 bits, and whoever calls could take any address. */
function isAddressOrNetwork(entry: string): boolean {
  const [address = "", bits, ...rest] = entry.split("/");
  const version = isIP(address);
  if (version === 0 || address.includes("%") || rest.length > 0) return false;
  return bits === undefined || (/^[1-9][0-9]{0,2}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}
