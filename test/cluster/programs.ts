/** The programs of a cluster, as Debian packages them. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import { must } from "../../src/std/assert.ts";
import { whyNoMachines } from "./machines.ts";

/** With the packages that they come from. */
const PROGRAMS: Readonly<Record<string, string>> = {
  "/usr/bin/patroni": "patroni",
  "/usr/bin/etcd": "etcd-server",
  "/usr/sbin/haproxy": "haproxy",
  "/usr/sbin/nft": "nftables",
  "/usr/sbin/pgbouncer": "pgbouncer",
  "/usr/lib/postgresql/15/bin/postgres": "postgresql-15",
};

/** Why there can be no cluster, for `required`; undefined when there can. */
export function whyNoCluster(): string | undefined {
  const missing = Object.keys(PROGRAMS).filter((path) => !existsSync(path));
  if (missing.length > 0) {
    const packages = missing.map((path) => PROGRAMS[path]).join(" ");
    return `there is no ${missing.join(", ")}: apt-get install ${packages}`;
  }
  return userInfo().uid === 0 ? whyNoMachines() : "only root can make network namespaces";
}

/** The user of Debian's package. */
export function readServerUser(): User {
  const [uid, gid] = ["-u", "-g"].map((which) => Number(execFileSync("id", [which, "postgres"], { encoding: "utf8" })));
  return { uid: must(uid, "it has a number"), gid: must(gid, "it has a group") };
}

export interface User {
  readonly uid: number;
  readonly gid: number;
}
