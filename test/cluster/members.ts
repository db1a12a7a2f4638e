/** What Patroni says of the members of a cluster (its REST API, GET /cluster). */
export type DatabaseName = "db1" | "db2" | "db3";

export interface Member {
  readonly name: DatabaseName;
  readonly role: string;
  readonly state: string;
  /** Each change of the primary begins another one. */
  readonly timeline?: number;
}

/** Empty unless all that answer agree on the roles: one that was cut off does not know the latest yet. */
export async function readMembers(addresses: readonly string[]): Promise<readonly Member[]> {
  const answers = await Promise.all(addresses.map(membersAccordingTo));
  const [first = [], ...others] = answers.filter((members) => members !== undefined);
  const roles = (members: readonly Member[]): string => members.map(({ name, role }) => `${name} ${role}`).join();
  return others.every((members) => roles(members) === roles(first)) ? first : [];
}

async function membersAccordingTo(address: string): Promise<readonly Member[] | undefined> {
  try {
    const response = await fetch(`http://${address}:8008/cluster`, { signal: AbortSignal.timeout(2_000) });
    return ((await response.json()) as { members: Member[] }).members;
  } catch {
    return undefined;
  }
}
