import { type Network, parseNetwork } from "../../std/network.ts";
import { DEFAULT_RATES, RATE_CLASSES, type RateClass, type RequestRates } from "../../web/limits/rates.ts";
import { InvalidValue, type Setting } from "./setting.ts";

/** `on`, `off`, or overrides of the default rates: "token=2,rest=100". Undefined: the default of the mode. */
export const rateLimits: Setting<RequestRates | "off" | undefined> = {
  absent: undefined,
  read: (text) => {
    if (text === "on") return DEFAULT_RATES;
    if (text === "off") return "off";
    const entries = text.split(",").map((entry) => readRate(entry.trim()));
    const names = new Set(entries.map((entry) => entry?.[0]));
    if (names.has(undefined) || names.size < entries.length) {
      return new InvalidValue(
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

/** Addresses and networks: "10.0.0.7, 192.168.0.0/16, fd00::/8". A prefix of 0 bits is rejected: it is everything. */
export const networkList: Setting<readonly Network[]> = {
  absent: [],
  read: (text) => {
    const entries = text.split(",").map((entry) => entry.trim());
    const networks = entries.flatMap((entry) => parseNetwork(entry) ?? []);
    const areAllKnown = networks.length === entries.length && networks.every(({ prefix }) => prefix > 0);
    if (areAllKnown && !text.includes("%")) return networks;
    return new InvalidValue(
      'is not a list of IP addresses and networks like "10.0.0.7, 192.168.0.0/16, fd00::/8", with no bits beyond a prefix and no prefix of 0 bits',
    );
  },
};
