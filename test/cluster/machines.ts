/**
 * Machines of a network of their own: a network namespace each, on one bridge, so that every process has an address and
 * any pair can be cut off from each other. Needs root, `ip` (iproute2) and `nft`.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";

/** Why there can be none, for `required`; undefined when there can. */
export function whyNoMachines(): string | undefined {
  const name = `pbc${process.pid}try`;
  try {
    ip("netns", "add", name);
    ip("netns", "del", name);
    return undefined;
  } catch (error) {
    return `a network namespace cannot be made: ${String(error)}`;
  }
}

/** Machines and what connects them. The test itself is at the address that ends in 254. */
export class Network {
  readonly machines = new Map<string, Machine>();
  readonly #prefix = `pbc${process.pid}`;
  readonly #outer = `pbc${process.pid % 1e7}`;
  /** Of the block for benchmarks (RFC 2544), so that no real network is hidden. */
  readonly #net = `198.19.${process.pid % 250}`;

  /** @param names each with the last number of its address */
  static open(names: Readonly<Record<string, number>>): Network {
    removeLeftovers();
    const network = new Network();
    try {
      network.#make(names);
    } catch (error) {
      network.remove();
      throw error;
    }
    return network;
  }

  /** All addresses begin with it. */
  get prefix(): string {
    return `${this.#net}.`;
  }

  machine(name: string): Machine {
    const found = this.machines.get(name);
    if (found === undefined) throw new Error(`there is no machine ${name}`);
    return found;
  }

  /** Drops every packet between two machines, in both directions, until they are joined again. */
  cut(one: string, other: string): void {
    this.cutOneWay(one, other);
    this.cutOneWay(other, one);
  }

  /** Drops what the one sends to the other, and not what comes back. */
  cutOneWay(from: string, to: string): void {
    this.machine(to).dropFrom(this.machine(from).address);
  }

  /** Joins all machines again. */
  join(): void {
    for (const machine of this.machines.values()) machine.dropNothing();
  }

  /** Ends every process of all machines. */
  remove(): void {
    for (const machine of this.machines.values()) machine.killAll();
    quietly(() => ip("link", "del", this.#outer));
    for (const machine of this.machines.values()) quietly(() => ip("netns", "del", machine.namespace));
    quietly(() => ip("netns", "del", `${this.#prefix}lan`));
  }

  #make(names: Readonly<Record<string, number>>): void {
    const lan = `${this.#prefix}lan`;
    ip("netns", "add", lan);
    ip("-n", lan, "link", "add", "lan", "type", "bridge");
    ip("-n", lan, "link", "set", "lan", "up");
    this.#plug(lan, "test", ["link", "add", this.#outer, "type", "veth", "peer", "name", "test", "netns", lan]);
    ip("addr", "add", `${this.#net}.254/24`, "dev", this.#outer);
    ip("link", "set", this.#outer, "up");
    for (const [name, number] of Object.entries(names)) {
      const namespace = `${this.#prefix}${name}`;
      ip("netns", "add", namespace);
      const machine = new Machine(name, namespace, `${this.#net}.${number}`);
      this.machines.set(name, machine);
      const pair = ["link", "add", "eth0", "netns", namespace, "type", "veth", "peer", "name", name, "netns", lan];
      this.#plug(lan, name, pair);
      ip("-n", namespace, "addr", "add", `${machine.address}/24`, "dev", "eth0");
      ip("-n", namespace, "link", "set", "eth0", "up");
      ip("-n", namespace, "link", "set", "lo", "up");
      machine.dropNothing();
    }
  }

  #plug(lan: string, port: string, pair: readonly string[]): void {
    ip(...pair);
    ip("-n", lan, "link", "set", port, "master", "lan");
    ip("-n", lan, "link", "set", port, "up");
  }
}

/** The user of a process: Debian's packages make one for each of these programs. */
export interface Program {
  readonly command: readonly [string, ...string[]];
  /** Undefined: root. */
  readonly user?: string | undefined;
  readonly environment?: Readonly<Record<string, string>> | undefined;
  readonly directory: string;
  /** Where its output is appended. */
  readonly log: string;
}

export class Machine {
  readonly name: string;
  readonly namespace: string;
  readonly address: string;

  constructor(name: string, namespace: string, address: string) {
    this.name = name;
    this.namespace = namespace;
    this.address = address;
  }

  start({ command, user, environment = {}, directory, log }: Program): ChildProcess {
    const file = openSync(log, "a");
    try {
      return spawn("ip", ["netns", "exec", this.namespace, ...as(user), ...command], {
        cwd: directory,
        env: { PATH: process.env.PATH ?? "", HOME: directory, LC_ALL: "C.UTF-8", ...environment },
        stdio: ["ignore", file, file],
      });
    } finally {
      closeSync(file);
    }
  }

  /** Runs a command to its end, and answers its output. */
  async run(user: string | undefined, ...command: string[]): Promise<string> {
    const child = spawn("ip", ["netns", "exec", this.namespace, ...as(user), ...command], {
      stdio: ["ignore", "pipe", "pipe"],
      cwd: "/",
      timeout: 120_000,
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    const [exitCode] = await once(child, "close");
    if (exitCode !== 0) throw new Error(`${command.join(" ")} ended with ${exitCode}: ${output}`);
    return output;
  }

  /** The processes of this machine whose command line matches, all of them by default. */
  processes(matching = /^/): number[] {
    const listed = execFileSync("ip", ["netns", "pids", this.namespace], { encoding: "utf8" });
    return listed
      .split("\n")
      .filter((line) => line !== "")
      .map(Number)
      .filter((pid) => matching.test(commandLine(pid)));
  }

  /** Sends a signal to all that match, and answers how many there were. */
  signal(signal: NodeJS.Signals, matching?: RegExp): number {
    const pids = this.processes(matching);
    for (const pid of pids) quietly(() => process.kill(pid, signal));
    return pids.length;
  }

  killAll(): void {
    quietly(() => this.signal("SIGKILL"));
  }

  dropFrom(address: string): void {
    this.#nft(`add rule ip cut input ip saddr ${address} drop`);
  }

  dropNothing(): void {
    this.#nft("add table ip cut");
    this.#nft("delete table ip cut");
    this.#nft("add table ip cut");
    this.#nft("add chain ip cut input { type filter hook input priority 0; }");
  }

  #nft(words: string): void {
    execFileSync("ip", ["netns", "exec", this.namespace, "/usr/sbin/nft", words], {
      stdio: ["ignore", "ignore", "pipe"],
    });
  }
}

/** Of tests that were killed. */
function removeLeftovers(): void {
  for (const name of execFileSync("ip", ["netns", "list"], { encoding: "utf8" }).match(/^pbc[0-9]+\w*/gm) ?? []) {
    const pid = /[0-9]+/.exec(name)?.[0];
    if (existsSync(`/proc/${pid}`)) continue;
    new Machine(name, name, "").killAll();
    quietly(() => ip("netns", "del", name));
  }
  for (const [, path = "", pid] of readFileSync("/proc/mounts", "utf8").matchAll(
    /^parbook-cluster (\S+-([0-9]+)-\S+)/gm,
  )) {
    if (existsSync(`/proc/${pid}`)) continue;
    quietly(() => execFileSync("umount", ["--lazy", path], { stdio: "ignore" }));
    quietly(() => rmSync(dirname(dirname(path)), { recursive: true, force: true }));
  }
}

function as(user: string | undefined): string[] {
  return user === undefined ? [] : ["setpriv", `--reuid=${user}`, `--regid=${user}`, "--clear-groups"];
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    // It has ended meanwhile.
    return "";
  }
}

function ip(...words: string[]): void {
  execFileSync("ip", words, { stdio: ["ignore", "ignore", "pipe"] });
}

function quietly(action: () => void): void {
  try {
    action();
  } catch {
    // It is gone already.
  }
}
