/** What befalls a cluster in the storm. Each blow leaves the cluster whole again. */
import { assert, must } from "../../src/std/assert.ts";
import { pause } from "../../src/std/pause.ts";
import type { Injection, Target } from "../reliability/faults.ts";
import { until } from "../support/until.ts";
import { type Cluster, DATABASES, ETCD, NODES, type NodeName, PATRONI_AND_POSTGRES } from "./cluster.ts";
import type { DatabaseName } from "./members.ts";

/** The lease of the primary is 20 s: who is gone for this long has lost it. */
const PAST_THE_LEASE_MS = 30_000;
/** On a machine that others keep busy. */
const TAKEN_OVER_WITHIN_S = 120;
const POSTMASTER = /bin\/postgres /;
const FULL_WITHIN_S = 60;

type Blow = (target: Target<Cluster>) => Promise<Injection>;

export const BLOWS = {
  /** Only the load. */
  none: async ({ more }) => {
    await more(300);
    return now();
  },

  /** `kill -9` of Patroni and PostgreSQL of the primary together; they are started again when writes are back. */
  "primary-killed": (target) => killPrimary(target, PATRONI_AND_POSTGRES),

  /** The primary's whole machine, with its etcd. */
  "machine-killed": (target) => killPrimary(target, /^/),

  /** Its postmaster alone. */
  "postmaster-killed": async ({ site: cluster, more }) => {
    const primary = await cluster.memberWithRole("leader");
    const injection = kill(cluster, primary, POSTMASTER);
    await more(20);
    await cluster.untilWhole();
    return injection;
  },

  /** The primary stands still until another one has its lease, and then goes on, believing that it still is the primary. */
  "primary-paused": async ({ site: cluster, more }) => {
    const primary = await cluster.memberWithRole("leader");
    cluster.machine(primary).signal("SIGSTOP", PATRONI_AND_POSTGRES);
    const injection = now();
    const successor = await untilTakenOver(cluster, primary);
    await more(20);
    cluster.machine(primary).signal("SIGCONT", PATRONI_AND_POSTGRES);
    await cluster.untilWhole();
    await expectPrimary(cluster, successor);
    return injection;
  },

  /** The synchronous standby: writes wait until another one has its place. */
  "standby-killed": async ({ site: cluster, more }) => {
    const standby = await cluster.memberWithRole("sync_standby");
    const injection = kill(cluster, standby, PATRONI_AND_POSTGRES);
    await more(20);
    cluster.startPatroni(standby);
    await cluster.untilWhole();
    return injection;
  },

  /** The same standby stands still: its connections stay, and nobody is told. */
  "standby-paused": async ({ site: cluster, more }) => {
    const standby = await cluster.memberWithRole("sync_standby");
    cluster.machine(standby).signal("SIGSTOP", PATRONI_AND_POSTGRES);
    const injection = now();
    await more(20);
    cluster.machine(standby).signal("SIGCONT", PATRONI_AND_POSTGRES);
    await cluster.untilWhole();
    return injection;
  },

  /** It and the primary do not reach each other any more; everybody else reaches both. */
  "standby-cut-off": async ({ site: cluster, more }) => {
    const [primary, standby] = [await cluster.memberWithRole("leader"), await cluster.memberWithRole("sync_standby")];
    cluster.network.cut(primary, standby);
    const injection = now();
    await more(20);
    cluster.network.join();
    await cluster.untilWhole();
    return injection;
  },

  /** As an operator does it, to the synchronous standby. */
  switchover: async ({ site: cluster, more }) => {
    const [primary, standby] = [await cluster.memberWithRole("leader"), await cluster.memberWithRole("sync_standby")];
    const injection = now();
    await cluster.patronictl(primary, "switchover", "parbook", "--master", primary, "--candidate", standby, "--force");
    await more(20);
    await cluster.untilWhole();
    return injection;
  },

  /** The primary is restarted, as for a setting that needs it. */
  restart: async ({ site: cluster, more }) => {
    const primary = await cluster.memberWithRole("leader");
    const injection = now();
    await cluster.patronictl(primary, "restart", "parbook", primary, "--force");
    await more(20);
    await cluster.untilWhole();
    return injection;
  },

  /** No lease can be renewed: the primary stops accepting writes, and goes on when etcd is back. */
  "etcd-away": async ({ site: cluster, more }) => {
    for (const name of DATABASES) cluster.machine(name).signal("SIGSTOP", ETCD);
    await pause(PAST_THE_LEASE_MS);
    for (const name of DATABASES) cluster.machine(name).signal("SIGCONT", ETCD);
    const injection = now();
    await more(20);
    await cluster.untilWhole();
    return injection;
  },

  /** Any two machines, whatever runs on them, in both directions or in one. */
  "pair-cut": async ({ site: cluster, random, more }) => {
    const names = [...cluster.network.machines.keys()];
    const [one] = names.splice(random(names.length), 1);
    const other = names[random(names.length)];
    assert(one !== undefined && other !== undefined, "there are two machines");
    const isOneWay = random(2) === 0;
    const roles = await describe(cluster, [one, other]);
    process.stdout.write(`cut: ${roles.join(isOneWay ? " does not reach " : " and ")}\n`);
    if (isOneWay) cluster.network.cutOneWay(one, other);
    else cluster.network.cut(one, other);
    const injection = now();
    await pause(PAST_THE_LEASE_MS);
    cluster.network.join();
    await more(20);
    await cluster.untilWhole();
    for (const node of NODES) await cluster.untilReady(node);
    return injection;
  },

  /** The primary's network is gone: it reaches nobody, and nobody it. */
  "primary-cut-off": (target) => cutPrimaryOff(target, [...target.site.network.machines.keys()]),

  /** The primary is cut off from the other databases only: those who write reach both sides. */
  "databases-cut": (target) => cutPrimaryOff(target, DATABASES),

  /** One node cannot reach the primary; the other one can. */
  "node-cut-off": async ({ site: cluster, random, more }) => {
    const primary = await cluster.memberWithRole("leader");
    const node = NODES[random(NODES.length)] as NodeName;
    cluster.network.cut(node, primary);
    const injection = now();
    await more(100);
    cluster.network.join();
    await cluster.untilReady(node);
    return injection;
  },

  "node-killed": async ({ site: cluster, random, more }) => {
    const node = NODES[random(NODES.length)] as NodeName;
    const injection = now();
    await cluster.stopNode(node, "SIGKILL");
    await more(100);
    cluster.startNode(node);
    await cluster.untilReady(node);
    return injection;
  },

  /** Both nodes, one after the other, as for an upgrade. */
  "rolling-restart": async ({ site: cluster, more }) => {
    const injection = now();
    for (const node of NODES) {
      await cluster.stopNode(node, "SIGTERM");
      cluster.startNode(node);
      await cluster.untilReady(node);
      await more(20);
    }
    return injection;
  },

  /** Commits that wait for the standby are interrupted, again and again: PostgreSQL commits them nevertheless. */
  "waits-interrupted": async ({ site: cluster, random, more }) => {
    const standby = await cluster.memberWithRole("sync_standby");
    cluster.machine(standby).signal("SIGSTOP", PATRONI_AND_POSTGRES);
    for (let times = 0; times < 5; times += 1) {
      await pause(200 + random(600));
      const how = random(2) === 0 ? "cancel" : "terminate";
      await cluster.database
        .rows(`select pg_${how}_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`)
        .catch(() => []);
    }
    cluster.machine(standby).signal("SIGCONT", PATRONI_AND_POSTGRES);
    const injection = now();
    await more(20);
    await cluster.untilWhole();
    return injection;
  },

  /** The primary's disk is full: PostgreSQL ends as soon as it needs a new segment of its log, and another one takes over. */
  "disk-full": async ({ site: cluster, more }) => {
    const primary = await cluster.memberWithRole("leader");
    await fillUntilEnded(cluster, primary);
    const injection = now();
    await untilTakenOver(cluster, primary);
    await more(20);
    cluster.disk(primary).makeRoom();
    await cluster.untilWhole();
    return injection;
  },
  /** The synchronous standby's disk is full: it cannot write the log that it is sent, and the other one gets its place. */
  "standby-disk-full": async ({ site: cluster, more }) => {
    const standby = await cluster.memberWithRole("sync_standby");
    cluster.disk(standby).fill();
    const injection = now();
    const isReplaced = async (): Promise<boolean> => {
      await nextSegment(cluster);
      return (await cluster.memberWithRole("sync_standby")) !== standby;
    };
    await until(`another one is the synchronous standby than ${standby}`, isReplaced, TAKEN_OVER_WITHIN_S);
    await more(20);
    cluster.disk(standby).makeRoom();
    await cluster.untilWhole();
    return injection;
  },
} as const satisfies Record<string, Blow>;

export type BlowName = keyof typeof BLOWS;

/** After each of these another server is the primary. */
export const FAILOVERS: readonly BlowName[] = [
  "primary-killed",
  "machine-killed",
  "postmaster-killed",
  "primary-paused",
  "primary-cut-off",
  "databases-cut",
  "disk-full",
  "switchover",
];

/** The primary is lost, another one takes over, and the lost one becomes its standby. */
async function killPrimary({ site: cluster, more }: Target<Cluster>, matching: RegExp): Promise<Injection> {
  const primary = await cluster.memberWithRole("leader");
  const injection = kill(cluster, primary, matching);
  await more(20);
  if (cluster.machine(primary).processes(ETCD).length === 0) cluster.startEtcd(primary);
  cluster.startPatroni(primary);
  await cluster.untilWhole();
  return injection;
}

async function cutPrimaryOff({ site: cluster, more }: Target<Cluster>, from: readonly string[]): Promise<Injection> {
  const primary = await cluster.memberWithRole("leader");
  for (const name of from) if (name !== primary) cluster.network.cut(primary, name);
  const injection = now();
  const successor = await untilTakenOver(cluster, primary);
  await more(20);
  cluster.network.join();
  await cluster.untilWhole();
  await expectPrimary(cluster, successor);
  return injection;
}

/** Waits until the two others agree that one of them is the primary, and answers which. */
async function untilTakenOver(cluster: Cluster, lost: DatabaseName): Promise<DatabaseName> {
  const others = DATABASES.filter((name) => name !== lost);
  let leader: DatabaseName | undefined;
  const hasChanged = async (): Promise<boolean> => {
    leader = (await cluster.members(others)).find(({ role }) => role === "leader")?.name;
    await pause(100);
    return leader !== undefined && leader !== lost;
  };
  await until(`another one takes over from ${lost}`, hasChanged, TAKEN_OVER_WITHIN_S);
  return must(leader, "it has been found");
}

/** PostgreSQL ends when it needs another segment of its log and finds no room for it. */
async function fillUntilEnded(cluster: Cluster, name: DatabaseName): Promise<void> {
  const [postmaster] = cluster.machine(name).processes(POSTMASTER);
  const hasEnded = async (): Promise<boolean> => {
    await nextSegment(cluster);
    return cluster.machine(name).processes(POSTMASTER)[0] !== postmaster;
  };
  cluster.disk(name).fill();
  await until(`PostgreSQL of ${name} has ended`, hasEnded, FULL_WITHIN_S);
}

/** The log goes on in a file that it needs room for. */
async function nextSegment(cluster: Cluster): Promise<void> {
  const segment = "select pg_logical_emit_message(true, 'storm', 'disk-full'), pg_switch_wal()";
  await cluster.database.rows(segment).catch(() => []);
}

/** Machines with what they are now: a database's name says nothing of that. */
async function describe(cluster: Cluster, names: readonly string[]): Promise<string[]> {
  const members = await cluster.members();
  return names.map((name) => members.find((member) => member.name === name)?.role ?? name);
}

/** A former primary that is back has not taken the lease from its successor, whose answers it does not have. */
async function expectPrimary(cluster: Cluster, successor: DatabaseName): Promise<void> {
  const primary = await cluster.memberWithRole("leader");
  assert(primary === successor, `${successor} has taken over and stays the primary, not ${primary}`);
}

function kill(cluster: Cluster, name: DatabaseName, matching: RegExp): Injection {
  const since = performance.now();
  cluster.machine(name).signal("SIGKILL", matching);
  return { since, over: performance.now() };
}

function now(): Injection {
  const over = performance.now();
  return { since: over, over };
}
