/**
 * The tour as lines to be pasted into sh or bash, with nothing but curl and sed. Short lines, because they are read
 * before they are pasted: what does not fit is broken where the shell, or JSON, does not mind.
 */
import { type TourParties, type TourStep, tourSteps, tourValues } from "./tour.ts";

const WIDTH = 116;
const INDENT = "  ";

interface TourAddresses {
  readonly baseUrl: string;
  readonly authUrl: string;
  /** How long a conversion takes at least. */
  readonly settlementDelayMs: number;
}

/** What `start` prints in sandbox mode. */
export function tourText(parties: TourParties, addresses: TourAddresses): string[] {
  const { acme } = parties;
  return [
    `base_url  ${addresses.baseUrl}`,
    `auth_url  ${addresses.authUrl}`,
    `client    ${acme.clientId}, secret ${acme.clientSecret}`,
    `profiles  treasury ${acme.treasury}, payouts ${acme.payouts}`,
    "",
    "Paste these lines into a shell, or run npm run demo:",
    "",
    ...tourLines(parties, addresses),
    "",
  ];
}

/** Pasted twice they work twice: `$RUN` is another one each time. */
export function tourLines(parties: TourParties, addresses: TourAddresses): string[] {
  const { API, AUTH, TREASURY, PAYOUTS, DESK } = tourValues(parties, addresses);
  const waitSeconds = Math.ceil(addresses.settlementDelayMs / 1_000) + 1;
  return [
    `API=${API} AUTH=${AUTH}`,
    `TREASURY=${TREASURY} PAYOUTS=${PAYOUTS}`,
    `DESK=${DESK} RUN=$(date +%s)-$$ JSON='Content-Type: application/json'`,
    `field() { sed "s/.*\\"$1\\":\\"\\([^\\"]*\\)\\".*/\\1/"; }`,
    ...tourSteps(parties).flatMap((step) => stepLines(step, waitSeconds)),
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

/** The first word begins the capture of an output: `NAME=$(curl`. */
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

/** JSON within single quotes, which are left for as long as a variable lasts. */
function bodyOf(json: NonNullable<TourStep["json"]>): string {
  return JSON.stringify(json).replaceAll(/\$[A-Z]+/g, "'$&'");
}

/**
 * Breaks words into lines. A body that is longer than a line is broken after a comma as well: a line break there is
 * JSON's, within the quotes.
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
