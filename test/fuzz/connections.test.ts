/**
 * Both servers, asked in bytes: whatever comes on a connection, each request gets one answer in its turn or a closed
 * connection, and none hides in another. docs/testing.md says how to make a long run.
 */
import { connect } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { seeded } from "../support/random.ts";
import { answersIn, type RawAnswer } from "./raw-answers.ts";
import { type Sequence, sequenceOf } from "./raw-sequences.ts";
import { API, AUTH, type NotingServers, startNotingServers } from "./recording-servers.ts";

const SEQUENCES = Number(process.env.PARBOOK_FUZZ_SEQUENCES ?? 3_000);
const SEED = Number(process.env.PARBOOK_FUZZ_SEED ?? 1);
const AT_ONCE = 24;
/** A server that has neither answered nor closed by then does neither. */
const LIMIT_MS = 15_000;

let servers: NotingServers;
beforeAll(async () => {
  servers = await startNotingServers();
});
afterAll(() => servers.close());

/** What came of a sequence. */
interface Outcome {
  readonly faults: readonly string[];
  readonly answers: number;
  readonly text: string;
}

test(
  `${SEQUENCES} sequences of seed ${SEED} on connections are answered in order, once, and nothing in them is hidden`,
  async () => {
    const faults = new Map<string, string>();
    const last = new Map<string, number>();
    let [next, answers] = [SEED, 0];
    const work = async (): Promise<void> => {
      for (let seed = next++; seed < SEED + SEQUENCES; seed = next++) {
        const isApi = seed % 3 > 0;
        const sequence = sequenceOf(seeded(seed), { ...(isApi ? API : AUTH), tag: String(seed) });
        last.set(String(seed), sequence.sound);
        const outcome = await exchange(isApi ? servers.apiUrl : servers.authUrl, sequence);
        answers += outcome.answers;
        const kinds = sequence.elements.map(({ what }) => what).join(", ");
        for (const fault of outcome.faults) {
          const received = `seed ${seed}: ${fault}\n${kinds}; ${sequence.end}\n${outcome.text.slice(0, 900)}`;
          if (!faults.has(fault)) faults.set(fault, received);
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    expect([...faults.values()].join("\n\n")).toBe("");
    const { ran } = servers;
    expect(ran.filter((name) => !mayRun(name, last))).toEqual([]);
    expect(new Set(ran).size).toBe(ran.length);
    // A run in which nothing is answered or carried out would prove little.
    if (SEQUENCES < 3_000) return;
    expect(answers).toBeGreaterThan(SEQUENCES);
    expect(ran.length).toBeGreaterThan(SEQUENCES / 10);
  },
  60_000 + 20 * SEQUENCES,
);

/** One that was sent as a request, and not behind the end. */
function mayRun(name: string, last: ReadonlyMap<string, number>): boolean {
  const [, seed = "", at] = /^(\d+)s(\d+)$/.exec(name) ?? [];
  return Number(at) <= (last.get(seed) ?? -1);
}

/** Sends a sequence, and validates the responses until the server closes or all have come. */
async function exchange(url: string, sequence: Sequence): Promise<Outcome> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true, allowHalfOpen: true });
  let text = "";
  const isOver = (): boolean => {
    const { answers } = answersIn(text);
    return answers.at(-1)?.status === 101 || (sequence.end === "wait" && answers.length === sequence.elements.length);
  };
  socket.setEncoding("latin1").on("data", (part: string) => {
    text += part;
    // More than was asked for would still come.
    if (isOver()) socket.end();
  });
  socket.on("error", () => undefined).on("end", () => socket.end());
  let hangs = false;
  const limit = setTimeout(() => {
    hangs = true;
    socket.destroy();
  }, LIMIT_MS);
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  for (const packet of sequence.packets) {
    if (socket.writable) socket.write(packet);
    await turn();
  }
  if (sequence.end === "half-close") socket.end();
  if (sequence.end === "destroy") socket.destroySoon();
  await closed;
  clearTimeout(limit);
  const { answers, fault } = answersIn(text);
  return {
    text,
    answers: answers.length,
    faults: [...faultsOf(answers, sequence), ...(fault === undefined ? [] : [fault]), ...(hangs ? ["it hangs"] : [])],
  };
}

/** The answers are those to the first requests, without a gap; one more may be the server's own, to what ends it. */
function faultsOf(answers: readonly RawAnswer[], { elements, sound, end }: Sequence): string[] {
  const faults: string[] = [];
  for (const [index, { status, id }] of answers.entries()) {
    const expected = new RegExp(`^\\d+s${index}$`);
    if (id === undefined && index === sound && index === answers.length - 1) continue;
    if (id === undefined) faults.push(`an answer of the server's own with ${status} where one to a request is due`);
    else if (!expected.test(id)) faults.push("an answer is not to the request whose turn it is");
    else if (index > sound) faults.push("what is behind the end is answered");
    if (status >= 500 && status !== 501) faults.push(`it answers ${status}`);
  }
  const isCut = end !== "wait" || sound < elements.length || answers.at(-1)?.closes;
  if (!isCut && answers.length < sound) faults.push("a request is not answered");
  return faults;
}
