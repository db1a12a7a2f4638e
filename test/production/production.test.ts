/**
 * docs/production.md, whose commands are executed as they stand there, but for directories and ports: the packed program is
 * installed from the registry, on a cluster as Debian makes it, behind the haproxy of Debian.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import { tmpdir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { pause } from "../../src/std/pause.ts";
import { freePort } from "../support/free-port.ts";
import { required } from "../support/required.ts";

vi.setConfig({ testTimeout: 600_000 });

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const NEEDED = ["/usr/bin/pg_createcluster", "/usr/sbin/haproxy", "/usr/bin/socat", "/usr/bin/curl"];
/** For the commands of a part of the page, on a machine that is busy. */
const LIMIT_MS = 240_000;
const isRoot = process.getuid?.() === 0;

/** The commands before and in the section on restarts, without the blocks that are marked as not tested. */
async function commandsOfPage(): Promise<{ readonly install: string; readonly restart: string }> {
  const page = await readFile(join(ROOT, "docs", "production.md"), "utf8");
  const [before = "", after = ""] = page.split("## 8. Restarts and upgrades\n");
  const commandsIn = (text: string): string =>
    [...text.matchAll(/(?:^ {4}.*\n|^\n(?= {4}))+/gm)]
      .map(([block]) => block.replaceAll(/^ {4}/gm, ""))
      .filter((block) => !block.trimStart().startsWith("# not tested"))
      .join("\n");
  return { install: commandsIn(before), restart: commandsIn(after) };
}

interface Ports {
  readonly database: number;
  readonly api: number;
  readonly auth: number;
  /** Of the page, and those here. */
  readonly nodes: ReadonlyMap<string, number>;
}

class Site {
  readonly place: string;
  readonly ports: Ports;

  constructor(place: string, ports: Ports) {
    this.place = place;
    this.ports = ports;
  }

  /** With this site's directories and ports. */
  here(text: string): string {
    const nodes = [...this.ports.nodes].map(([port, own]) => [new RegExp(`\\b${port}\\b`, "g"), String(own)] as const);
    const paths = text
      .replaceAll(/(?<![\w.])\/(opt|etc|var\/lib|usr\/local|run)\//g, `${this.place}/$1/`)
      .replaceAll("-o root -g parbook ", "")
      .replaceAll("-o parbook -g parbook ", "")
      .replaceAll("127.0.0.1/parbook", `127.0.0.1:${this.ports.database}/parbook`)
      .replaceAll("/usr/bin/node", process.execPath);
    return nodes.reduce((all, [port, own]) => all.replaceAll(port, own), paths);
  }

  /** The commands that install, and behind each that puts files in place what an operator changes in them. */
  adapted(commands: string): string {
    const { place, ports } = this;
    const inFiles = (files: string): string => {
      const nodes = [...ports.nodes].map(([port, own]) => `-e 's|\\b${port}\\b|${own}|'`).join(" ");
      const paths = `-e 's#/(etc|opt|run|var/lib)/#${place}/\\1/#' -e 's|/usr/bin/node|${process.execPath}|'`;
      return `sed -i -E ${paths} ${nodes} ${files}`;
    };
    const [settings, unit] = [join(place, "etc/parbook"), join(place, "etc/systemd/system/parbook@.service")];
    const database = `sed -i 's|127.0.0.1/|127.0.0.1:${ports.database}/|' ${settings}/parbook.env`;
    const haproxy = join(place, "etc/haproxy/haproxy.cfg");
    // Only root can become another user.
    const dropped = isRoot ? "" : "-E -e '/^ *(user|group|chroot) /d'";
    return this.here(commands)
      .replace(
        /^sed -i [\s\S]*?^END$/m,
        (lines) => `${lines}\n${inFiles(`${settings}/node*.env ${unit}`)}\n${database}`,
      )
      .replace(
        /^install .*haproxy\.cfg$/m,
        (line) =>
          `${line}\n${inFiles(haproxy)}\nsed -i -e 's|:443 |127.0.0.1:${ports.api} |; s|:8443 |127.0.0.1:${ports.auth} |' ${dropped} ${haproxy}`,
      );
  }

  async run(commands: string): Promise<void> {
    const { place } = this;
    const path = `${place}/usr/local/sbin:${place}/usr/local/bin:${dirname(process.execPath)}:/usr/sbin:/usr/bin:/sbin:/bin`;
    const child = spawn("bash", ["-euo", "pipefail", "-c", commands], {
      cwd: place,
      env: {
        // What npm needs to reach the registry from here.
        ...process.env,
        PATH: path,
        SITE: place,
        PG_CLUSTER_CONF_ROOT: join(place, "pg"),
        HAPROXY_SOCKET: join(place, "run/haproxy/admin.sock"),
        npm_config_prefer_offline: "true",
        npm_config_fetch_retries: "1",
      },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: LIMIT_MS,
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        said = (said + text).slice(-5_000);
      });
    const [exitCode] = await once(child, "close");
    expect(exitCode, said + (await this.logs())).toBe(0);
  }

  async logs(): Promise<string> {
    const names = (await readdir(this.place)).filter((name) => name.endsWith(".log"));
    const tails = names.map(
      async (name) => `\n${name}: ${(await readFile(join(this.place, name), "utf8")).slice(-1_500)}`,
    );
    return (await Promise.all(tails)).join("");
  }
}

async function makeSite(): Promise<Site> {
  const place = await mkdtemp(join(tmpdir(), "parbook-production-"));
  await chmod(place, 0o755);
  const [database = 0, api = 0, auth = 0, ...own] = await Promise.all(Array.from({ length: 9 }, () => freePort()));
  const nodes = new Map(["8080", "8081", "8090", "8091", "9080", "9090"].map((port, i) => [port, own[i] as number]));
  const site = new Site(place, { database, api, auth, nodes });
  for (const name of [
    "etc/haproxy",
    "etc/systemd/system",
    "opt",
    "run/haproxy",
    "usr/local/bin",
    "usr/local/sbin",
    "pg",
    "var/lib/haproxy",
  ])
    await mkdir(join(place, name), { recursive: true });
  await cp(fileURLToPath(new URL("systemctl", import.meta.url)), join(place, "usr/local/sbin/systemctl"));
  // There is no user parbook here. The superuser of the cluster is postgres, or the user who runs the test.
  const asUser = isRoot ? '[[ $2 == parbook ]] || exec /usr/sbin/runuser "$@"\n' : "";
  await writeFile(join(place, "usr/local/sbin/runuser"), `#!/bin/bash\n${asUser}shift 3; exec "$@"\n`, { mode: 0o755 });
  const cluster = ["15", "main", "--port", String(database), "--datadir", join(place, "pgdata")];
  const user = isRoot ? "postgres" : userInfo().username;
  onTestFinished(async () => {
    for (const unit of ["haproxy", "parbook@node1", "parbook@node2"]) await site.run(`systemctl stop ${unit}`);
    await site.run("pg_ctlcluster 15 main stop --mode immediate || true");
    await rm(place, { recursive: true, force: true, maxRetries: 10 });
  });
  if (isRoot) execFileSync("chown", ["postgres", place, join(place, "pg")]);
  await site.run(
    `pg_createcluster ${cluster.join(" ")} --user ${user} --socketdir ${place} --logfile ${place}/postgresql.log -- --no-sync
     pg_ctlcluster 15 main start`,
  );
  execFileSync(process.execPath, ["scripts/package.mjs", "--pack-destination", place], { cwd: ROOT, stdio: "ignore" });
  await makeCertificates(place);
  return site;
}

async function makeCertificates(place: string): Promise<void> {
  const made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=api.example.com"];
  const [key, certificate] = [join(place, "key.pem"), join(place, "certificate.pem")];
  execFileSync("openssl", ["req", "-x509", ...made, "-keyout", key, "-out", certificate], { stdio: "ignore" });
  const both = (await readFile(certificate, "utf8")) + (await readFile(key, "utf8"));
  for (const name of ["api.pem", "auth.pem"]) await writeFile(join(place, "etc/haproxy", name), both);
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Keeps its connection. */
class Caller {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });

  send(port: number, method: string, path: string, headers: Record<string, string>, body = ""): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const options = { agent: this.#agent, host: "127.0.0.1", port, method, path, timeout: 30_000 };
      const sent = request(
        { ...options, headers: { ...headers, "content-length": Buffer.byteLength(body) } },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (piece: string) => {
            text += piece;
          });
          response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
          response.on("error", reject);
        },
      );
      sent
        .on("error", reject)
        .on("timeout", () => sent.destroy(new Error("no answer within 30 s")))
        .end(body);
    });
  }

  end(): void {
    this.#agent.destroy();
  }
}

const CALLERS = 4;
const EVERY_MS = 100;

test("by the commands of the documentation two nodes serve behind haproxy, and are restarted without a failed request", async (context) => {
  const missing = NEEDED.filter((program) => !existsSync(program));
  required(context, missing.length === 0 ? undefined : `there is no ${missing.join(", ")}`);
  const page = await commandsOfPage();
  const site = await makeSite();
  const { place, ports } = site;
  await site.run(`${site.adapted(page.install)}
    pb deposit --profile "$(node -p 'JSON.parse(process.argv[1]).default_profile_id' "$customer")" --asset USD --amount 1000
    printf '%s' "$client" > ${place}/client.json`);
  const pids = () => Promise.all([1, 2].map((n) => readFile(join(place, `run/parbook@node${n}.pid`), "utf8")));
  const old = await pids();

  const { client_id, client_secret } = JSON.parse(await readFile(join(place, "client.json"), "utf8"));
  const first = new Caller();
  const credentials = new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret });
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const issued = await first.send(ports.auth, "POST", "/oauth2/token", form, credentials.toString());
  expect(issued.status, issued.body).toBe(200);
  const headers = {
    authorization: `Bearer ${JSON.parse(issued.body).access_token}`,
    "content-type": "application/json",
  };
  const json = async (method: string, path: string, body?: object) => {
    const answer = await first.send(ports.api, method, path, headers, body && JSON.stringify(body));
    expect(answer.status, answer.body).toBe(200);
    return JSON.parse(answer.body);
  };
  const [source] = (await json("GET", "/v2/profiles")).items;
  const target = await json("POST", "/v2/profiles", { nickname: "target" });

  const failures: string[] = [];
  let transferred = 0;
  let isOver = false;
  const work = async (name: number): Promise<void> => {
    const caller = new Caller();
    for (let i = 0; !isOver; i += 1) {
      const transfer = {
        from_profile_id: source.id,
        to_profile_id: target.id,
        amount: "0.01",
        asset: "USD",
        ref_id: `${name}-${i}`,
      };
      const sent =
        i % 2 === 0
          ? caller.send(ports.api, "POST", "/v2/transfer/internal", headers, JSON.stringify(transfer))
          : caller.send(ports.api, "GET", `/v2/profiles/${target.id}/balances/USD`, headers);
      const answer = await sent.catch((error: Error) => ({ status: 0, body: error.message }));
      if (answer.status !== 200) failures.push(`${answer.status} ${answer.body}`);
      else if (i % 2 === 0) transferred += 1;
      await pause(EVERY_MS);
    }
    caller.end();
  };
  const working = Promise.all(Array.from({ length: CALLERS }, (_, name) => work(name)));
  try {
    await site.run(site.here(page.restart));
  } finally {
    isOver = true;
    await working;
  }
  expect(failures).toEqual([]);
  expect(transferred).toBeGreaterThan(20);
  const { available } = await json("GET", `/v2/profiles/${target.id}/balances/USD`);
  expect(Math.round(Number(available) * 100)).toBe(transferred);
  const restarted = await pids();
  for (const [i, pid] of restarted.entries()) expect(pid).not.toBe(old[i]);

  // As an error leaves it: healthy, and without requests.
  const drain = `echo "set server api/node1 state drain" | socat stdio UNIX-CONNECT:$HAPROXY_SOCKET`;
  const why = "node2 was not restarted: haproxy does not use node1. When that is in order: rolling-restart node1";
  const says = (command: string, said: string) =>
    `said=$(${command} 2>&1) && exit 1; [[ $said == "${said}" ]] || { echo "$said"; exit 1; }`;
  await site.run(`${drain}; ${says("rolling-restart node2", why)}`);
  // Nor do two at once.
  const lock = "exec 8>run/haproxy/rolling-restart.lock; flock 8";
  const other = "another rolling-restart is running";
  await site.run(`${lock}; ${says("rolling-restart node1 8>&-", other)}`);
  expect(await pids()).toEqual(restarted);
  await site.run("rolling-restart node1");
  // A node that does not come back is brought back once its settings are right. Until then no other is restarted: nobody would serve.
  const [, before] = await pids();
  await site.run(`cp etc/parbook/node1.env right.env; echo PARBOOK_PORT=wrong >> etc/parbook/node1.env
    ${says("LIMIT_S=3 rolling-restart node1", "waited 3 s in vain: node1 is up")}
    ${says("LIMIT_S=1 rolling-restart node2", "waited 1 s in vain: the other nodes are up")}`);
  expect((await pids())[1]).toBe(before);
  expect((await json("GET", `/v2/profiles/${target.id}/balances/USD`)).available).toBe(available);
  await site.run(`mv right.env etc/parbook/node1.env
    said=$(rolling-restart node1 2>&1); [[ $said == "node1 is restarted" ]] || { echo "$said"; exit 1; }`);
  expect((await pids())[1]).toBe(before);
  await site.run("rolling-restart node2");
  for (const [i, pid] of (await pids()).entries()) expect(pid).not.toBe(restarted[i]);
  first.end();
});

test("systemd finds nothing wrong in the unit", (context) => {
  const program = "/usr/bin/systemd-analyze";
  required(context, existsSync(program) ? undefined : "there is no systemd-analyze");
  const unit = join(ROOT, "ops/production/parbook@.service");
  // The node that runs this may be elsewhere.
  const said = execFileSync("sh", ["-c", `${program} verify '${unit}' 2>&1 | grep -v 'is not executable' || true`]);
  expect(`${said}`).toBe("");
});

test("a node of the unit can ask for the addresses of its machine, to which no webhook may be posted", async (context) => {
  const python = "/usr/bin/python3";
  required(context, existsSync(python) ? undefined : `there is no ${python}`);
  const unit = await readFile(join(ROOT, "ops/production/parbook@.service"), "utf8");
  const families = /^RestrictAddressFamilies=(.*)$/m.exec(unit)?.[1] ?? "";
  const script = fileURLToPath(new URL("with-families.py", import.meta.url));
  const asks = [process.execPath, "-p", "Object.keys(os.networkInterfaces()).length > 0"];
  expect(`${execFileSync(python, [script, families, ...asks], { stdio: "pipe" })}`).toBe("true\n");
});
