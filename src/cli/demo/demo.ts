/** `parbook demo`: runs the tour against the running service and prints each request with its response. */
import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { demoFile } from "../../service/bootstrap/demo-file.ts";
import type { Config } from "../../service/config/config.ts";
import { type Addresses, findService } from "../../service/data-directory.ts";
import { must } from "../../std/assert.ts";
import { IdSource } from "../../std/id.ts";
import { pause } from "../../std/pause.ts";
import { addCommand, CommandRejected, type CommandResult, commandConfig, setAction } from "../command.ts";
import { type TourParties, type TourStep, tourParties, tourSteps, tourValues } from "./tour.ts";

const POLL_INTERVAL_MS = 100;
/** How long a settlement may take beyond PARBOOK_SETTLEMENT_DELAY_MS. */
const SETTLEMENT_GRACE_MS = 10_000;
const RESPONSE_TIMEOUT_MS = 20_000;
/** Longer requests and responses are cut off. */
const SHOWN_CHARACTERS = 230;

interface StepResult {
  readonly title: string;
  readonly request: string;
  readonly status: number;
  readonly answer: unknown;
  /** One sentence for each unexpected field; empty when the step passed. */
  readonly wrong: readonly string[];
}

export function addDemo(program: Command): void {
  const demo = addCommand(program, "demo", {
    summary: "run the tour against the running sandbox; exit code 1 if a response is unexpected",
    examples: ["demo", "demo --json"],
  });
  setAction(demo, takeTour);
}

async function takeTour(): Promise<CommandResult> {
  const config = commandConfig();
  const parties = await readParties(config);
  const addresses = await readReady(config);
  const values = new Map(Object.entries({ ...tourValues(parties, addresses), RUN: new IdSource().next() }));
  const taken: StepResult[] = [];
  for (const step of tourSteps(parties, addresses.coin)) {
    taken.push(await take(step, values, config.settlementDelayMs + SETTLEMENT_GRACE_MS));
    // Later steps depend on earlier ones.
    if (taken.at(-1)?.wrong.length !== 0) break;
  }
  const passed = taken.every(({ wrong }) => wrong.length === 0);
  const verdict = passed ? "Every response was as expected." : "The last response was not as expected.";
  return { json: { passed, steps: taken }, prose: [...taken.flatMap(shown), verdict], failed: !passed };
}

async function readParties({ dataDir }: Config): Promise<TourParties> {
  const path = demoFile(dataDir);
  const parties = await readFile(path).then(
    async () => {
      // Not imported above: other commands would wait for the schema validator.
      const { readBootstrapFile } = await import("../../service/bootstrap/bootstrap-file.ts");
      return tourParties(await readBootstrapFile(path));
    },
    () => undefined,
  );
  if (parties !== undefined) return parties;
  throw new CommandRejected(`there is no demo in ${path}: start a sandbox without PARBOOK_BOOTSTRAP to create it`);
}

async function readReady({ dataDir }: Config): Promise<Addresses> {
  const addresses = await findService(dataDir);
  if (addresses !== undefined) return addresses;
  throw new CommandRejected(`no service is running on the data directory ${dataDir}: start one first`);
}

type Values = Map<string, string>;

/** Sends the request, polling if the step waits, and keeps the field that later steps need. */
async function take(step: TourStep, values: Values, patienceMs: number): Promise<StepResult> {
  const end = Date.now() + (step.waits === true ? patienceMs : 0);
  for (;;) {
    const { status, answer } = await send(step, values);
    const wrong = status === 200 ? mismatches(step, answer) : wrongStatus(step, status);
    if (wrong.length > 0 && Date.now() < end) {
      await pause(POLL_INTERVAL_MS);
      continue;
    }
    const { keep, title = "" } = step;
    if (keep !== undefined) values.set(keep.name, fieldOf(answer, keep.field));
    return { title, request: requestText(step, values), status, answer: masked(answer, keep), wrong };
  }
}

async function send(step: TourStep, values: Values): Promise<{ status: number; answer: unknown }> {
  const { method, url, as, form, json } = step;
  const body = form === undefined ? json && filled(JSON.stringify(json), values) : multipart(form);
  const address = filled(url, values);
  try {
    const response = await fetch(address, {
      method,
      headers: {
        ...(as === undefined ? {} : { authorization: `Bearer ${values.get(as)}` }),
        ...(json === undefined ? {} : { "content-type": "application/json" }),
      },
      signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS),
      ...(body === undefined ? {} : { body }),
    });
    return { status: response.status, answer: await response.json() };
  } catch (error) {
    const { origin } = new URL(address);
    throw new CommandRejected(`the service at ${origin} does not respond (${reasonOf(error)})`);
  }
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as Error;
  return cause instanceof Error && cause.message !== "" ? cause.message : message;
}

function multipart(form: Readonly<Record<string, string>>): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(form)) data.append(name, value);
  return data;
}

/** Replaces every `$NAME` by its value. */
function filled(text: string, values: Values): string {
  return text.replaceAll(/\$([A-Z]+)/g, (_, name: string) => must(values.get(name), `a step before has kept ${name}`));
}

function wrongStatus({ when401 }: TourStep, status: number): string[] {
  const wrong = `the status is ${status}, not 200`;
  return status === 401 && when401 !== undefined ? [wrong, when401] : [wrong];
}

function mismatches({ expected }: TourStep, answer: unknown): string[] {
  return Object.entries(expected)
    .filter(([path, pattern]) => !pattern.test(fieldOf(answer, path)))
    .map(([path, pattern]) => `${path} is ${fieldOf(answer, path) || "missing"}, which does not match ${pattern}`);
}

/** The field at a path such as `items.0.side`; an empty string if missing. */
function fieldOf(answer: unknown, path: string): string {
  let value = answer;
  for (const name of path.split(".")) value = (value as Record<string, unknown> | null | undefined)?.[name];
  return value === undefined || value === null ? "" : String(value);
}

/** Without the client secret. */
function requestText({ method, url, form, json }: TourStep, values: Values): string {
  const path = filled(url.replace(/^\$[A-Z]+/, ""), values);
  if (form !== undefined) return `${method} ${path} client_id=${form.client_id}`;
  return json === undefined ? `${method} ${path}` : `${method} ${path} ${filled(JSON.stringify(json), values)}`;
}

function masked(answer: unknown, keep: TourStep["keep"]): unknown {
  if (keep?.secret !== true) return answer;
  const secret = fieldOf(answer, keep.field);
  if (secret === "") return answer;
  return { ...(answer as object), [keep.field]: `${secret.slice(0, 12)}...` };
}

function shown({ title, request, status, answer, wrong }: StepResult): string[] {
  const lines = [request, `${status} ${JSON.stringify(answer)}`].map((line) => `  ${shortened(line)}`);
  return [...(title === "" ? [] : [title]), ...lines, ...wrong.map((why) => `  WRONG: ${why}`)];
}

function shortened(line: string): string {
  const short = line.replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{7}([0-9a-f]{5})/g, "..$1");
  return short.length <= SHOWN_CHARACTERS ? short : `${short.slice(0, SHOWN_CHARACTERS - 3)}...`;
}
