/** PgBouncer in front of a database of the tests, as Debian packages it. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync } from "node:fs";
import { chmod, chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClientConfig } from "pg";
import { chooseServerUser } from "../../../src/postgres/embedded/cluster.ts";
import { freePort } from "../free-port.ts";
import { until } from "../until.ts";
import { startRelay } from "./relay.ts";

const PROGRAM = "/usr/sbin/pgbouncer";

/** Why there is none, for `required`; undefined when there is. */
export function missingPgbouncer(): string | undefined {
  try {
    accessSync(PROGRAM);
    return undefined;
  } catch {
    return `there is no ${PROGRAM}: apt-get install pgbouncer`;
  }
}

export interface Pgbouncer {
  /** How to connect through it. */
  readonly connection: ClientConfig;
  close(): Promise<void>;
}

/** `settings`: of its section [pgbouncer], such as { pool_mode: "transaction" }. */
export async function startPgbouncer(
  target: ClientConfig,
  settings: Readonly<Record<string, string>>,
): Promise<Pgbouncer> {
  // PgBouncer refuses to run as root, and other users cannot reach the socket of the tests' server.
  const relay = await startRelay(target);
  const directory = await mkdtemp(join(tmpdir(), "parbook-pgbouncer-"));
  const port = await freePort();
  const user = await chooseServerUser(directory, false);
  if (user !== undefined) await chown(directory, user.uid, user.gid);
  await writeFile(join(directory, "users.txt"), `"${target.user}" "${target.password ?? ""}"\n`);
  await writeFile(join(directory, "pgbouncer.ini"), configuration(relay.connection, port, settings));
  for (const name of ["users.txt", "pgbouncer.ini"]) await chmod(join(directory, name), 0o644);
  const child = spawn(PROGRAM, ["-q", "pgbouncer.ini"], { cwd: directory, stdio: "ignore", ...user });
  const close = async (): Promise<void> => {
    await end(child);
    await relay.close();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await until("PgBouncer listens", () => child.exitCode === null && isListening(port));
  } catch (error) {
    await close();
    throw error;
  }
  return { connection: { ...target, host: "127.0.0.1", port }, close };
}

function configuration(server: ClientConfig, port: number, settings: Readonly<Record<string, string>>): string {
  const all = {
    listen_addr: "127.0.0.1",
    listen_port: String(port),
    unix_socket_dir: "",
    auth_type: "trust",
    auth_file: "users.txt",
    logfile: "pgbouncer.log",
    server_tls_sslmode: "disable",
    ...settings,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`);
  return [`[databases]`, `* = host=${server.host} port=${server.port}`, "[pgbouncer]", ...lines, ""].join("\n");
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  // At once, even with open connections.
  child.kill("SIGTERM");
  await ended;
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const answer = (listens: boolean) => (): void => {
      socket.destroy();
      resolve(listens);
    };
    socket.once("connect", answer(true)).once("error", answer(false));
  });
}
