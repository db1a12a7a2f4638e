/** Opening balances of a bootstrap file: those that it would make, while one that was made is no longer in it. */
import type { Queryable } from "../postgres/database.ts";
import type { CustomerId } from "./customer-id.ts";

/** A profile of a bootstrap file. */
export interface NamedProfile {
  readonly customer: CustomerId;
  readonly nickname: string;
  /** What it is to have if the customer has none of this nickname. */
  readonly id: string;
  /** The id does not follow from the nickname. */
  readonly isById: boolean;
}

/** A balance of a bootstrap file. */
export interface NamedBalance extends NamedProfile {
  readonly isCustomerById: boolean;
  readonly asset: string;
  /** Whether it is above zero. */
  readonly isCredited: boolean;
}

/** An opening balance that was made and that the file no longer has. */
export interface AbsentOpening {
  readonly customer: CustomerId;
  readonly profile: string;
  readonly asset: string;
}

/** An opening balance that would be made, of an entry without an id of its own. */
export interface SuspectOpening {
  readonly entry: NamedBalance;
  /** What does not exist yet, and may be what is absent, by another name. */
  readonly made: "customer" | "profile" | "balance";
  /** One of the same customer, if there is one. */
  readonly absent: AbsentOpening;
}

/**
 * Who corrects an asset or a name in the file, or moves a balance to another entry, sees one balance in it, but both would
 * be made. A new profile or customer with an id of its own is another one for sure.
 */
export async function findSuspectOpenings(
  database: Queryable,
  entries: readonly NamedBalance[],
): Promise<SuspectOpening[]> {
  if (entries.length === 0) return [];
  // An existing profile is found by its id, whatever it is called by now, and else by its nickname.
  const openings = await database.rows<{
    ref: string;
    made: SuspectOpening["made"];
    is_by_id: boolean;
    was_made: boolean;
  }>(
    `select found.ref, found.made,
            case found.made when 'customer' then is_customer_by_id when 'profile' then is_profile_by_id else false end as is_by_id,
            exists (select from claim where (customer_id, kind, ref_id) = (found.customer_id, 'opening', found.ref)) as was_made
       from (select b.place, b.customer_id, b.is_customer_by_id, b.is_profile_by_id,
                    coalesce(own.id, called.id, b.profile_id) || '/' || b.asset as ref,
                    case when c.id is null then 'customer'
                         when coalesce(own.id, called.id) is null then 'profile' else 'balance' end as made
               from unnest($1::uuid[], $2::boolean[], $3::text[], $4::uuid[], $5::boolean[], $6::text[]) with ordinality
                      as b (customer_id, is_customer_by_id, nickname, profile_id, is_profile_by_id, asset, place)
                    left join customer c on c.id = b.customer_id
                    left join profile own on (own.customer_id, own.id) = (b.customer_id, b.profile_id)
                    left join claim called on (called.customer_id, called.kind, called.ref_id) = (b.customer_id, 'nickname', b.nickname)
            ) as found
      order by found.place`,
    [
      ...[entries.map(({ customer }) => customer), entries.map(({ isCustomerById }) => isCustomerById)],
      ...[entries.map(({ nickname }) => nickname), entries.map(({ id }) => id)],
      ...[entries.map(({ isById }) => isById), entries.map(({ asset }) => asset)],
    ],
  );
  const toMake = openings.flatMap(({ made, is_by_id, was_made }, i) => {
    const entry = entries[i] as NamedBalance;
    return was_made || is_by_id || !entry.isCredited ? [] : [{ entry, made }];
  });
  if (toMake.length === 0) return [];
  const customers = [...new Set(toMake.map(({ entry }) => entry.customer))];
  const named = openings.map(({ ref }) => ref);
  const absent = await findAbsentOpenings(database, named, customers);
  return toMake.flatMap((opening) => {
    const found = absent.find(({ customer }) => customer === opening.entry.customer) ?? absent[0];
    return found === undefined ? [] : [{ ...opening, absent: found }];
  });
}

/** One of each of these customers, and one of another. */
async function findAbsentOpenings(
  database: Queryable,
  named: readonly string[],
  customers: readonly CustomerId[],
): Promise<AbsentOpening[]> {
  // By customer, because claims have no index of their kind alone.
  return database.rows<{ customer: CustomerId; profile: string; asset: string }>(
    `select c.id as customer, split_part(opened.ref_id, '/', 1) as profile, split_part(opened.ref_id, '/', 2) as asset
       from customer c
            cross join lateral (
                  select ref_id from claim
                   where (customer_id, kind) = (c.id, 'opening') and ref_id <> all($1::text[])
                   order by ref_id limit 1) as opened
      order by c.id = any($2::uuid[]) desc, c.created_at, c.id
      limit $3`,
    [named, customers, customers.length + 1],
  );
}
