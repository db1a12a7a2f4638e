/**
 * The examples of the OpenAPI document are what the service answered in the story (`story.ts`), so that ids, amounts and
 * statuses agree from one operation to the next. This records them again:
 *
 *     npx vitest run test/openapi/examples.test.ts -u
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Api } from "../../src/api/api.ts";
import { ANSWERS } from "../../src/api/openapi/document-schemas.ts";
import { tokenPath } from "../../src/oauth/oauth.ts";
import type { Instant } from "../../src/std/clock.ts";
import { pause } from "../../src/std/pause.ts";
import { expectBooksBalance } from "../support/books.ts";
import { readDocument } from "../support/openapi.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { NOT_RECORDED, type Problems, Recorder } from "./recorder.ts";
import { StableValues } from "./stable-values.ts";
import { recordDay, usualFailures } from "./story.ts";
import { CUSTOMERS, FIXED_IDS, OTHER_SCOPE, STORY_CLIENT } from "./story-customers.ts";

const DAY_MS = 86_400_000;
const STORY_DAY = Date.UTC(2026, 10, 2) as Instant;
/** Three requests at once, of each kind. */
const FEW = { token: 0.01, order_book: 0.01, recent_executions: 0.01, rest: 0.01 };

let service: TestService;
let recorder: Recorder;
let documented: ReadonlyMap<string, Problems>;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "parbook-story-"));
  const bootstrap = join(folder, "bootstrap.json");
  await writeFile(bootstrap, JSON.stringify({ customers: CUSTOMERS }));
  let made: Api | undefined;
  service = await startTestService({ bootstrap, roles: new Set(["api", "auth", "engine"]) }, undefined, (api) => {
    made = api;
  });
  const { operations, streams } = await readDocument(service);
  documented = problemsIn({ ...tokenPath(undefined), ...(made?.swagger().paths as Paths) });
  recorder = new Recorder({
    addresses: service,
    operations: [...operations, ...streams],
    problemsOf: (operationId) => documented.get(operationId) ?? new Map(),
    stable: new StableValues(await today(), STORY_DAY, FIXED_IDS),
    usual: usualFailures(await service.token(STORY_CLIENT, OTHER_SCOPE)),
  });
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true });
});

test("the examples of the document are what the service answers", async () => {
  let worker = { baseUrl: "", authUrl: "" };
  const startWorker = async (): Promise<void> => {
    worker = await service.another({ roles: new Set(["api", "auth", "worker"]), rateLimits: FEW });
  };
  await recordDay({ service, recorder, startWorker });
  await recorder.recordRateLimited(worker);
  await expectBooksBalance(service.db.owner);
  await expect(`${JSON.stringify(recorder.examples(), null, 2)}\n`, HOW_TO_RECORD).toMatchFileSnapshot(RECORDED);
});

test("every operation, and every problem that it documents, has an example", () => {
  const recorded = recorder.examples();
  const missing = [...documented].flatMap(([operationId, problems]) => {
    const { response, problems: found = {} } = recorded[operationId] ?? {};
    const names = [...problems.keys()].filter((name) => found[name] === undefined && !NOT_RECORDED.includes(name));
    return [...(response === undefined ? ["success"] : []), ...names].map((name) => `${operationId}: ${name}`);
  });
  expect(missing, `add these to test/openapi/story.ts. ${HOW_TO_RECORD}`).toEqual([]);
});

test("the document passes all rules of the linter", async () => {
  const document = join(folder, "openapi.json");
  await writeFile(document, JSON.stringify((await service.call("GET", "/openapi.json")).body));
  const linter = join(ROOT, "node_modules/.bin/redocly");
  const env = { ...process.env, REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
  const lint = promisify(execFile)(linter, ["lint", "--format=json", document], { cwd: ROOT, env });
  const { stdout } = await lint.catch((error: { readonly stdout: string }) => error);
  const { totals, problems } = JSON.parse(stdout) as LintReport;
  const told = problems.map(({ message, location }) => `${location[0]?.pointer}: ${message}`);
  expect({ told, totals }).toMatchObject({ told: [], totals: { errors: 0, warnings: 0, ignored: 0 } });
});

interface LintReport {
  readonly totals: object;
  readonly problems: readonly {
    readonly message: string;
    readonly location: readonly { readonly pointer: string }[];
  }[];
}

const ROOT = join(import.meta.dirname, "../..");
const RECORDED = join(import.meta.dirname, "../../src/api/openapi/recorded-examples.json");
const HOW_TO_RECORD = "Answers have changed. Record them with: npx vitest run test/openapi/examples.test.ts -u";

type Message = {
  readonly content?: Readonly<Record<string, { readonly schema?: object; readonly [ANSWERS]?: readonly string[] }>>;
};
type Described = { readonly operationId: string; readonly responses: Readonly<Record<string, Message>> };
type Paths = Readonly<Record<string, Readonly<Record<string, Described>>>>;

/** By operation: the status of each problem that its route documents, by the name of its example. */
function problemsIn(paths: Paths): Map<string, Problems> {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  return new Map(
    operations.map(({ operationId, responses }) => {
      const named = Object.entries(responses).flatMap(([status, { content = {} }]) =>
        Object.values(content).flatMap((media) =>
          (media[ANSWERS] ?? []).map((name) => [name, Number(status)] as const),
        ),
      );
      return [operationId, new Map(named)];
    }),
  );
}

/** Midnight of a day that is not about to end: the story happens on one day. */
async function today(): Promise<Instant> {
  const left = DAY_MS - (Date.now() % DAY_MS);
  if (left < 120_000) await pause(left);
  return (Date.now() - (Date.now() % DAY_MS)) as Instant;
}
