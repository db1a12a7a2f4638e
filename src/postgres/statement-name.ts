import { createHash } from "node:crypto";

const names = new Map<string, string>();

/** The name under which a text is prepared: a hash of it, so that equal names mean equal statements on any connection. */
export function statementName(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = createHash("sha256").update(text).digest("hex").slice(0, 32);
  names.set(text, name);
  return name;
}
