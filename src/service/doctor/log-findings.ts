import type { Logger } from "pino";
import type { Config } from "../config/config.ts";
import { accept, type Finding, lineOf } from "./finding.ts";

/** Of a start: what is accepted, and what is only worth knowing, is no warning. */
export function logFindings(findings: readonly Finding[], { accepted }: Pick<Config, "accepted">, log: Logger): void {
  for (const one of accept(findings, accepted)) {
    if (one.severity === "note") log.info(one.accepted ? `accepted: ${lineOf(one)}` : lineOf(one));
    else log.warn(lineOf(one));
  }
}
