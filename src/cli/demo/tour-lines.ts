/**
 * The tour as lines to paste into sh or bash, using curl and sed only. Lines are wrapped where the shell or JSON
 * allows it, because people read them before they paste them.
 */
import { type TourParties, type TourStep, tourSteps, tourValues } from "./tour.ts";

const WIDTH = 116;
const INDENT = "  ";

interface TourAddresses {
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly settlementDelayMs: number;
  /** The sandbox's own, if it has one. */
  readonly coin?: string | undefined;
}

interface Introduction extends TourAddresses {
  /** The command that takes the tour, as the reader would type it. */
  readonly demo: string;
}

/** What `start` prints in sandbox mode. */
export function tourText(parties: TourParties, addresses: Introduction): string[] {
  const { acme } = parties;
  return [
    `base_url  ${addresses.baseUrl}`,
    `auth_url  ${addresses.authUrl}`,
    `docs      ${addresses.baseUrl}/docs`,
    `client    ${acme.clientId}, secret ${acme.clientSecret}`,
    `profiles  treasury ${acme.treasury}, payouts ${acme.payouts}`,
    "",
    `Paste these lines into a shell, or run ${addresses.demo} in another terminal:`,
    "",
    ...tourLines(parties, addresses),
    "",
  ];
}

/** The lines can be pasted repeatedly: `$RUN` makes every ref_id unique. */
export function tourLines(parties: TourParties, addresses: TourAddresses): string[] {
  const { API, AUTH, TREASURY, PAYOUTS, DESK } = tourValues(parties, addresses);
  const waitSeconds = Math.ceil(addresses.settlementDelayMs / 1_000) + 1;
  return [
    `API=${API} AUTH=${AUTH}`,
    `TREASURY=${TREASURY} PAYOUTS=${PAYOUTS}`,
    `DESK=${DESK} RUN=$(date +%s)-$$ JSON='Content-Type: application/json'`,
    `field() { sed "s/.*\\"$1\\":\\"\\([^\\"]*\\)\\".*/\\1/"; }`,
    ...tourSteps(parties, addresses.coin).flatMap((step) => stepLines(step, waitSeconds)),
  ];
}

function stepLines(step: TourStep, waitSeconds: number): string[] {
  const { title, waits, keep } = step;
  const wait = waits === true ? [`sleep ${waitSeconds};`] : [];
  const curl = ["curl", "-s", ...words(step)];
  const heading = title === undefined ? [] : [`# ${title}`];
  if (keep === undefined) return [...heading, ...lines([...wait, ...ended(curl, "; echo")])];
  if (keep.secret === true) return [...heading, ...lines(opened(keep.name, [...curl, "|", `field ${keep.field})`]))];
  const shown = [`echo "$R";`, `${keep.name}=$(echo "$R" | field ${keep.field})`];
  return [...heading, ...lines([...opened("R", ended(curl, ");")), ...shown])];
}

/** Starts a command substitution: `NAME=$(curl`. */
function opened(name: string, [first = "", ...rest]: readonly string[]): string[] {
  return [`${name}=$(${first}`, ...rest];
}

function ended(given: readonly string[], end: string): string[] {
  return [...given.slice(0, -1), `${given.at(-1)}${end}`];
}

/** The arguments of curl. */
function words({ url, as, form, json }: TourStep): string[] {
  return [
    url.includes("?") ? `"${url}"` : url,
    ...(as === undefined ? [] : [`-H "Authorization: Bearer $${as}"`]),
    ...Object.entries(form ?? {}).map(([name, value]) => `-F ${name}=${value}`),
    ...(json === undefined ? [] : [`-H "$JSON"`, `-d '${bodyOf(json)}'`]),
  ];
}

/** JSON in single quotes, which are closed around each variable so that the shell expands it. */
function bodyOf(json: NonNullable<TourStep["json"]>): string {
  return JSON.stringify(json).replaceAll(/\$[A-Z]+/g, "'$&'");
}

/**
 * Wraps words into lines. A body longer than a line is also broken after a comma, where JSON allows a line break.
 */
function lines(words: readonly string[]): string[] {
  const done: string[] = [];
  let line = "";
  for (const word of words) {
    const parts = INDENT.length + word.length <= WIDTH ? [word] : word.split(/(?<=,)(?=")/);
    for (const [i, part] of parts.entries()) {
      const next = line === "" ? part : line + (i === 0 ? " " : "") + part;
      if (next.length <= WIDTH) {
        line = next;
      } else {
        done.push(i === 0 && !line.endsWith("|") ? `${line} \\` : line);
        line = INDENT + part;
      }
    }
  }
  return [...done, line];
}
