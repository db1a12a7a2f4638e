/**
 * Text that others made up, as it may be shown: a terminal obeys control characters, and a reader is misled by those that
 * reorder text or take no room. They are shown as the escapes that JSON and JavaScript have for them.
 */

/**
 * Control characters (C0, DEL, C1), format characters (bidirectional overrides, zero-width ones, tags), lone surrogates,
 * separators of lines and paragraphs, what Unicode says is not to be shown, and blanks that are not the usual one.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

/** One line: a line break within it is shown as `\n`. */
export function printable(line: string): string {
  return line.replace(UNPRINTABLE, (character) => SHORT.get(character) ?? escaped(character));
}

/** JSON of the same value in which nothing is left that is not printable. `undefined` where JSON has nothing for it. */
export function printableJson(value: unknown): string | undefined {
  return escapeJson(JSON.stringify(value));
}

/** The same for JSON that is written already, in one line. */
export function escapeJson<Text extends string | undefined>(json: Text): Text {
  return json?.replace(UNPRINTABLE, escaped) as Text;
}

const SHORT = new Map([
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
]);

/** As JSON writes it: a character beyond U+FFFF as two. */
function escaped(character: string): string {
  return Array.from(
    { length: character.length },
    (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`,
  ).join("");
}
