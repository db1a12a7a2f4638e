import type { Database } from "../../src/postgres/database.ts";
import type { Finding } from "../../src/verify/check.ts";
import { type VerifyOptions, verifyAll } from "../../src/verify/verify.ts";
import type { SmallBooks } from "./small-ledger.ts";

/** One way to change the ledger behind the lane's back, and what `verify` has to say about it. */
export interface Tampering {
  readonly title: string;
  /** SQL in which `:name` stands for the id of that name. */
  readonly sql: string;
  /** "check: record message", with names for ids. */
  readonly findings: readonly string[];
}

export const tamper = (owner: Database, { names }: SmallBooks, sql: string): Promise<unknown> =>
  owner.rows(withIds(sql, names));

/** The first finding of every check that found something, with names for ids. */
export async function findingsOf(
  database: Database,
  { names }: SmallBooks,
  options?: VerifyOptions,
): Promise<string[]> {
  const { checks, sound } = await verifyAll(database, options);
  const found = checks.flatMap(({ first }) => first ?? []);
  if (sound !== (found.length === 0))
    throw new Error(`verify calls the ledger sound: ${sound}, and found ${found.length}`);
  return found.map(({ check, record, message }) => withNames(`${check}: ${record} ${message}`, names));
}

/** Every finding, with names for ids. */
export async function allFindingsOf(database: Database, { names }: SmallBooks): Promise<string[]> {
  const found: string[] = [];
  const add = ({ check, record, message }: Finding) => found.push(withNames(`${check}: ${record} ${message}`, names));
  await verifyAll(database, { watcher: { found: add } });
  return found;
}

function withIds(sql: string, names: SmallBooks["names"]): string {
  const ids = new Map([...names].map(([id, name]) => [name, id]));
  return sql.replace(/:([a-z]+(?:\+1)?)/g, (_, name: string) => `'${ids.get(name)}'`);
}

function withNames(text: string, names: SmallBooks["names"]): string {
  return text
    .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9]{15,}/g, (id) => names.get(id) ?? id)
    .replace(/\b\d{4}-\d\d-\d\d(?:T[0-9:.]+Z)?/g, "today");
}
