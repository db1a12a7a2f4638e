/** A report as lines for a terminal: the worst first, what is in order only on request. */
import { FINDING_KINDS, type Finding, SEVERITIES, type Severity } from "../../service/doctor/finding.ts";
import type { Colour, ColouredLine } from "../terminal.ts";
import type { Report } from "./examine-all.ts";

const COLOURS: Readonly<Record<Severity, Colour>> = { fatal: "red", warning: "yellow", note: "cyan" };
const INDENT = 9;
const WIDEST = 100;

interface Options {
  readonly isComplete: boolean;
  /** Of the terminal. */
  readonly columns: number | undefined;
}

export function reportLines(report: Report, { isComplete, columns = WIDEST }: Options): (string | ColouredLine)[] {
  const width = Math.max(40, Math.min(columns, WIDEST));
  const sound = report.sound.map(
    (name) => ({ text: `${"ok".padEnd(INDENT)}${FINDING_KINDS[name].sound}`, colour: "green" }) as const,
  );
  return [
    ...grouped(report.findings).flatMap((group) => linesOf(group, width)),
    ...(isComplete && sound.length > 0 ? [...sound, ""] : []),
    verdictLine(report, isComplete),
  ];
}

/** They come sorted, so those of one name are neighbours. */
function grouped(findings: readonly Finding[]): Finding[][] {
  const groups: Finding[][] = [];
  for (const one of findings) {
    const last = groups.at(-1);
    if (last?.[0]?.name === one.name && last[0].severity === one.severity) last.push(one);
    else groups.push([one]);
  }
  return groups;
}

function linesOf(group: readonly Finding[], width: number): (string | ColouredLine)[] {
  const [first, ...others] = group;
  if (first === undefined) return [];
  const { severity, name, what, why, accepted } = first;
  const lead = (accepted ? "accepted" : severity).padEnd(INDENT);
  const fixes = accepted ? [] : [...new Set(group.map(({ fix }) => fix))];
  const coloured = (lines: readonly string[], colour: Colour) => lines.map((text) => ({ text, colour }));
  return [
    ...coloured(wrap(`${name}: ${what}`, lead, width), COLOURS[severity]),
    ...coloured(
      others.flatMap((other) => wrap(other.what, BLANK, width)),
      COLOURS[severity],
    ),
    ...coloured(wrap(`${why.charAt(0).toUpperCase()}${why.slice(1)}.`, BLANK, width), "grey"),
    ...fixes.flatMap((fix) => wrap(fix, `${BLANK}-> `, width)),
    "",
  ];
}

const BLANK = " ".repeat(INDENT);

/** Long words, such as addresses, stay whole, so that they can be copied. */
function wrap(text: string, lead: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && lead.length + line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].map((each, at) => `${at === 0 ? lead : " ".repeat(lead.length)}${each}`);
}

const VERDICTS: Readonly<Record<Severity, { readonly verdict: string; readonly colour: Colour }>> = {
  fatal: { verdict: "Not fit for production", colour: "red" },
  warning: { verdict: "Starts in production", colour: "yellow" },
  note: { verdict: "Fit for production", colour: "green" },
};

function verdictLine({ findings, sound }: Report, isComplete: boolean): ColouredLine {
  const count = (severity: Severity): number => findings.filter((one) => one.severity === severity).length;
  const found = SEVERITIES.filter((severity) => count(severity) > 0);
  const { verdict, colour } = VERDICTS[found[0] ?? "note"];
  const counts = found.map((severity) => counted(count(severity), severity)).join(", ");
  const others = `${sound.length} checks found nothing${isComplete || sound.length === 0 ? "" : " (--all)"}`;
  return { text: `${verdict}${counts === "" ? "" : `, with ${counts}`}; ${others}.`, colour };
}

const counted = (count: number, severity: Severity): string =>
  severity === "fatal" || count === 1 ? `${count} ${severity}` : `${count} ${severity}s`;
