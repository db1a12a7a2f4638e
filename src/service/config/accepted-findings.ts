/** What `parbook doctor` finds and an operator may accept, by name: where storage or network makes up for it. */
import { InvalidValue, type Setting } from "./setting.ts";

/** The first two are fatal: production starts with them only if they are accepted. */
export const ACCEPTABLE_FINDINGS = [
  "fsync",
  "full-page-writes",
  "checksums",
  "embedded-database",
  "no-standby",
  "asynchronous",
  "one-standby",
  "archive-off",
  "archive-unbounded",
  "no-checkpoint",
  "signing-keys",
  "metrics",
  "rate-limits",
  "no-proxy",
] as const;

export const acceptedFindings: Setting<ReadonlySet<string>> = {
  absent: new Set(),
  read: (text) => {
    const names = text.split(",").map((name) => name.trim());
    const isKnown = names.every((name) => ACCEPTABLE_FINDINGS.some((known) => known === name));
    return isKnown ? new Set(names) : new InvalidValue(`is not a list of ${ACCEPTABLE_FINDINGS.join(", ")}`);
  },
};
