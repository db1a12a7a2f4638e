/**
 * The statements that the simulated PostgreSQL knows, each by its whole text: a statement that changed in `src/` is an error
 * until its meaning changes here too. `conformance.test.ts` compares both.
 */
import { conversionTable } from "../../../src/conversions/conversion.ts";
import { legalHoldTable } from "../../../src/customers/legal-holds/store.ts";
import { profileTable } from "../../../src/customers/profiles/profiles.ts";
import { columnsOf } from "../../../src/ledger/tables.ts";
import { TAKE_TURN } from "../../../src/ledger/writer/customer-turns.ts";
import { LOCK_TIMEOUT } from "../../../src/ledger/writer/lane-connection.ts";
import { LOCKING_SETTINGS } from "../../../src/ledger/writer/lock-patience.ts";
import { LOOKING_SETTINGS } from "../../../src/ledger/writer/unheld-rows.ts";
import { COMMIT_MARKER, SERIALIZED_COMMIT_MARKER } from "../../../src/postgres/durability.ts";
import { HISTORY } from "../../../src/postgres/history.ts";
import { must } from "../../../src/std/assert.ts";
import { externalTransferTable } from "../../../src/transfers/external-transfer.ts";
import { transferTable } from "../../../src/transfers/transfer.ts";
import { eventStatements } from "./event-statements.ts";
import { exchangeStatements } from "./exchange-statements.ts";
import { batchStatement, insertRow, keysStatement } from "./row-statements.ts";
import type { Run, Statement } from "./statement.ts";
import { pick, type Row } from "./tables.ts";

const plain = (text: string): string => text.replace(/\s+/g, " ").trim();

const CONVERSION = columnsOf(conversionTable);
const LEGAL_HOLD = columnsOf(legalHoldTable);
const PROFILE = columnsOf(profileTable);
const TRANSFER = columnsOf(transferTable);

const EXTERNAL_TRANSFER = externalTransferTable.columns.map(({ name }) => name);
const FOUND_BY_REF_IDS = `select ${columnsOf(transferTable, "t.")},
       ${EXTERNAL_TRANSFER.map((name) => `e.${name} as steps_${name}`).join(", ")}, ${COMMIT_MARKER} as committed_behind,
       ${HISTORY} as history
  from transfer t left join external_transfer e on t.has_steps and e.customer_id = t.customer_id and e.id = t.id
 where t.customer_id = $1 and t.ref_id = any($2::text[])`;

/** Of a time as PostgreSQL shows it. */
const msOf = (shown: string): number => Number.parseInt(shown, 10) * (shown.endsWith("ms") ? 1 : 1_000);

const KNOWN: Readonly<Record<string, Statement>> = {
  [LOCKING_SETTINGS]: (run, [lockTimeout]) => {
    run.boundLockWaits(msOf(String(lockTimeout)), "of the transaction");
    return [{ set_config: "1s" }];
  },
  [LOCK_TIMEOUT]: (run, [lockTimeout]) => {
    run.boundLockWaits(msOf(String(lockTimeout)), "of the session");
    return [{ set_config: String(lockTimeout) }];
  },
  [TAKE_TURN]: async (run, [customer]) => {
    await run.lock("turn", String(customer), "exclusive");
    return [{}];
  },
  [LOOKING_SETTINGS]: () => [{ set_config: "off" }],
  "select extract(epoch from clock_timestamp()) * 1000 as now": ({ now }) => [{ now: String(now) }],

  // postgres/leases.ts
  [`insert into lease (name, holder, fence, expires_at)
    select $1, $2, 1, clock_timestamp() + $3 * interval '1 millisecond'
      where not exists (
        select from lease
          where name = $1 and holder <> $2
            and expires_at between clock_timestamp() and clock_timestamp() + $4 * interval '1 millisecond')
    on conflict (name) do update
      set holder = excluded.holder, fence = lease.fence + 1, expires_at = excluded.expires_at
    where lease.expires_at < clock_timestamp() or lease.holder = excluded.holder
      or lease.expires_at > clock_timestamp() + $4 * interval '1 millisecond'
    returning fence`]: async (run, [name, holder, leaseMs, longestMs]) => {
    await run.lock("lease", String(name), "exclusive");
    const lease = run.tables.get("lease", String(name));
    const lastsMs = Number(lease?.expires_at) - run.now;
    if (lastsMs >= 0 && lastsMs <= Number(longestMs) && lease?.holder !== holder) return [];
    const fence = String(BigInt(String(lease?.fence ?? 0)) + 1n);
    run.write("lease", { name, holder, fence, expires_at: run.now + Number(leaseMs) });
    return [{ fence }];
  },
  [`update lease set expires_at = clock_timestamp() + $3 * interval '1 millisecond'
     where name = $1 and fence = $2 and holder = $4
       and set_config('synchronous_commit', 'local', true) is not null returning 1`]: async (
    run,
    [name, fence, leaseMs, holder],
  ) => changeLease(run, { name, fence, holder }, (lease) => ({ ...lease, expires_at: run.now + Number(leaseMs) })),
  "update lease set expires_at = clock_timestamp(), fence = fence + 1 where name = $1 and fence = $2 and holder = $3":
    async (run, [name, fence, holder]) => {
      const next = (lease: Row) => ({ ...lease, expires_at: run.now, fence: String(BigInt(String(lease.fence)) + 1n) });
      await changeLease(run, { name, fence, holder }, next);
      return [];
    },

  // ledger/writer/slot-chain.ts
  "select n, hash from batch where slot = $1 order by n desc limit 1": ({ tables }, [slot]) => {
    const batches = tables.rows("batch").filter((row) => row.slot === slot);
    const [last] = batches.sort((a, b) => Number(b.n) - Number(a.n));
    return last === undefined ? [] : [pick(last, "n, hash")];
  },
  [`insert into batch (slot, n, hash, at, void, rows_found, rows_expected, claims_made, claims_expected, predecessor, in_time)
    select $1, $2::bigint, $3, date_trunc('milliseconds', clock_timestamp()), true, 0, 0, 0, 0,
           (select count(*) from batch where slot = $1 and n = $2::bigint - 1 and hash = $4), true
    on conflict do nothing returning 1`]: async (run, [slot, n, hash, previous]) => {
    const before = run.tables.get("batch", `${slot}/${Number(n) - 1}`);
    const predecessor = before !== undefined && (before.hash as Buffer).equals(previous as Buffer) ? 1 : 0;
    const counts = { rows_found: 0, rows_expected: 0, claims_made: 0, claims_expected: 0, predecessor, in_time: true };
    const row = {
      slot,
      n: String(n),
      hash,
      at: Math.floor(run.now),
      void: true,
      ...counts,
      not_ahead: null,
      changes: null,
      callers: null,
    };
    return (await insertRow(run, "batch", row, true)) ? [{ "?column?": 1 }] : [];
  },
  [`select hash, ${SERIALIZED_COMMIT_MARKER} as committed_behind from batch where slot = $1 and n = $2`]: async (
    run,
    [slot, n],
  ) => {
    const row = run.tables.get("batch", `${slot}/${n}`);
    return behind(run, row === undefined ? [] : [pick(row, "hash")]);
  },

  // ledger/writer/reading/ref-id-lookup.ts: what is durable, and what is seen
  ...refIdLookups(SERIALIZED_COMMIT_MARKER, behind),
  ...refIdLookups("null", async (_, found) => found.map((row) => ({ ...row, committed_behind: null }))),

  // customers/profiles/store.ts
  [`select ${PROFILE} from profile where customer_id = $1 and kind = 'DEFAULT'`]: ({ tables }, [customer]) =>
    tables
      .rows("profile")
      .filter((row) => row.customer_id === customer && row.kind === "DEFAULT")
      .map((row) => pick(row, PROFILE)),

  // transfers/store.ts
  [`select ${TRANSFER} from transfer where customer_id = $1 and id = $2`]: ({ tables }, [customer, id]) => {
    const row = tables.get("transfer", `${customer}/${id}`);
    return row === undefined ? [] : [pick(row, TRANSFER)];
  },

  [FOUND_BY_REF_IDS]: async (run, [customer, refIds]) => {
    const found = (refIds as string[]).flatMap((ref_id) => {
      const row = run.tables.find("transfer", "transfer_ref_id_already_used", { customer_id: customer, ref_id });
      return row === undefined ? [] : [row];
    });
    if (found.length > 0) await run.writeMessage();
    return found.map((row) => {
      const steps =
        row.has_steps === true ? run.tables.get("external_transfer", `${row.customer_id}/${row.id}`) : undefined;
      const columns = EXTERNAL_TRANSFER.map((name) => [`steps_${name}`, steps?.[name] ?? null]);
      return { ...pick(row, TRANSFER), ...Object.fromEntries(columns), committed_behind: true, history: "simulated" };
    });
  },

  // legal-holds/store.ts
  [`select ${LEGAL_HOLD} from legal_hold where profile_id = $1 and id = $2`]: ({ tables }, [profile, id]) => {
    const row = tables.get("legal_hold", `${profile}/${id}`);
    return row === undefined ? [] : [pick(row, LEGAL_HOLD)];
  },

  // conversions/store.ts
  [`select ${CONVERSION} from conversion where customer_id = $1 and id = $2`]: ({ tables }, [customer, id]) =>
    tables
      .rows("conversion")
      .filter((row) => row.customer_id === customer && row.id === id)
      .map((row) => pick(row, CONVERSION)),
  [`select ${CONVERSION} from conversion
     where status = 'CREATED' and (created_at <= $1 or created_at > $2) order by created_at limit $3`]: (
    { tables },
    [before, after, limit],
  ) =>
    tables
      .rows("conversion")
      .filter((row) => row.status === "CREATED")
      .filter(({ created_at: at }) => Number(at) <= Number(before) || Number(at) > Number(after))
      .sort((a, b) => Number(a.created_at) - Number(b.created_at))
      .slice(0, Number(limit))
      .map((row) => pick(row, CONVERSION)),
};

type Answer = (run: Run, found: readonly Row[]) => Promise<Row[]>;

/** Among claims of orders, among others, and in the indexes of transfers. */
function refIdLookups(marker: string, answer: Answer): Readonly<Record<string, Statement>> {
  const holdersOf = (closedAt: string): string =>
    `select c.customer_id, c.kind, c.ref_id, c.id, ${closedAt} as closed_at, ${marker} as committed_behind
      from claim c join unnest($1::uuid[], $2::claim_kind[], $3::text[]) as k(customer_id, kind, ref_id)
        on c.customer_id = k.customer_id and c.kind = k.kind and c.ref_id = k.ref_id`;
  const heldInIndex = ([arrays, columns]: readonly [string, string], same: string): string =>
    `select k.place, t.id, ${marker} as committed_behind
       from transfer t join unnest(${arrays}) with ordinality as k(${columns}, place)
         on ${same}`;
  return {
    [holdersOf("coalesce(null)")]: (run, claims) =>
      answer(
        run,
        findHolders(run, claims, () => null),
      ),
    [holdersOf(
      "coalesce((select r.closed_at from orders r where r.customer_id = c.customer_id and r.id = c.id), null)",
    )]: (run, claims) =>
      answer(
        run,
        findHolders(run, claims, ({ customer_id, id }) => {
          const order = run.tables.rows("orders").find((row) => row.customer_id === customer_id && row.id === id);
          return order?.closed_at ?? null;
        }),
      ),
    [heldInIndex(
      ["$1::uuid[], $2::text[]", "customer_id, ref_id"],
      "t.customer_id = k.customer_id and t.ref_id = k.ref_id",
    )]: (run, values) =>
      answer(run, findInIndex(run, "transfer_ref_id_already_used", ["customer_id", "ref_id"], values)),
    [heldInIndex(
      ["$1::text[], $2::text[]", "digits, crypto_tx_index"],
      "regexp_replace(t.crypto_tx_hash, '^0x', '') = k.digits and t.crypto_tx_index = k.crypto_tx_index and t.from_profile_id is null",
    )]: (run, values) =>
      answer(run, findInIndex(run, "chain_transaction_already_deposited", ["digits", "crypto_tx_index"], values)),
  };
}

function findHolders(run: Run, [customers, kinds, refs]: readonly unknown[], closedAt: (claim: Row) => unknown): Row[] {
  return (customers as string[]).flatMap((customer, i) => {
    const row = run.tables.get("claim", `${customer}/${(kinds as string[])[i]}/${(refs as string[])[i]}`);
    return row === undefined ? [] : [{ ...pick(row, "customer_id, kind, ref_id, id"), closed_at: closedAt(row) }];
  });
}

function findInIndex(run: Run, constraint: string, columns: readonly string[], values: readonly unknown[]): Row[] {
  return (values[0] as unknown[]).flatMap((_, i) => {
    const wanted = Object.fromEntries(columns.map((column, place) => [column, (values[place] as unknown[])[i]]));
    const row = run.tables.find("transfer", constraint, wanted);
    return row === undefined ? [] : [{ place: String(i + 1), id: row.id }];
  });
}

/** The result of a lookup, with `SERIALIZED_COMMIT_MARKER`. */
async function behind(run: Run, found: readonly Row[]): Promise<Row[]> {
  if (found.length > 0) await run.writeMessage("alone");
  return found.map((row) => ({ ...row, committed_behind: true }));
}

async function changeLease(
  run: Run,
  { name, fence, holder }: Readonly<Record<"name" | "fence" | "holder", unknown>>,
  next: (lease: Row) => Row,
): Promise<{ "?column?": number }[]> {
  const key = String(name);
  const isHeld = (lease: Row | undefined): lease is Row => lease?.fence === String(fence) && lease.holder === holder;
  if (!isHeld(run.tables.get("lease", key))) return [];
  await run.lock("lease", key, "exclusive");
  const lease = run.tables.get("lease", key);
  if (!isHeld(lease)) return [];
  run.write("lease", next(lease));
  return [{ "?column?": 1 }];
}

/** As texts of statements, and those that follow from descriptions of tables as they were met. */
const meanings = new Map<string, Statement>(
  Object.entries({ ...KNOWN, ...exchangeStatements, ...eventStatements }).map(([text, statement]) => [
    plain(text),
    statement,
  ]),
);
/** Texts as they are sent have the same line breaks each time. */
const met = new Map<string, Statement>();

export function knownStatement(text: string): Statement {
  const known = met.get(text);
  if (known !== undefined) return known;
  const words = plain(text);
  const statement = meanings.get(words) ?? batchStatement(words) ?? keysStatement(words);
  met.set(text, must(statement, `a statement that the simulated database knows, but here is: ${words}`));
  return knownStatement(text);
}
