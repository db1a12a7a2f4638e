/** Request bodies, each with a unique ref_id, always of the same length. */
import { randomBytes } from "node:crypto";

/** Unique to this run, so that a kept database can be reused. */
const RUN = randomBytes(4).toString("hex");
let made = 0;

export function refId() {
  made += 1;
  return `bench-${RUN}-${String(made).padStart(10, "0")}`;
}

/** Transfers between two random profiles. */
export function transferBodies(profiles) {
  return () => {
    const from = Math.floor(Math.random() * profiles.length);
    const to = (from + 1 + Math.floor(Math.random() * (profiles.length - 1))) % profiles.length;
    return `{"from_profile_id":"${profiles[from]}","to_profile_id":"${profiles[to]}","amount":"0.01","asset":"USD","ref_id":"${refId()}","metadata":{"purpose":"bench"}}`;
  };
}

/** Conversions of dollars to a stablecoin, each in the next profile. */
export function conversionBodies(profiles) {
  let at = 0;
  return () => {
    at = (at + 1) % profiles.length;
    return `{"profile_id":"${profiles[at]}","amount":"0.01","source_asset":"USD","target_asset":"PYUSD","ref_id":"${refId()}"}`;
  };
}

export function orderBody(side, market) {
  return `{"side":"${side}","market":"${market}","type":"LIMIT","base_amount":"0.1","price":"100","ref_id":"${refId()}"}`;
}
