/**
 * Makes untrusted text safe to show: terminals obey control characters, and characters that reorder text or are invisible
 * mislead readers. They become JSON escapes.
 */

/**
 * Control characters (C0, DEL, C1), format characters (bidirectional overrides, zero-width, tags), lone surrogates, line
 * and paragraph separators, default ignorables, and spaces other than U+0020.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

/** Returns one line: a line break is shown as `\n`. */
export function printable(line: string): string {
  return line.replace(UNPRINTABLE, (character) => SHORT.get(character) ?? escaped(character));
}

/** Whether the text has no invisible characters, and no blanks at its ends: then texts that differ look different. */
export const isFullyVisible = (text: string): boolean => printable(text) === text && text.trim() === text;

/** Whether letters with accents are one character each, as keyboards make them: those of two look the same. */
export const isComposed = (text: string): boolean => text.normalize("NFC") === text;

/** JSON with everything unprintable escaped. @returns undefined for values that JSON cannot express */
export function printableJson(value: unknown): string | undefined {
  return escapeJson(JSON.stringify(value));
}

/** The same for serialised JSON in one line. */
export function escapeJson<Text extends string | undefined>(json: Text): Text {
  return json?.replace(UNPRINTABLE, escaped) as Text;
}

const SHORT = new Map([
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
]);

/** As in JSON: a character beyond U+FFFF becomes two escapes. */
function escaped(character: string): string {
  return Array.from(
    { length: character.length },
    (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`,
  ).join("");
}
