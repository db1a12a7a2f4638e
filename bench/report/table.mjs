/** Tables of text and numbers, for a terminal and in Markdown. */

/** Columns, the first to the left. */
export function printTable(header, rows) {
  const cells = [header, ...rows].map((row) => header.map((_, i) => shown(row[i])));
  const widths = header.map((_, i) => Math.max(...cells.map((row) => row[i].length)));
  const line = (row) => row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join("   ");
  console.log(["", ...cells.map(line), ""].join("\n"));
}

export function markdownTable(header, rows) {
  const line = (row) => `| ${header.map((_, i) => shown(row[i])).join(" | ")} |`;
  return [line(header), `| --- |${" ---: |".repeat(header.length - 1)}`, ...rows.map(line)].join("\n");
}

export function shown(value) {
  if (typeof value !== "number") return value ?? "";
  if (Number.isNaN(value)) return "";
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(value >= 10 ? 1 : 2);
}
