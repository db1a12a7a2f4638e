/** Takes the tour against the running service, and shows each request with its answer. */
import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import type { Config } from "../../config/config.ts";
import { readBootstrapFile } from "../../service/bootstrap-file.ts";
import { type Addresses, findService } from "../../service/data-directory.ts";
import { demoFile } from "../../service/demo-file.ts";
import { must } from "../../std/assert.ts";
import { IdSource } from "../../std/id.ts";
import { pause } from "../../std/pause.ts";
import { type Answer, addCommand, answering, CommandRejected, commandConfig } from "../command.ts";
import { type TourParties, type TourStep, tourParties, tourSteps, tourValues } from "./tour.ts";

const ASK_EVERY_MS = 100;
/** How long what happens in the background may take beyond the delay that was set. */
const PATIENCE_MS = 10_000;
const ANSWER_LIMIT_MS = 20_000;
/** Of a request or an answer that is shown, the ids cut down to their ends. */
const SHOWN = 230;

/** A step as it went. */
interface Taken {
  readonly title: string;
  readonly request: string;
  readonly status: number;
  readonly answer: unknown;
  /** What was not as expected. */
  readonly wrong: readonly string[];
}

export function addDemo(program: Command): void {
  const demo = addCommand(program, "demo", {
    summary: "take the tour against the running sandbox; exit code 1 when an answer is not as expected",
    examples: ["demo", "demo --json"],
  });
  answering(demo, takeTour);
}

async function takeTour(): Promise<Answer> {
  const config = commandConfig();
  const parties = await readParties(config);
  const addresses = await readReady(config);
  const values = new Map(Object.entries({ ...tourValues(parties, addresses), RUN: new IdSource().next() }));
  const taken: Taken[] = [];
  for (const step of tourSteps(parties)) {
    taken.push(await take(step, values, config.settlementDelayMs + PATIENCE_MS));
    // What comes after it builds on it.
    if (taken.at(-1)?.wrong.length !== 0) break;
  }
  const passed = taken.every(({ wrong }) => wrong.length === 0);
  const verdict = passed ? "Every answer was as expected." : "The last answer was not as expected.";
  return { json: { passed, steps: taken }, prose: [...taken.flatMap(shown), verdict], failed: !passed };
}

async function readParties({ dataDir }: Config): Promise<TourParties> {
  const path = demoFile(dataDir);
  const parties = await readFile(path).then(
    async () => tourParties(await readBootstrapFile(path)),
    () => undefined,
  );
  if (parties !== undefined) return parties;
  throw new CommandRejected(
    `there is no demo in ${path}: it comes with a sandbox that was started without PARBOOK_BOOTSTRAP`,
  );
}

async function readReady({ dataDir }: Config): Promise<Addresses> {
  const addresses = await findService(dataDir);
  if (addresses !== undefined) return addresses;
  throw new CommandRejected(`no service is running on the data directory ${dataDir}: start one first`);
}

type Values = Map<string, string>;

/** Sends the request, again and again while it waits for something, and keeps what later steps need of the answer. */
async function take(step: TourStep, values: Values, patienceMs: number): Promise<Taken> {
  const end = Date.now() + (step.waits === true ? patienceMs : 0);
  for (;;) {
    const { status, answer } = await send(step, values);
    const wrong = status === 200 ? mismatches(step, answer) : wrongStatus(step, status);
    if (wrong.length > 0 && Date.now() < end) {
      await pause(ASK_EVERY_MS);
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
      signal: AbortSignal.timeout(ANSWER_LIMIT_MS),
      ...(body === undefined ? {} : { body }),
    });
    return { status: response.status, answer: await response.json() };
  } catch (error) {
    const { origin } = new URL(address);
    throw new CommandRejected(`the service does not answer at ${origin} (${reasonOf(error)})`);
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

/** With every `$NAME` that has a value replaced by it. */
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

/** The field at a path such as `items.0.side`; nothing when it is not there. */
function fieldOf(answer: unknown, path: string): string {
  let value = answer;
  for (const name of path.split(".")) value = (value as Record<string, unknown> | null | undefined)?.[name];
  return value === undefined || value === null ? "" : String(value);
}

/** As it was sent, without the secret of the client. */
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

function shown({ title, request, status, answer, wrong }: Taken): string[] {
  const lines = [request, `${status} ${JSON.stringify(answer)}`].map((line) => `  ${shortened(line)}`);
  return [...(title === "" ? [] : [title]), ...lines, ...wrong.map((why) => `  WRONG: ${why}`)];
}

function shortened(line: string): string {
  const short = line.replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{7}([0-9a-f]{5})/g, "..$1");
  return short.length <= SHOWN ? short : `${short.slice(0, SHOWN - 3)}...`;
}
