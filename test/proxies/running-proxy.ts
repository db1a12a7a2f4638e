/** The proxies of Debian with the configurations of ops/proxies, started in front of a node without TLS. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../support/free-port.ts";
import { until } from "../support/until.ts";

export interface ProxyProgram {
  readonly program: string;
  readonly config: string;
  readonly args: (config: string) => readonly string[];
  /** What of the configuration is the operator's: where it listens, without certificates here. */
  readonly adapt: (text: string, ports: { readonly api: number; readonly auth: number }) => string;
}

export const PROXIES = {
  haproxy: {
    program: "/usr/sbin/haproxy",
    config: "haproxy.cfg",
    args: (config) => ["-db", "-f", config],
    adapt: (text, { api, auth }) =>
      text
        .replace(/bind :443 ssl .*/, `bind 127.0.0.1:${api}`)
        .replace(/bind :8443 ssl .*/, `bind 127.0.0.1:${auth}`)
        .replaceAll(/^ *(?:user|group|chroot|stats socket|server node2) .*\n/gm, ""),
  },
  nginx: {
    program: "/usr/sbin/nginx",
    config: "nginx.conf",
    args: (config) => ["-p", join(config, ".."), "-c", config, "-e", "stderr", "-g", "daemon off; pid nginx.pid;"],
    adapt: (text, { api, auth }) =>
      text
        .replace("listen 443 ssl", `listen 127.0.0.1:${api}`)
        .replace("listen 8443 ssl", `listen 127.0.0.1:${auth}`)
        .replace(/^ *ssl_certificate.*$/gm, "")
        .replace("http {", "http {\naccess_log off;"),
  },
  caddy: {
    program: "/usr/bin/caddy",
    config: "Caddyfile",
    args: (config) => ["run", "--adapter", "caddyfile", "--config", config],
    adapt: (text, { api, auth }) =>
      text
        .replace("https://api.example {", `http://:${api} {\nbind 127.0.0.1`)
        .replace("https://auth.example {", `http://:${auth} {\nbind 127.0.0.1`),
  },
} satisfies Record<string, ProxyProgram>;

export interface RunningProxy {
  readonly api: string;
  readonly auth: string;
  readonly stop: () => Promise<void>;
}

/** Starts a proxy and waits until both URLs of the node answer through it. */
export async function startProxy(
  { program, config, args, adapt }: ProxyProgram,
  behind: { readonly apiUrl: string; readonly authUrl: string },
): Promise<RunningProxy> {
  const directory = await mkdtemp(join(tmpdir(), "parbook-proxy-"));
  const [api, auth] = await Promise.all([freePort(), freePort()]);
  const text = await readFile(new URL(`../../ops/proxies/${config}`, import.meta.url), "utf8");
  const file = join(directory, config);
  const backends = adapt(text, { api, auth })
    .replaceAll("127.0.0.1:8080", new URL(behind.apiUrl).host)
    .replaceAll("127.0.0.1:8081", new URL(behind.authUrl).host);
  await writeFile(file, backends);
  const env = { PATH: process.env.PATH, HOME: directory, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory };
  const child = spawn(program, args(file), { env, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (part: string) => {
    said = (said + part).slice(-2_000);
  });
  const urls = { api: `http://127.0.0.1:${api}`, auth: `http://127.0.0.1:${auth}` };
  const stop = async (): Promise<void> => {
    await end(child);
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await until("the proxy serves both", async () => {
      if (child.exitCode !== null) throw new Error(`the proxy has ended: ${said}`);
      const received = await Promise.all([fetch(`${urls.api}/slow`), fetch(`${urls.auth}/healthz`)]).catch(() => []);
      return received.length === 2 && received.every(({ status }) => status === 200);
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { ...urls, stop };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.kill("SIGTERM")) await once(child, "exit");
}
