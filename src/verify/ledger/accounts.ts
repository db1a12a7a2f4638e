/**
 * Accounts: the postings of each are numbered from 1 without gaps, each follows from the previous one, their times never
 * decrease, and the last one equals the account row.
 *
 * A page of account rows is read first, then their postings up to the rows' versions: these never change, even if more
 * is posted in the meantime. The database compares each posting with the one before it; only where one does not follow are
 * they read here, to say why.
 */

import { type Account, accountTable, PARTS, type Part, type Posting, postingTable } from "../../ledger/accounts.ts";
import { houseName, houseOwnerId, isHouseOwner, readHouseKinds, slotOfOwner } from "../../ledger/house-accounts.ts";
import { columnsOf, PAGE, type SqlRecord } from "../../ledger/tables.ts";
import { formatAmount, plus, ZERO } from "../../money/amount.ts";
import type { Database } from "../../postgres/database.ts";
import { formatInstant } from "../../std/clock.ts";
import type { Uuid } from "../../std/id.ts";
import type { Examination, Tally } from "../check.ts";

interface Position {
  readonly ownerId: string;
  readonly asset: string;
  readonly version: bigint;
}

/** Before and after all accounts, and after all postings of an account. */
const START: Position = { ownerId: "00000000-0000-0000-0000-000000000000", asset: "", version: 0n };
const END: Position = { ownerId: "ffffffff-ffff-ffff-ffff-ffffffffffff", asset: "~", version: 0n };
const LAST_VERSION = 2n ** 63n - 1n;

const ACCOUNTS = "accounts";

export const accountsExamination: Examination = {
  checks: [ACCOUNTS],
  reads: ["account", "posting"],
  run: async (database, tally) => {
    const kinds = new Map((await readHouseKinds(database)).map(({ kind, mayBeNegative }) => [kind, mayBeNegative]));
    let from = START;
    for (;;) {
      const accounts = await readAccounts(database, from);
      const last = accounts.at(-1);
      const to = last === undefined ? END : { ownerId: last.ownerId, asset: last.asset, version: LAST_VERSION };
      for (const account of accounts)
        for (const fault of faultsOfOwner(account, kinds)) tally(ACCOUNTS).broken(`account ${name(account)}`, fault);
      await walkPostings(database, accounts, from, to, tally(ACCOUNTS));
      if (last === undefined) return;
      from = to;
    }
  },
};

const name = ({ ownerId, asset }: Pick<Account, "ownerId" | "asset">): string => `${ownerId}/${asset}`;

/** An account, and the last deactivation of its profile, which one batch writes to both. */
type OwnedAccount = Account & { readonly deactivation: bigint };

async function readAccounts(database: Database, after: Position): Promise<OwnedAccount[]> {
  const rows = await database.rows<SqlRecord>(
    `select ${columnsOf(accountTable, "a.")}, coalesce(p.last_deactivation, 0) as deactivation
       from account a left join profile p on p.id = a.owner_id
      where (a.owner_id, a.asset) > ($1, $2) order by a.owner_id, a.asset limit $3`,
    [after.ownerId, after.asset, PAGE],
  );
  return rows.map((row) => ({ ...accountTable.read(row), deactivation: BigInt(row.deactivation as string) }));
}

/** Checks the postings of these accounts, which are all that exist between `from` and `to`. */
async function walkPostings(
  database: Database,
  accounts: readonly Account[],
  from: Position,
  to: Position,
  tally: Tally,
): Promise<void> {
  const histories = new Map(accounts.map((account) => [name(account), new History(account, tally)]));
  const unknown = new Map<string, Posting>();
  let position: Position | undefined = from;
  while (position !== undefined) {
    const page: PostingPage = await readPostings(database, position, to);
    tally.read(page.read);
    for (const posting of page.postings) {
      const history = histories.get(name(posting));
      if (history === undefined) unknown.set(name(posting), posting);
      else if (page.follow) history.reach(posting);
      else history.follow(posting);
    }
    const last: Posting | undefined = page.isLast ? undefined : page.postings.at(-1);
    // Postings beyond the row's version are skipped, so that a busy account cannot prolong the scan.
    position = last && (histories.get(name(last))?.isComplete === false ? last : { ...last, version: LAST_VERSION });
  }
  await returnToVersions(database, [...histories.values()]);
  for (const history of histories.values()) history.end();
  tally.examined(accounts.length);
  tally.read(accounts.length);
  await reportMissingAccounts(database, [...unknown.values()], tally);
}

interface PostingPage {
  /** Whether each posting follows from the one before it. */
  readonly follow: boolean;
  /** If they follow, only the last one of each account. */
  readonly postings: readonly Posting[];
  readonly read: number;
  readonly isLast: boolean;
}

async function readPostings(database: Database, after: Position, to: Position): Promise<PostingPage> {
  const compared = await comparePostings(database, after, to);
  if (compared.follow) return compared;
  const rows = await database.rows<SqlRecord>(
    `select ${columnsOf(postingTable)} from posting
      where (owner_id, asset, version) > ($1, $2, $3) and (owner_id, asset, version) <= ($4, $5, $6)
      order by owner_id, asset, version limit $7`,
    [after.ownerId, after.asset, after.version, to.ownerId, to.asset, to.version, PAGE],
  );
  return { follow: false, postings: rows.map(postingTable.read), read: rows.length, isLast: rows.length < PAGE };
}

/** SQL: whether a part of a posting follows from the one before it, of its account. */
const followsIn = (part: Part): string =>
  `${part} = lag(${part}, 1, 0::numeric) over account + case part when '${part}' then amount else 0 end`;

/** The page begins with the posting at `after`, which was compared before, so that the next one is compared with it. */
async function comparePostings(database: Database, after: Position, to: Position): Promise<PostingPage> {
  const rows = await database.rows<SqlRecord & { readonly follows: boolean; readonly read: number }>(
    `with page as materialized (
       select ${columnsOf(postingTable)} from posting
        where (owner_id, asset, version) >= ($1, $2, $3) and (owner_id, asset, version) <= ($4, $5, $6)
        order by owner_id, asset, version limit $7),
     compared as (
       select ${columnsOf(postingTable)}, lead(version) over account is null as is_last,
              ((owner_id, asset, version) = ($1, $2, $3)
                or (version = lag(version, 1, 0::bigint) over account + 1
                    and ${PARTS.map(followsIn).join(" and ")}
                    and at >= lag(at, 1, '-infinity'::timestamptz) over account)) is true as follows
         from page window account as (partition by owner_id, asset order by version))
     select ${columnsOf(postingTable)}, follows,
            (select count(*) from page where (owner_id, asset, version) <> ($1, $2, $3))::integer as read
       from compared where is_last or not follows order by owner_id, asset, version`,
    [after.ownerId, after.asset, after.version, to.ownerId, to.asset, to.version, PAGE + 1],
  );
  const read = rows[0]?.read ?? 0;
  return {
    follow: rows.every(({ follows }) => follows),
    postings: rows.map(postingTable.read),
    read,
    isLast: read < PAGE,
  };
}

/**
 * Postings may have been added since the rows were read: sets these histories back to the first posting that reaches the
 * version of the row.
 */
async function returnToVersions(database: Database, histories: readonly History[]): Promise<void> {
  const beyond = histories.filter(({ isBeyond }) => isBeyond);
  if (beyond.length === 0) return;
  const accounts = beyond.map(({ account }) => account);
  const rows = await database.rows<SqlRecord>(
    `select ${columnsOf(postingTable, "p.")}
       from unnest($1::uuid[], $2::text[], $3::bigint[]) as k(owner_id, asset, version)
      cross join lateral (
              select ${columnsOf(postingTable)} from posting
               where owner_id = k.owner_id and asset = k.asset and version >= k.version order by version limit 1) p`,
    [
      accounts.map(({ ownerId }) => ownerId),
      accounts.map(({ asset }) => asset),
      accounts.map(({ version }) => version),
    ],
  );
  const reached = new Map(rows.map(postingTable.read).map((posting) => [name(posting), posting]));
  for (const history of beyond) {
    const posting = reached.get(name(history.account));
    if (posting !== undefined) history.reach(posting);
  }
}

/** An account that was missing from the page may have been opened since. */
async function reportMissingAccounts(database: Database, postings: readonly Posting[], tally: Tally): Promise<void> {
  if (postings.length === 0) return;
  const missing = await database.rows<{ owner_id: Uuid; asset: string }>(
    `select k.owner_id, k.asset from unnest($1::uuid[], $2::text[]) as k(owner_id, asset)
      where not exists (select 1 from account a where a.owner_id = k.owner_id and a.asset = k.asset)`,
    [postings.map((posting) => posting.ownerId), postings.map((posting) => posting.asset)],
  );
  for (const row of missing) tally.broken(`account ${row.owner_id}/${row.asset}`, "is missing, but it has postings");
}

class History {
  readonly account: Account;
  readonly #tally: Tally;
  #last: Posting | undefined;

  constructor(account: Account, tally: Tally) {
    this.account = account;
    this.#tally = tally;
  }

  /** Whether all postings up to the row's version were seen. */
  get isComplete(): boolean {
    return (this.#last?.version ?? 0n) >= this.account.version;
  }

  /** Whether later ones were seen too. */
  get isBeyond(): boolean {
    return (this.#last?.version ?? 0n) > this.account.version;
  }

  follow(posting: Posting): void {
    // Posted after the row was read.
    if (posting.version > this.account.version && this.isComplete) return;
    for (const fault of faultsBetween(this.#last, posting))
      this.#tally.broken(`posting ${name(posting)}/${posting.version}`, fault);
    this.reach(posting);
  }

  /** Up to which all follow. */
  reach(posting: Posting): void {
    this.#last = posting;
  }

  end(): void {
    for (const fault of faultsOf(this.account, this.#last)) this.#tally.broken(`account ${name(this.account)}`, fault);
  }
}

function* faultsBetween(before: Posting | undefined, posting: Posting): Iterable<string> {
  const expected = (before?.version ?? 0n) + 1n;
  if (posting.version !== expected) return yield `follows a gap: ${expected} is missing`;
  for (const part of PARTS) {
    const [was, is] = [before?.[part] ?? ZERO, posting[part]];
    const moved = posting.part === part ? posting.amount : ZERO;
    if (is === plus(was, moved)) continue;
    yield `leaves ${part} at ${formatAmount(is)}, but it was ${formatAmount(was)} and is changed by ${formatAmount(moved)}`;
  }
  if (before !== undefined && posting.at < before.at) yield "is earlier than the posting before it";
}

function* faultsOf(account: Account, last: Posting | undefined): Iterable<string> {
  if (last === undefined) return yield "has no postings";
  if (last.version !== account.version)
    return yield `has version ${account.version}, but its last posting has ${last.version}`;
  for (const part of PARTS) {
    if (last[part] === account[part]) continue;
    yield `has ${formatAmount(account[part])} ${part}, but its last posting leaves ${formatAmount(last[part])}`;
  }
  if (last.at !== account.at)
    yield `has the time ${formatInstant(account.at)}, but its last posting ${formatInstant(last.at)}`;
}

/** An owner's id says whether it is a house account, and which: see `houseOwnerId`. */
function* faultsOfOwner(account: OwnedAccount, kinds: ReadonlyMap<string, boolean>): Iterable<string> {
  const { ownerId, house, coin, custodian, mayBeNegative, lastDeactivation, deactivation } = account;
  if (lastDeactivation !== deactivation)
    yield `says that its profile was deactivated at version ${lastDeactivation}, but that was ${deactivation}`;
  if (house === undefined) {
    if (isHouseOwner(ownerId)) yield "is marked as a profile, but its owner is a house account";
    if (coin !== undefined || custodian !== undefined || mayBeNegative !== undefined)
      yield "is of a profile, but names a coin, a custodian or a sign";
    return;
  }
  const named = houseName({ house, coin, custodian });
  if (ownerId !== houseOwnerId(named, slotOfOwner(ownerId))) yield `is marked as ${named}, but its owner is another`;
  const kindsMay = kinds.get(house);
  if (kindsMay === undefined) yield `is of the kind ${house}, which does not exist`;
  else if (kindsMay !== mayBeNegative)
    yield kindsMay ? "may not be negative, but its kind may" : "may be negative, but its kind may not";
}
