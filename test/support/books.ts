/**
 * Proves that the ledger balances, in plain SQL that shares nothing with the code under test. Every test that moves money
 * ends with it.
 */
import { expect } from "vitest";
import type { Queryable } from "../../src/postgres/database.ts";

/** Fails with the first broken record of every rule that is broken. One statement, so it may be asked at any time. */
export async function expectBooksBalance(database: Queryable): Promise<void> {
  const parts = Object.entries(RULES).map(
    ([rule, query]) => `(select '${rule}' as rule, b.* from (${query}) as b(broken) limit 1)`,
  );
  const broken = await database.rows<{ rule: string; broken: string }>(parts.join("\nunion all\n"));
  expect(
    broken.map(({ rule, broken }) => `${rule}: ${broken}`),
    "the ledger balances",
  ).toEqual([]);
}

const ACCOUNT = "concat_ws(' ', coalesce(a.house, 'profile'), a.owner_id, a.asset)";

/** What profiles own of each asset, all three parts. */
const OWNED = `select asset, sum(available + trading + pending) as amount from account where house is null group by asset`;

const houseSum = (house: string): string =>
  `select asset, sum(available) as amount from account where house = '${house}' group by asset`;

const OPEN_HOLDS = `
  select o.profile_id as owner_id, case o.side when 'BUY' then m.quote else m.base end::text as asset, sum(o.held) as amount
    from orders o join market m on m.code = o.market
   where o.closed_at is null group by 1, 2`;

const CREATED_CONVERSIONS = `
  select profile_id as owner_id, source_asset::text as asset, sum(amount) as amount
    from conversion where status = 'CREATED' group by 1, 2`;

const OPEN_WITHDRAWALS = `
  select t.from_profile_id as owner_id, t.asset::text as asset, sum(t.amount) as amount
    from transfer t join external_transfer e on e.customer_id = t.customer_id and e.id = t.id
   where t.from_profile_id is not null and e.status not in ('completed', 'failed', 'cancelled') group by 1, 2`;

const LEGAL_HOLDS = `
  select profile_id as owner_id, asset::text as asset, sum(amount) as amount
    from legal_hold where lifted_by is null group by 1, 2`;

const PENDING = `
  select owner_id, asset, sum(amount) as amount
    from (${[CREATED_CONVERSIONS, OPEN_WITHDRAWALS, LEGAL_HOLDS].join(" union all ")}) h group by 1, 2`;

/** Compares one part of all profiles' accounts with what is to be found in it. */
const partEquals = (part: string, expected: string): string => `
  select format('profile %s %s has %s, its records say %s', owner_id, asset, coalesce(a.${part}, 0), coalesce(e.amount, 0))
    from (select owner_id, asset::text as asset, ${part} from account where house is null) a
    full join (${expected}) e using (owner_id, asset)
   where coalesce(a.${part}, 0) <> coalesce(e.amount, 0) order by owner_id`;

/** Each query gives one text per broken record. */
const RULES: Readonly<Record<string, string>> = {
  "a journal sums to zero per asset": `
    select format('journal %s %s sums to %s', journal_id, asset, sum(amount))
      from posting group by journal_id, asset having sum(amount) <> 0 order by journal_id`,
  "all postings sum to zero per asset": `
    select format('%s sums to %s', asset, sum(amount)) from posting group by asset having sum(amount) <> 0`,
  "an account is what its last posting left behind": `
    select format('%s is %s/%s/%s at %s, its posting %s left %s/%s/%s at %s', ${ACCOUNT},
                  a.available, a.trading, a.pending, a.at, a.version, p.available, p.trading, p.pending, p.at)
      from account a left join posting p on (p.owner_id, p.asset, p.version) = (a.owner_id, a.asset, a.version)
     where (p.available, p.trading, p.pending, p.at) is distinct from (a.available, a.trading, a.pending, a.at)
     order by a.owner_id`,
  "an account part is the sum of its postings": `
    select format('%s is %s/%s/%s, its postings sum to %s/%s/%s', ${ACCOUNT},
                  a.available, a.trading, a.pending, s.available, s.trading, s.pending)
      from account a left join (
        select owner_id, asset, coalesce(sum(amount) filter (where part = 'available'), 0) as available,
               coalesce(sum(amount) filter (where part = 'trading'), 0) as trading,
               coalesce(sum(amount) filter (where part = 'pending'), 0) as pending
          from posting group by owner_id, asset) s on (s.owner_id, s.asset) = (a.owner_id, a.asset)
     where (s.available, s.trading, s.pending) is distinct from (a.available, a.trading, a.pending)
     order by a.owner_id`,
  "a posting leaves what the one before it left, and its own amount": `
    select format('posting %s %s %s', owner_id, asset, version)
      from (select p.*, lag(available, 1, 0::numeric) over w as available_before,
                   lag(trading, 1, 0::numeric) over w as trading_before,
                   lag(pending, 1, 0::numeric) over w as pending_before
              from posting p window w as (partition by owner_id, asset order by version)) p
     where available <> available_before + case part when 'available' then amount else 0 end
        or trading <> trading_before + case part when 'trading' then amount else 0 end
        or pending <> pending_before + case part when 'pending' then amount else 0 end
     order by owner_id, asset, version`,
  "postings are numbered from 1 without gaps up to the account": `
    select format('%s has the number %s and %s postings from %s to %s', ${ACCOUNT}, a.version, p.count, p.first, p.last)
      from account a
      full join (select owner_id, asset, count(*) as count, min(version) as first, max(version) as last
                   from posting group by owner_id, asset) p on (p.owner_id, p.asset) = (a.owner_id, a.asset)
     where (p.count, p.first, p.last) is distinct from (a.version, 1::bigint, a.version) order by a.owner_id`,
  "the postings of an account are in the order of their times": `
    select format('posting %s %s %s is earlier than the one before it', owner_id, asset, version)
      from (select owner_id, asset, version, at, lag(at) over (partition by owner_id, asset order by version) as before
              from posting) p
     where at < before order by owner_id, asset, version`,
  "nothing is below zero but what the house owes": `
    select format('%s is %s/%s/%s', ${ACCOUNT}, a.available, a.trading, a.pending)
      from account a
     where trading < 0 or pending < 0
        or (available < 0 and (house is null or house not in ('world', 'reserve', 'issuance'))) order by a.owner_id`,
  "a house account says of itself what its kind says": `
    select format('%s', ${ACCOUNT}) from account a left join house_kind k on k.kind = a.house
     where a.may_be_negative is distinct from k.may_be_negative
        or coalesce(a.house = 'reserve', false) <> all (array[a.coin is not null, a.custodian is not null])
     order by a.owner_id`,
  "reserve and fees are not below zero over all slots": `
    select format('%s %s is %s', house, asset, sum(available))
      from account where house in ('reserve', 'fees') group by house, coin, custodian, asset having sum(available) < 0`,
  "the world holds no stablecoins": `
    select format('%s', ${ACCOUNT}) from account a join asset s on s.code = a.asset
     where a.house = 'world' and s.kind = 'stablecoin'`,
  "what is issued of a stablecoin is what is owned": `
    select format('%s: issued %s, owned %s', s.code, coalesce(-i.amount, 0), coalesce(o.amount, 0))
      from asset s left join (${houseSum("issuance")}) i on i.asset = s.code
      left join (${OWNED} ) o on o.asset = s.code
     where s.kind = 'stablecoin' and coalesce(-i.amount, 0) <> coalesce(o.amount, 0) order by s.code`,
  "the reserve of a stablecoin is in USD, and what is owned of the coin": `
    select format('%s: reserve %s, owned %s', coin, r.amount, o.amount)
      from (select coin, sum(available) as amount from account where house = 'reserve' and asset = 'USD' group by coin) r
      full join (select o.asset as coin, o.amount from (${OWNED}) o join asset s on s.code = o.asset where s.kind = 'stablecoin') o
                using (coin)
     where coalesce(r.amount, 0) <> coalesce(o.amount, 0)
     union all select format('%s', ${ACCOUNT}) from account a where house = 'reserve' and asset <> 'USD'`,
  "every journal changes the reserve of a coin as it does its supply": `
    select format('journal %s: %s', journal_id, coin)
      from (select p.journal_id, case a.house when 'reserve' then a.coin else a.asset end as coin, p.amount
              from posting p join account a using (owner_id, asset) where a.house in ('reserve', 'issuance')) j
     group by journal_id, coin having sum(amount) <> 0`,
  "trading is what open orders hold": partEquals("trading", OPEN_HOLDS),
  "pending is what CREATED conversions, open withdrawals and legal holds hold": partEquals("pending", PENDING),
  "a transfer with steps has its row of them, and no other has one": `
    select format('transfer %s', coalesce(t.id, e.id))
      from (select * from transfer where has_steps) t full join external_transfer e using (customer_id, id)
     where t.id is null or e.id is null`,
  "a deposit or withdrawal moved money across the border if it is complete, and only then": `
    select format('transfer %s: %s, but %s moved', t.id, coalesce(e.status::text, 'complete'), coalesce(m.amount, 0))
      from transfer t left join external_transfer e using (customer_id, id)
      left join (
        select overlay(p.journal_id::text placing to_hex(('x' || right(p.journal_id::text, 1))::bit(4)::int & 14) from 36)::uuid as id,
               sum(p.amount) as amount
          from posting p join account a using (owner_id, asset)
         where a.house is null and p.cause in ('deposit', 'withdrawal') group by 1) m on m.id = t.id
     where (t.from_profile_id is null or t.to_profile_id is null)
       and coalesce(m.amount, 0) <> case when e.status is null or e.status = 'completed'
           then case when t.from_profile_id is null then t.amount else -t.amount end else 0 end`,
  "batches are numbered from 0 without gaps": `
    select format('slot %s has %s batches from %s to %s', slot, count(*), min(n), max(n))
      from batch group by slot having min(n) <> 0 or max(n) <> count(*) - 1 order by slot`,
  "every batch has a hash of its own": `
    select format('batch %s/%s', max(slot), max(n))
      from batch group by hash having count(*) > 1 or length(hash) <> 32`,
  "a posting belongs to a batch that is not void, and is of its time or, of the house, later": `
    select format('posting %s %s %s of batch %s/%s', p.owner_id, p.asset, p.version, p.slot, p.batch)
      from posting p left join batch b on (b.slot, b.n) = (p.slot, p.batch)
      left join account a on (a.owner_id, a.asset) = (p.owner_id, p.asset)
     where b.void is distinct from false or b.at > p.at or (a.house is null and b.at <> p.at) order by p.owner_id`,
};
