/**
 * Requests that are made from the OpenAPI document, thousands of them: none is answered with a 5xx or with what the
 * document does not know, and what has to be rejected has no effect. A run is named by its seed; docs/testing.md says how
 * to make a long one.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { expectBooksBalance } from "../support/books.ts";
import { digestOfTables } from "../support/effects.ts";
import { until } from "../support/until.ts";
import type { HttpRequest } from "./http-request.ts";
import { mutatedRequests, mutationCount } from "./mutations.ts";
import { type RawRequest, rawRequests } from "./raw-requests.ts";
import { calls, requestOf } from "./requests.ts";
import { ResponseValidator } from "./response-validator.ts";
import { mutatedTokenRequests, tokenRequests } from "./token-requests.ts";
import { startWorld, type World } from "./world.ts";

const REQUESTS = Number(process.env.PARBOOK_FUZZ_REQUESTS ?? 3_000);
const SEED = Number(process.env.PARBOOK_FUZZ_SEED ?? 1);

/** A service is given up for a new one after so many requests: digests of what is stored get slow as it grows. */
const PER_SERVICE = 4_000;
const ROUND = { sound: 30, wrong: 60, raw: 10 };
const PER_ROUND = ROUND.sound + ROUND.wrong + ROUND.raw;
const AT_ONCE = 8;
/** How often, and by how many requests, a run is made longer. */
const [MOST_MORE, MORE] = [3, 1_000];

/** What a run has seen. */
interface Run {
  /** Successes by operation. */
  readonly successes: Map<string, number>;
  /** Each kind of fault once, with the first request that met it. */
  readonly faults: Map<string, string>;
}

test(
  `${REQUESTS} requests of seed ${SEED} are answered as the document says, and the wrong ones have no effect`,
  async () => {
    const run: Run = { successes: new Map(), faults: new Map() };
    for (let done = 0; done < REQUESTS; done += PER_SERVICE) {
      await fuzz(Math.min(PER_SERVICE, REQUESTS - done), SEED + done, run);
    }
    // A run in which nothing succeeds would prove little. Whether an order is still there to be cancelled when it is asked
    // for is a matter of time, so what has never succeeded has some more chances.
    const never = () =>
      [...run.successes].filter(([, successes]) => successes === 0).map(([operationId]) => operationId);
    for (let more = 0; REQUESTS >= 3_000 && never().length > 0 && more < MOST_MORE; more += 1) {
      await fuzz(MORE, SEED + REQUESTS + more * MORE, run);
    }
    expect([...run.faults.values()].join("\n\n")).toBe("");
    expect(REQUESTS < 3_000 ? [] : never(), "operations that never succeeded").toEqual([]);
  },
  60_000 + 100 * REQUESTS,
);

async function fuzz(requests: number, seed: number, run: Run): Promise<void> {
  const world = await startWorld();
  try {
    const validator = new ResponseValidator(world.document);
    for (const { operationId } of world.document.operations) {
      run.successes.set(operationId, run.successes.get(operationId) ?? 0);
    }
    const made = { sound: soundRequests(world), wrong: wrongRequests(world), raw: rawRequests(world) };
    for (let round = 0; round * PER_ROUND < requests; round += 1)
      await oneRound({ world, validator, made }, seed + round, run);
    await expectBooksBalance(world.service.db.owner);
  } finally {
    await world.close();
  }
}

interface Fuzzer {
  readonly world: World;
  readonly validator: ResponseValidator;
  readonly made: {
    readonly sound: fc.Arbitrary<HttpRequest>;
    readonly wrong: fc.Arbitrary<HttpRequest>;
    readonly raw: fc.Arbitrary<RawRequest>;
  };
}

async function oneRound({ world, validator, made }: Fuzzer, seed: number, run: Run): Promise<void> {
  const ask = async (request: HttpRequest): Promise<void> => {
    const answer = await world.send(request);
    const { operationId } = request.operation;
    if (answer.status === 200) run.successes.set(operationId, (run.successes.get(operationId) ?? 0) + 1);
    for (const fault of validator.faults(request, answer)) {
      const kind = `${operationId}, ${request.wrong ?? "sound"}: ${fault}`;
      if (!run.faults.has(kind))
        run.faults.set(kind, `seed ${seed}: ${kind}\n${printed(request)}\n${answer.text.slice(0, 600)}`);
    }
  };
  const { owner } = world.service.db;
  await inTurn(sampled(made.sound, ROUND.sound, seed), ask);
  await quiet(world);
  const before = await digestOfTables(owner);
  await inTurn(sampled(made.wrong, ROUND.wrong, seed), ask);
  await inTurn(sampled(made.raw, ROUND.raw, seed), async ({ what, faults }) => {
    for (const fault of await faults()) run.faults.set(what, `seed ${seed}: ${what}: ${fault}`);
  });
  const after = await digestOfTables(owner);
  const changed = Object.keys(before).filter((table) => before[table] !== after[table]);
  if (changed.length > 0) run.faults.set("effects", `seed ${seed}: what should be rejected has changed ${changed}`);
}

function printed({ method, address, headers, body }: HttpRequest): string {
  return `${method} ${address.slice(0, 500)} ${JSON.stringify(headers).slice(0, 200)} ${String(body).slice(0, 500)}`;
}

const sampled = <Value>(arbitrary: fc.Arbitrary<Value>, numRuns: number, seed: number): Value[] =>
  fc.sample(arbitrary, { numRuns, seed });

/** Matches are effects of what went before. */
function quiet({ service }: World): Promise<void> {
  const UNDER_WAY =
    "select 1 from orders where status = 'PENDING_SUBMISSION' union all select 1 from order_cancel limit 1";
  return until("nothing is under way", async () => (await service.db.owner.rows(UNDER_WAY)).length === 0);
}

/** A few at once, as callers are. */
async function inTurn<Item>(items: readonly Item[], each: (item: Item) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const take = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await each(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, take));
}

/** Operations with more inputs have more to be tried. */
function weighted<Value>(
  world: World,
  made: (operation: World["document"]["operations"][number]) => fc.Arbitrary<Value>,
  ofTokens: fc.Arbitrary<Value>,
) {
  const of = world.document.operations.map((operation) => ({
    weight: 5 + Math.round(Math.sqrt(mutationCount(operation))),
    arbitrary: operation.operationId === "issueToken" ? ofTokens : made(operation),
  }));
  return fc.oneof(...of);
}

const soundRequests = (world: World): fc.Arbitrary<HttpRequest> =>
  weighted(world, (operation) => calls(operation, world).map((call) => requestOf(call, world)), tokenRequests(world));

const wrongRequests = (world: World): fc.Arbitrary<HttpRequest> =>
  weighted(world, (operation) => mutatedRequests(operation, world), mutatedTokenRequests(world));
