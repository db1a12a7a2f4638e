/**
 * Debian's pgbench and wrk, where installed: PostgreSQL's own benchmark on the same server and settings, and the empty
 * route under another load generator.
 */
import { spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { bestOf } from "./usual-way.mjs";

const CLIENTS = [8, 16, 32, 64];
/** As many branches as clients at most, or they would wait for each other's. */
const SCALE = Math.max(...CLIENTS);
const TRIAL_SECONDS = 3;
const THREADS = 2;

export const pgbench = {
  names: { pgbench: "pgbench TPC-B (prepared), at its best client count" },
  isThere: () => isInstalled("pgbench"),
  open: async ({ service: { directory } }) => {
    const host = join(directory, "postgres");
    const server = new pg.Client({ host, user: "postgres", database: "postgres" });
    await server.connect();
    await server.query("drop database if exists pgbench");
    await server.query("create database pgbench");
    await server.end();
    const run = (...options) => output("pgbench", ["-h", host, "-U", "postgres", ...options, "pgbench"]);
    await run("-i", "-q", "-s", String(SCALE));
    const load = async (clients, seconds) => {
      const time = ["-c", String(clients), "-j", String(THREADS), "-T", String(Math.max(1, Math.round(seconds)))];
      const text = await run("-n", "-M", "prepared", ...time);
      const perSecond = Number(/tps = ([\d.]+) \(without/.exec(text)?.[1]);
      const answered = Number(/actually processed: (\d+)/.exec(text)?.[1]);
      return {
        answered,
        seconds: answered / perSecond,
        perSecond,
        p50: Number(/average = ([\d.]+) ms/.exec(text)?.[1]),
        clients,
      };
    };
    const best = await bestOf(CLIENTS, (clients) => load(clients, TRIAL_SECONDS));
    return { pgbench: (seconds) => load(best, seconds) };
  },
};

export const wrk = {
  names: { "wrk-empty-256": "empty POST route, 256 connections of wrk" },
  isThere: () => isInstalled("wrk"),
  open: async (parties) => {
    const [head, body] = (await parties.transfers())("/bench/empty")().split("\r\n\r\n");
    const headers = head
      .split("\r\n")
      .slice(1)
      .map((line) => line.split(": "))
      // wrk adds these by itself; a second one is rejected.
      .filter(([name]) => !["content-length", "host"].includes(name.toLowerCase()));
    const script = join(parties.service.directory, "wrk.lua");
    const set = headers.map(([name, value]) => `wrk.headers["${name}"] = "${value}"`);
    writeFileSync(script, [`wrk.method = "POST"`, `wrk.body = [[${body}]]`, ...set].join("\n"));
    return {
      "wrk-empty-256": async (seconds) => {
        const time = `-d${Math.max(1, Math.round(seconds))}s`;
        const text = await output("wrk", [
          "-t1",
          "-c256",
          time,
          "--latency",
          "-s",
          script,
          `${parties.url}/bench/empty`,
        ]);
        if (/Non-2xx/.test(text)) throw new Error(text);
        const perSecond = Number(/Requests\/sec: +([\d.]+)/.exec(text)?.[1]);
        return { answered: Math.round(perSecond * seconds), seconds, perSecond };
      },
    };
  },
};

const isInstalled = (program) => spawnSync(program, ["--version"]).error === undefined;

async function output(program, parameters) {
  const child = spawn(program, parameters, { stdio: ["ignore", "pipe", "pipe"] });
  const said = [];
  child.stdout.on("data", (chunk) => said.push(chunk));
  child.stderr.on("data", (chunk) => said.push(chunk));
  const code = await new Promise((resolve, reject) => child.once("error", reject).once("close", resolve));
  const text = Buffer.concat(said).toString();
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${text}`);
  return text;
}
