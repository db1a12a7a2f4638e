-- Fees by tiers: what a customer pays and is paid on a market depends on what he traded in 30 days, or on what was
-- agreed with him (docs/decisions/0010-fees-by-volume.md).
--
-- Stop the version before this one first: it reads the rates from the columns of `market` that end here, and its engines
-- would not count what they match. The one pair of rates of each market becomes its first tier.

create domain rate as numeric check (value >= 0 and value < 1 and scale(value) <= 4);

-- One row per market, which says where rebates end and commissions begin: no maker rebate of the market is above the
-- ceiling, and no taker rate below it. Every row with rates repeats the ceiling, holds itself against it, and is tied to
-- it by a foreign key. So the lowest taker rate is at least the highest rebate, whoever writes what at the same time.
create table fee_schedule (
  market code primary key references market,
  rebate_ceiling rate not null,
  -- A schedule has a tier from here on.
  begins_at amount not null default 0 check (begins_at = 0),
  unique (market, rebate_ceiling)
);

create table fee_tier (
  market code not null,
  -- In the market's quote asset: the tier is for who has traded so much in 30 days, or more.
  minimum_gross amount not null check (minimum_gross >= 0),
  taker_rate rate not null,
  maker_rebate rate not null,
  rebate_ceiling rate not null,
  primary key (market, minimum_gross),
  foreign key (market, rebate_ceiling) references fee_schedule (market, rebate_ceiling) on update cascade,
  constraint rebate_within_commission check (maker_rebate <= rebate_ceiling and rebate_ceiling <= taker_rate)
);
alter table fee_schedule add constraint tier_from_zero foreign key (market, begins_at)
  references fee_tier (market, minimum_gross) deferrable initially deferred;

-- Rates that were agreed with one customer. They hold instead of the tiers.
create table fee_agreement (
  customer_id uuid not null references customer,
  market code not null,
  taker_rate rate not null,
  maker_rebate rate not null,
  rebate_ceiling rate not null,
  primary key (customer_id, market),
  foreign key (market, rebate_ceiling) references fee_schedule (market, rebate_ceiling) on update cascade,
  constraint rebate_within_commission check (maker_rebate <= rebate_ceiling and rebate_ceiling <= taker_rate)
);
create index fee_agreement_market on fee_agreement (market, customer_id);

insert into fee_schedule (market, rebate_ceiling) select code, maker_rebate from market;
insert into fee_tier (market, minimum_gross, taker_rate, maker_rebate, rebate_ceiling)
select code, 0, taker_rate, maker_rebate, maker_rebate from market;
set constraints all immediate;

alter table market drop column taker_rate, drop column maker_rebate,
  add constraint fees_are_scheduled foreign key (code) references fee_schedule deferrable initially deferred;

-- What a customer traded on a market in a day (UTC), as maker and as taker, in the market's quote asset. The command
-- that saves a match counts it, and the market's engine is the only one that does.
create table traded_day (
  customer_id uuid not null,
  day date not null,
  market code not null,
  gross amount not null check (gross > 0),
  seq bigint not null,
  slot smallint,
  batch bigint,
  primary key (customer_id, day, market)
) with (fillfactor = 80);

lock table execution in share mode;
insert into traded_day (customer_id, day, market, gross, seq)
select customer_id, (executed_at at time zone 'UTC')::date, market, sum(amount * price), 1
  from execution group by 1, 2, 3;
