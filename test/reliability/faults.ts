/** The faults that the storm injects. */
import { must } from "../../src/std/assert.ts";
import { pause } from "../../src/std/pause.ts";
import type { Loss } from "../support/postgres/relay.ts";
import type { Random } from "../support/random.ts";
import { until } from "../support/until.ts";
import type { Site } from "./site.ts";

export interface Target<Place> {
  readonly site: Place;
  readonly random: Random;
  /** Waits for so many more confirmed movements of money. */
  more(answers: number): Promise<void>;
}

/** Times by the monotonic clock. */
export interface Injection {
  /** When the process was killed, or resumed: the start of the recovery. */
  readonly since: number;
  /** Killed processes answer no request from here on. */
  readonly over: number;
}

export type Inject<Place> = (target: Target<Place>) => Promise<Injection>;

export type Fault = keyof typeof FAULTS;

/** Leases of engines and lanes last 15 s, commands have 10 s. */
const LONG_PAUSE_MS = 17_000;
const HOUR_MS = 3_600_000;
/** The tolerance is 2 s; what lies between these is left to how exactly the clocks could be compared. */
const CLOCK_ALLOWED_MS = 900;
const CLOCK_WRONG_MS = 3_100;

export const FAULTS = {
  /** Only the load. */
  none: async ({ more }) => {
    await more(300);
    return now();
  },

  /** `kill -9`, and an immediate new start. */
  service: async ({ site }) => {
    const since = performance.now();
    await site.kill();
    const over = performance.now();
    await site.start();
    return { since, over };
  },

  /** `kill -9`, and again during the next starts and recoveries. */
  "service-again": async ({ site, random }) => {
    await site.kill();
    for (let times = 0; times < 3; times += 1) await site.startInVain(random(4_000));
    const since = performance.now();
    await site.start();
    return { since, over: since };
  },

  /** `kill -9`: the service starts another one. */
  postmaster: async ({ site }) => {
    const [postmaster, ...workers] = await site.listServerProcesses();
    return killed(site, must(postmaster, "there is a postmaster"), workers);
  },

  /** `kill -9` of one of PostgreSQL's processes, which ends all others: what they shared may be damaged. */
  backend: async ({ site, random }) => {
    const [, ...workers] = await site.listServerProcesses();
    return killed(site, must(workers[random(workers.length)], "a server has workers"), workers);
  },

  both: async ({ site, random }) => {
    const [postmaster] = await site.listServerProcesses();
    const killPostmaster = (): void => kill(must(postmaster, "there is a postmaster"), "SIGKILL");
    const isFirst = random(2) === 0;
    const since = performance.now();
    if (isFirst) killPostmaster();
    const ended = site.kill();
    if (!isFirst) killPostmaster();
    await ended;
    const over = performance.now();
    await site.start();
    return { since, over };
  },

  "service-paused": ({ site, random }) => paused(site, { service: true, database: false }, pauseMs(random)),
  "database-paused": ({ site, random }) => paused(site, { service: false, database: true }, pauseMs(random)),
  "both-paused": ({ site, random }) => paused(site, { service: true, database: true }, pauseMs(random)),

  /** Connections between clients and service are cut, some in each way. */
  "client-cut": async ({ site, random, more }) => {
    for (const loss of shuffled(random)) {
      site.frontDoor.lose(loss, 3 + random(8));
      await until(`each ${loss} is lost`, () => site.frontDoor.toLose() === 0, 60);
      await more(5);
    }
    return now();
  },

  /** Those between service and database, and then the database cannot be reached for a while. */
  "database-cut": async ({ site, random, more }) => {
    const relay = await site.relayDatabase();
    await more(20);
    for (const loss of shuffled(random)) {
      relay.lose(loss, 1 + random(3));
      await until(`each ${loss} is lost`, () => relay.toLose() === 0, 60);
      await more(5);
    }
    relay.reject(true);
    relay.cut();
    await pause(500 + random(2_500));
    await site.unrelayDatabase(relay);
    return now();
  },

  /** PostgreSQL cannot write its log any more, which is the end of it, and its next starts fail until there is room. */
  "disk-full": async ({ site, random }) => {
    const disk = must(site.disk, "only on a small disk");
    disk.fill();
    const isRejected = (): Promise<boolean> =>
      site.database.rows("select pg_switch_wal()").then(
        () => false,
        () => true,
      );
    await until("the log cannot be written", isRejected, 60);
    await pause(1_000 + random(4_000));
    disk.makeRoom();
    return now();
  },

  /** The service's clock is set forward and back, by less than is allowed and by more. */
  clock: (target) => stepped(target, "service"),
  /** PostgreSQL's, by which leases end, and by which commands come too late: what differs from it is the service's. */
  "database-clock": (target) => stepped(target, "database"),
} as const satisfies Record<string, Inject<Site>>;

/** Half of them short, half longer than anything that has been promised to anybody. */
const pauseMs = (random: Random): number => (random(2) === 0 ? 500 + random(4_000) : LONG_PAUSE_MS);

async function paused(
  site: Site,
  which: { readonly service: boolean; readonly database: boolean },
  ms: number,
): Promise<Injection> {
  const servers = which.database ? await site.listServerProcesses() : [];
  for (const pid of servers) kill(pid, "SIGSTOP");
  if (which.service) site.signalService("SIGSTOP");
  await pause(ms);
  for (const pid of servers) kill(pid, "SIGCONT");
  if (which.service) site.signalService("SIGCONT");
  return now();
}

/** What is within the tolerance stops nobody. Beyond it nothing is decided, and /readyz says why, until it is right. */
async function stepped({ site, random, more }: Target<Site>, whose: "service" | "database"): Promise<Injection> {
  const setClock = (shiftMs: number): Promise<void> =>
    whose === "service" ? site.setClock(shiftMs) : site.setDatabaseClock(shiftMs);
  for (const sign of [1, -1]) {
    await setClock(sign * random(CLOCK_ALLOWED_MS));
    await more(20);
    await setClock(sign * (CLOCK_WRONG_MS + random(HOUR_MS)));
    const side = (whose === "service") === sign > 0 ? "ahead of" : "behind";
    await until(
      "the service says that its clock is wrong",
      async () => {
        const words = await site.readiness();
        return words?.includes("the clock of this node is") === true && words.includes(side);
      },
      60,
    );
  }
  await setClock(0);
  return now();
}

/** Workers outlive a postmaster, or one of theirs, for a moment, and may still answer. */
async function killed(site: Site, victim: number, workers: readonly number[]): Promise<Injection> {
  kill(victim, "SIGKILL");
  const since = performance.now();
  const isGone = async (): Promise<boolean> => {
    const left = await site.listServerProcesses();
    return !workers.some((worker) => left.includes(worker));
  };
  await until("all workers are gone", isGone, 60);
  return { since, over: performance.now() };
}

function now(): Injection {
  const over = performance.now();
  return { since: over, over };
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function shuffled(random: Random): Loss[] {
  const losses: Loss[] = ["request", "wait", "answer"];
  return losses
    .map((loss) => ({ loss, at: random(1_000) }))
    .sort((a, b) => a.at - b.at)
    .map(({ loss }) => loss);
}
