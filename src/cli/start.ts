/** `parbook start`: serves until a signal. */
import { isatty } from "node:tty";
import type { Command } from "commander";
import type { Logger } from "pino";
import type { Service } from "../main.ts";
import { type Config, readConfig } from "../service/config/config.ts";
import { environment } from "../service/config/environment.ts";
import { createLogger } from "../service/logger.ts";
import type { RequestLogForm } from "../service/request-log.ts";
import { readCoin } from "./arguments.ts";
import { addCommand } from "./command.ts";
import { type TourParties, tourParties } from "./demo/tour.ts";
import { tourText } from "./demo/tour-lines.ts";
import { DUPLICATE_SIGNAL_MS } from "./interruption.ts";
import { demoCommand } from "./own-name.ts";
import { printJson, printLines } from "./terminal.ts";

/** An orderly stop that takes longer is abandoned; the watcher then stops the embedded database. */
const STOP_TIMEOUT_MS = 25_000;
const PARENT_CHECK_MS = 500;
/** After a bug: how long to wait for the database to release the leases. */
const RELEASE_TIMEOUT_MS = 2_000;
/** How long to wait for a slow log reader before exiting. */
const FLUSH_TIMEOUT_MS = 2_000;

export function addStart(program: Command): void {
  addCommand(program, "start", {
    summary: "start the service; in sandbox mode it prints commands to try",
    examples: ["start", "start --coin ACMEUSD", "start --json"],
  })
    .option(
      "--coin <code>",
      "in a sandbox: a stablecoin of your own, with a market against USD (PARBOOK_COIN)",
      readCoin,
    )
    .option("--quiet", "log no requests; otherwise they are logged in production, and on a terminal")
    .action(serve);
}

interface StartCommandOptions {
  readonly json?: true;
  readonly coin?: string;
  readonly quiet?: true;
}

async function serve({ json, coin, quiet }: StartCommandOptions): Promise<void> {
  const config = readConfig(coin === undefined ? environment : { ...environment, PARBOOK_COIN: coin });
  const log = createLogger(config, json === true ? 2 : 1);
  const inTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor));
  let service: Service | undefined;
  // Before it serves, the process holds no leases.
  endOnBugs(log, async () => service?.core.abandon());
  const stopRequested = waitForStopSignal(log);
  const stopping = new AbortController();
  void stopRequested.then(() => stopping.abort());
  // Not imported above: the servers take longer to load than most commands to run.
  const { startService } = await import("../main.ts");
  const requestLog = quiet === true ? undefined : requestLogOf(config, json === true ? process.stderr : process.stdout);
  service = await startService({ config, log, requestLog, stopping: stopping.signal });
  if (service.metricsUrl !== undefined) log.info(`metrics at ${service.metricsUrl}`);
  // The service does not depend on a reader.
  void sayReady(service, config, log, json === true).catch(() => undefined);
  const signal = await stopRequested;
  log.info(`${signal}: stopping`);
  await service.stop();
  log.info("stopped in order");
  setTimeout(() => process.exit(), FLUSH_TIMEOUT_MS).unref();
  if (signal === "SIGHUP" && inTerminal) endBy(signal);
}

function requestLogOf({ mode }: Config, output: NodeJS.WriteStream): RequestLogForm | undefined {
  if (output.isTTY) return "line";
  return mode === "production" ? "record" : undefined;
}

/** Node restores the terminal's settings on a normal exit, and aborts if the terminal is gone. Exit by signal avoids that. */
function endBy(signal: NodeJS.Signals): void {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

/**
 * The first signal starts the stop timeout, even during start-up. A second SIGINT or SIGTERM exits at once; a second
 * SIGHUP is ignored, because a closing terminal may send several.
 */
function waitForStopSignal(log: Logger): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstSignalAt: number | undefined;
    const listen = (signal: NodeJS.Signals): void => {
      if (firstSignalAt !== undefined) {
        if (signal === "SIGHUP" || performance.now() - firstSignalAt < DUPLICATE_SIGNAL_MS) return;
        log.fatal(`second ${signal}: exiting immediately`);
        process.exit(1);
      }
      firstSignalAt = performance.now();
      setTimeout(() => {
        log.fatal(`not stopped ${STOP_TIMEOUT_MS / 1_000} s after ${signal}: exiting`);
        process.exit(1);
      }, STOP_TIMEOUT_MS).unref();
      resolve(signal);
    };
    process.on("SIGTERM", listen).on("SIGINT", listen).on("SIGHUP", listen);
    // Log rotation tools send these. By default SIGUSR1 opens Node's debugger to every local user, and SIGUSR2 kills the
    // process.
    for (const signal of ["SIGUSR1", "SIGUSR2"] as const) process.on(signal, () => log.warn(`${signal} is ignored`));
    if (environment.npm_command === "exec") whenParentExits(() => firstSignalAt ?? listen("SIGTERM"));
  });
}

/** npx runs us through a shell. A signal to npx kills only that shell and never reaches the service. */
function whenParentExits(act: () => void): void {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) act();
  }, PARENT_CHECK_MS).unref();
}

/**
 * Exits on an uncaught error: a process in an unknown state must not move money, and everything it confirmed is durable.
 *
 * @param abandon Closes all database connections synchronously, then releases the leases for other nodes.
 */
function endOnBugs(log: Logger, abandon: () => Promise<void>): void {
  let isEnding = false;
  const end = (error: unknown): void => {
    if (isEnding) return;
    isEnding = true;
    setTimeout(() => process.exit(1), RELEASE_TIMEOUT_MS);
    const abandoned = abandon();
    log.fatal({ error }, "uncaught error: this is a bug, exiting");
    abandoned
      .catch((failure: unknown) => log.warn({ error: failure }, "leases were not released; they will expire"))
      .finally(() => process.exit(1));
  };
  process.on("uncaughtException", end).on("unhandledRejection", end);
}

/** The demo's parties. Undefined with an operator's own bootstrap file, whose secrets must not be printed. */
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

/** In production standard output is a log, in which each line is JSON. */
async function sayReady(service: Service, config: Config, log: Logger, isJson: boolean): Promise<void> {
  if (isJson) await printJson(readyRecord(service, config));
  else if (config.mode === "sandbox") await printLines(readyLines(service, config));
  else log.info({ base_url: service.baseUrl, auth_url: service.authUrl }, "serving");
}

function readyLines(service: Service, config: Config): string[] {
  const { baseUrl, authUrl } = service;
  const parties = partiesOf(service, config);
  if (parties !== undefined)
    return ["", ...tourText(parties, { ...config, baseUrl, authUrl, demo: demoCommand(environment) })];
  const docs = config.roles.has("api") ? [`docs      ${baseUrl}/docs`] : [];
  return [`base_url  ${baseUrl}`, `auth_url  ${authUrl}`, ...docs];
}
