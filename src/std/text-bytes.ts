/** The size of all texts in a value in UTF-8, property names included: roughly that of its JSON, without making that. */
export function textBytesOf(value: unknown): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  if (typeof value !== "object" || value === null) return 0;
  let bytes = 0;
  for (const [name, part] of Object.entries(value)) bytes += name.length + textBytesOf(part);
  return bytes;
}
