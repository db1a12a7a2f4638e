/** A second implementation of `v1a`, in another language: Debian's Python with python3-cryptography. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Debian's own, which sees Debian's packages whatever else is called python3. */
const PYTHON = "/usr/bin/python3";
const PROGRAM = fileURLToPath(new URL("programs/verify_v1a.py", import.meta.url));

export interface ReceivedMessage {
  readonly id: string;
  readonly timestamp: string;
  /** The header `webhook-signature`. */
  readonly signature: string;
  readonly body: string;
}

/** What is missing to judge; undefined if nothing is. */
export function missingV1aJudge(): string | undefined {
  try {
    execFileSync(PYTHON, ["-c", "import cryptography"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "Debian's python3-cryptography is not installed";
  }
}

/** Whether each message has a valid signature of the key `whpk_...`. */
export function areSignedWith(publicKey: string, messages: readonly ReceivedMessage[]): boolean[] {
  const input = JSON.stringify(messages.map((message) => ({ ...message, publicKey })));
  return JSON.parse(execFileSync(PYTHON, [PROGRAM], { input, encoding: "utf8" })) as boolean[];
}
