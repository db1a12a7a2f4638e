/** What the writes of a page of the audit trail were about: amounts, rates, states, and whose they are. */
import type { CustomerId } from "../../customers/customer-id.ts";
import { readNames } from "../../customers/operator-queries.ts";
import type { Write } from "../../ledger/list-writes.ts";
import { formatAmount } from "../../money/amount.ts";
import type { Queryable } from "../../postgres/database.ts";
import type { Transfer } from "../../transfers/transfer.ts";

type Texts = Readonly<Record<string, string>>;

export interface WriteDetails {
  /** What was written, as an operator calls it: a table, or a kind of configuration. */
  readonly what: string;
  readonly key: string;
  readonly details: Texts;
  readonly customerId: CustomerId | undefined;
  readonly customerName: string | undefined;
}

interface Found {
  readonly key: string;
  readonly customer_id: CustomerId | null;
  readonly details: Texts;
  readonly kind?: string;
  readonly subject?: string;
}

/** By table, for keys of two ids, `$1` and `$2`; where one id is the key, both are this one. */
const LOOK_UPS: Readonly<Record<string, string>> = {
  configuration_write: `
    select t.id::text as key, t.customer_id, t.details, t.kind, t.subject
      from unnest($1::uuid[], $2::uuid[]) as k(a, b) join configuration_write t on t.id = k.b`,
  conversion: `
    select k.a || '/' || k.b as key, t.customer_id, jsonb_build_object(
           'amount', trim_scale(t.amount)::text, 'source_asset', t.source_asset, 'target_asset', t.target_asset) as details
      from unnest($1::uuid[], $2::uuid[]) as k(a, b) join conversion t on t.profile_id = k.a and t.id = k.b`,
  external_transfer: `
    select k.a || '/' || k.b as key, t.customer_id, jsonb_build_object(
           'type', t.type, 'amount', trim_scale(t.amount)::text, 'asset', t.asset) as details
      from unnest($1::uuid[], $2::uuid[]) as k(a, b) join transfer t on t.customer_id = k.a and t.id = k.b`,
  legal_hold: `
    select k.a || '/' || k.b as key, t.customer_id, jsonb_build_object(
           'amount', trim_scale(t.amount)::text, 'asset', t.asset, 'reason', t.reason) as details
      from unnest($1::uuid[], $2::uuid[]) as k(a, b) join legal_hold t on t.profile_id = k.a and t.id = k.b`,
  orders: `
    select k.a || '/' || k.b as key, t.customer_id, jsonb_strip_nulls(jsonb_build_object(
           'market', t.market, 'side', t.side, 'type', t.type, 'base_amount', trim_scale(t.base_amount)::text,
           'quote_amount', trim_scale(t.quote_amount)::text, 'price', trim_scale(t.price)::text)) as details
      from unnest($1::uuid[], $2::uuid[]) as k(a, b) join orders t on t.profile_id = k.a and t.id = k.b`,
  profile: `
    select t.id::text as key, t.customer_id, jsonb_build_object('nickname', t.nickname) as details
      from unnest($1::uuid[], $2::uuid[]) as k(a, b) join profile t on t.id = k.b`,
};

/** In the order of the writes. */
export async function readDetails(database: Queryable, writes: readonly Write[]): Promise<WriteDetails[]> {
  const found = new Map<string, Found>();
  for (const [table, statement] of Object.entries(LOOK_UPS)) {
    const keys = [...new Set(writes.flatMap((write) => (write.table === table ? write.key : [])))];
    if (keys.length === 0) continue;
    const ids = keys.map((key) => key.split("/"));
    const rows = await database.rows<Found>(statement, [ids.map(([first]) => first), ids.map((parts) => parts.at(-1))]);
    for (const row of rows) found.set(`${table}/${row.key}`, row);
  }
  const all = writes.map((write) => ({ write, ...of(write, found.get(`${write.table}/${write.key}`)) }));
  const names = await readNames(database, [...new Set(all.flatMap(({ customerId }) => customerId ?? []))]);
  return all.map(({ customerId, ...more }) => ({
    ...more,
    customerId,
    customerName: customerId && names.get(customerId),
  }));
}

function of(write: Write, found: Found | undefined): Omit<WriteDetails, "customerName"> {
  const { table, key } = write;
  if (table === "transfer") {
    const { customerId, type, amount, asset } = write.record as Transfer;
    return { what: table, key, details: { type, amount: formatAmount(amount), asset }, customerId };
  }
  const status = write.values?.status;
  const details = { ...found?.details, ...(typeof status === "string" && { status }) };
  const customerId = found?.customer_id ?? undefined;
  return { what: found?.kind ?? table, key: found?.subject ?? key, details, customerId };
}
