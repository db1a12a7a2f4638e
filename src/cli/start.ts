/** Serving, until somebody asks to stop. */
import { isatty } from "node:tty";
import type { Command } from "commander";
import type { Logger } from "pino";
import { type Config, readConfig } from "../config/config.ts";
import { environment } from "../config/environment.ts";
import { type Service, startService } from "../main.ts";
import { createLogger } from "../service/logger.ts";
import { addCommand } from "./command.ts";
import { type TourParties, tourParties } from "./demo/tour.ts";
import { tourText } from "./demo/tour-lines.ts";
import { printJson, printLines } from "./terminal.ts";

/** What is not in order by then will not be. The embedded database is then ended by its watcher. */
const STOP_LIMIT_MS = 25_000;
/** Ctrl-C under npm comes twice: the terminal signals the whole process group, and npm passes its own signal on. */
const ONE_REQUEST_MS = 300;
const PARENT_CHECK_MS = 500;
/** How long a database that does not answer may keep a process that has met a bug. */
const LEASES_LIMIT_MS = 2_000;
/** How long a log whose reader reads nothing may keep a process that has finished. */
const LAST_LINES_LIMIT_MS = 2_000;

export function addStart(program: Command): void {
  addCommand(program, "start", {
    summary: "start the service; in sandbox mode it prints what to try",
    examples: ["start", "start --json"],
  }).action(serve);
}

async function serve({ json }: { json?: true }): Promise<void> {
  const config = readConfig(environment);
  const log = createLogger(config, json === true ? 2 : 1);
  const inTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor));
  let service: Service | undefined;
  // One that does not serve yet has nothing that others wait for.
  endOnBugs(log, async () => service?.core.abandon());
  const asked = untilAskedToStop(log);
  const stopping = new AbortController();
  void asked.then(() => stopping.abort());
  service = await startService({ config, log, stopping: stopping.signal });
  if (service.metricsUrl !== undefined) log.info(`metrics at ${service.metricsUrl}`);
  const printed = json === true ? printJson(readyRecord(service, config)) : printLines(readyLines(service, config));
  // The service runs on when nobody reads this.
  void printed.catch(() => undefined);
  const signal = await asked;
  log.info(`${signal}: stopping`);
  await service.stop();
  log.info("stopped in order");
  setTimeout(() => process.exit(), LAST_LINES_LIMIT_MS).unref();
  if (signal === "SIGHUP" && inTerminal) endBy(signal);
}

/** Node aborts at an ordinary end when the terminal, whose settings it restores then, is gone. An end by signal is none. */
function endBy(signal: NodeJS.Signals): void {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

/**
 * From the first signal on there is a bound: also for a start that has not come to its end, which is then stopped as
 * soon as it has. A later SIGINT or SIGTERM does not wait for anything; a terminal that closes may send SIGHUP again.
 */
function untilAskedToStop(log: Logger): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let askedAt: number | undefined;
    const listen = (signal: NodeJS.Signals): void => {
      if (askedAt !== undefined) {
        if (signal === "SIGHUP" || performance.now() - askedAt < ONE_REQUEST_MS) return;
        log.fatal(`${signal} again: ending at once`);
        process.exit(1);
      }
      askedAt = performance.now();
      setTimeout(() => {
        log.fatal(`not stopped ${STOP_LIMIT_MS / 1_000} s after ${signal}: giving up`);
        process.exit(1);
      }, STOP_LIMIT_MS).unref();
      resolve(signal);
    };
    process.on("SIGTERM", listen).on("SIGINT", listen).on("SIGHUP", listen);
    // Many programs open their logs again at these. At the first Node would let every local user in, as into a debugger;
    // the second would end the process.
    for (const signal of ["SIGUSR1", "SIGUSR2"] as const)
      process.on(signal, () => log.warn(`${signal} means nothing here`));
    if (environment.npm_command === "exec") whenParentIsGone(() => askedAt ?? listen("SIGTERM"));
  });
}

/** npx starts a shell that starts us. A signal to npx ends that shell alone, and nobody would pass it on to the service. */
function whenParentIsGone(act: () => void): void {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) act();
  }, PARENT_CHECK_MS).unref();
}

/**
 * A process that is not what it believes to be must not go on with money. What was answered is durable. `abandon` is to cut
 * it off from the database before anything else runs, and then to let go of its leases, so that another node need not wait
 * for their end. What goes wrong after that is of no interest.
 */
function endOnBugs(log: Logger, abandon: () => Promise<void>): void {
  let isEnding = false;
  const end = (error: unknown): void => {
    if (isEnding) return;
    isEnding = true;
    setTimeout(() => process.exit(1), LEASES_LIMIT_MS);
    const abandoned = abandon();
    log.fatal({ error }, "this is a bug: the service ends");
    abandoned
      .catch((failure: unknown) => log.warn({ error: failure }, "the leases end by themselves"))
      .finally(() => process.exit(1));
  };
  process.on("uncaughtException", end).on("unhandledRejection", end);
}

/** The demo's parties, when it is the demo that is being served. An operator's own secrets are never printed. */
function partiesOf({ bootstrap }: Service, config: Config): TourParties | undefined {
  const served = config.mode === "sandbox" && config.roles.has("api") && config.roles.has("auth");
  return served && config.bootstrap === undefined && bootstrap !== undefined ? tourParties(bootstrap) : undefined;
}

function readyRecord(service: Service, config: Config) {
  const parties = partiesOf(service, config);
  return {
    base_url: service.baseUrl,
    auth_url: service.authUrl,
    metrics_url: service.metricsUrl,
    pid: process.pid,
    mode: config.mode,
    demo: parties && {
      client_id: parties.acme.clientId,
      client_secret: parties.acme.clientSecret,
      profile_ids: [parties.acme.treasury, parties.acme.payouts],
    },
  };
}

function readyLines(service: Service, config: Config): string[] {
  const { baseUrl, authUrl } = service;
  const parties = partiesOf(service, config);
  if (parties !== undefined)
    return ["", ...tourText(parties, { baseUrl, authUrl, settlementDelayMs: config.settlementDelayMs })];
  return [`base_url  ${baseUrl}`, `auth_url  ${authUrl}`];
}
