/**
 * What a customer may be called. Commands take names and ids, so a name must not be an id, or look like another one that
 * differs in what cannot be seen.
 */
import { parseUuid } from "../std/id.ts";
import { isFullyVisible } from "../std/printable.ts";
import { done, type Result, reject } from "../std/result.ts";

/** In characters. */
export const MAX_NAME = 100;

/** What looks the same is the same: a letter and its accent are one character, as keyboards make it. */
export const composedName = (text: string): string => text.normalize("NFC");

/** @returns the name in Unicode's form NFC, or the rule that it breaks, as the end of a sentence about it */
export function parseCustomerName(text: string): Result<string, string> {
  if (parseUuid(text) !== undefined) return reject("must not be a UUID, which commands take for an id");
  if (!isFullyVisible(text) || text.includes("  "))
    return reject("must not have invisible characters, or blanks at an end or beside each other");
  const name = composedName(text);
  // Characters, as the API counts them, and not UTF-16 units.
  const { length } = [...name];
  return length >= 1 && length <= MAX_NAME ? done(name) : reject(`must have 1 to ${MAX_NAME} characters`);
}
