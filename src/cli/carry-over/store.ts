/** What a database of 0.1 holds, in SQL on its tables. The sandbox's market maker is left out: 1.0 opens its own. */
import { MAKER } from "../../market-maker/market-quoters.ts";
import type { Queryable } from "../../postgres/database.ts";

/** How many of each there are. */
export interface Unfinished {
  /** Leases that have not ended: processes of 0.1 at work. */
  readonly running: number;
  readonly orders: number;
  readonly conversions: number;
  /** Accounts that differ from their last posting, or have held money when nothing is open. */
  readonly unsound: number;
}

export async function countUnfinished(database: Queryable): Promise<Unfinished> {
  const [row] = await database.rows<Unfinished>(
    `select (select count(*)::int from lease where expires_at > clock_timestamp()) as running,
            (select count(*)::int from orders where closed_at is null and customer_id <> $1) as orders,
            (select count(*)::int from conversion where status = 'CREATED' and customer_id <> $1) as conversions,
            (select count(*)::int
               from account a join profile p on p.id = a.owner_id
               left join posting l on l.owner_id = a.owner_id and l.asset = a.asset and l.seq = a.seq
              where p.customer_id <> $1
                and ((l.available, l.trading, l.pending) is distinct from (a.available, a.trading, a.pending)
                     or (a.trading + a.pending <> 0
                         and not exists (select from orders where profile_id = p.id and closed_at is null)
                         and not exists (select from conversion where profile_id = p.id and status = 'CREATED')))) as unsound`,
    [MAKER],
  );
  return row ?? { running: 0, orders: 0, conversions: 0, unsound: 0 };
}

export interface OldProfile {
  readonly customer_id: string;
  readonly name: string;
  /** Null, as the rest: the customer has none. */
  readonly id: string | null;
  readonly kind: "DEFAULT" | "NORMAL";
  readonly status: "ACTIVE" | "INACTIVE";
  readonly nickname: string;
  /** Decimal text by asset, cut to the decimals that a deposit may have. Null: nothing. */
  readonly balances: Readonly<Record<string, string>> | null;
}

/** Customers and their profiles, by creation. */
export function readProfiles(database: Queryable): Promise<OldProfile[]> {
  return database.rows<OldProfile>(
    `select c.id as customer_id, c.name, p.id, p.kind, p.status, p.nickname,
            (select json_object_agg(a.asset, trim_scale(trunc(a.available, k.precision))::text order by a.asset)
               from account a join asset k on k.code = a.asset
              where a.owner_id = p.id and trunc(a.available, k.precision) > 0) as balances
       from customer c left join profile p on p.customer_id = c.id
      where c.id <> $1
      order by c.created_at, c.id, p.created_at, p.id`,
    [MAKER],
  );
}

/** What a bootstrap file cannot say. Amounts are decimal text by asset. */
export interface LeftBehind {
  readonly clients: readonly string[];
  readonly fee_agreements: number;
  /** Below the decimals that a deposit may have. */
  readonly remainders: Readonly<Record<string, string>>;
  /** What the platform earned. */
  readonly fees: Readonly<Record<string, string>>;
}

export async function readLeftBehind(database: Queryable): Promise<LeftBehind> {
  const [row] = await database.rows<LeftBehind>(
    `select array(select client_id from client where disabled_at is null and customer_id <> $1 order by client_id) as clients,
            (select count(*)::int from fee_agreement) as fee_agreements,
            (select coalesce(json_object_agg(asset, trim_scale(amount)::text order by asset), '{}')
               from (select a.asset, sum(a.available - trunc(a.available, k.precision)) as amount
                       from account a join asset k on k.code = a.asset join profile p on p.id = a.owner_id
                      where p.customer_id <> $1 group by a.asset) r where amount > 0) as remainders,
            (select coalesce(json_object_agg(asset, trim_scale(amount)::text order by asset), '{}')
               from (select asset, sum(available) as amount from account where house = 'fees' group by asset) f
              where amount <> 0) as fees`,
    [MAKER],
  );
  return row ?? { clients: [], fee_agreements: 0, remainders: {}, fees: {} };
}
