-- The first schema: customers, the ledger, transfers, conversions and orders.
-- There is no version before it.
--
-- Rules that every table here keeps (docs/decisions/0002-tables-that-can-be-distributed.md):
-- a per-profile table has profile_id (or the owner's id) first in its primary key, a per-customer table customer_id;
-- no foreign key points to another profile's row; times, ids and computed values come from the application;
-- no triggers, and no sequence.
--
-- A row that is changed carries its running number `seq`, and with it the batch that wrote it last: (slot, batch).
-- A row that is only ever added carries the batch that added it. `posting`, `transfer`, `execution` and `batch` are
-- never updated or deleted: the service's role is not granted it.

create type asset_kind as enum ('fiat', 'stablecoin', 'crypto');
create type market_status as enum ('OPEN', 'HALTED');
create type profile_kind as enum ('DEFAULT', 'NORMAL');
create type profile_status as enum ('ACTIVE', 'INACTIVE');
create type house as enum ('world', 'reserve', 'issuance', 'fees');
create type account_part as enum ('available', 'trading', 'pending');
create type journal_cause as enum (
  'deposit', 'withdrawal', 'transfer', 'conversion_created', 'conversion_settled', 'conversion_cancelled',
  'order_held', 'order_filled', 'order_released');
create type claim_kind as enum ('transfer', 'conversion', 'order', 'nickname', 'opening');
create type direction as enum ('CREDIT', 'DEBIT');
create type transfer_type as enum (
  'INTERNAL_TRANSFER_DEBIT', 'INTERNAL_TRANSFER_CREDIT', 'CRYPTO_DEPOSIT', 'CRYPTO_WITHDRAWAL', 'WIRE_DEPOSIT',
  'WIRE_WITHDRAWAL', 'SEN_DEPOSIT', 'SEN_WITHDRAWAL', 'BANK_DEPOSIT', 'BANK_WITHDRAWAL', 'PLATFORM_TRANSFER_DEBIT',
  'PLATFORM_TRANSFER_CREDIT', 'SIGNET_DEPOSIT', 'SIGNET_WITHDRAWAL', 'CBIT_WITHDRAWAL', 'CBIT_DEPOSIT',
  'CUBIX_DEPOSIT', 'CUBIX_WITHDRAWAL', 'RTP_DEPOSIT');
create type crypto_network as enum (
  'BITCOIN', 'ETHEREUM', 'BITCOIN_CASH', 'LITECOIN', 'SOLANA', 'POLYGON_POS', 'BASE', 'ARBITRUM_ONE', 'STELLAR',
  'INK', 'XLAYER');
create type conversion_status as enum ('CREATED', 'SETTLED', 'CANCELLED');
create type order_status as enum (
  'PENDING_SUBMISSION', 'SUBMITTED', 'OPEN', 'FILLED', 'CANCELLED', 'REJECTED', 'EXPIRED');
create type order_side as enum ('BUY', 'SELL');
create type order_type as enum ('LIMIT', 'MARKET', 'POST_ONLY_LIMIT', 'STOP_MARKET', 'STOP_LIMIT');
create type time_in_force as enum ('GTC', 'FOK', 'IOC', 'GTT');
create type reject_reason as enum (
  'identity_pair', 'gtt_too_soon', 'post_only_would_cross', 'no_liquidity', 'below_one_lot', 'price_collar',
  'market_halted');

-- numeric(p, s) would round in silence; this refuses. Codes compare byte by byte whatever the database's locale.
create domain amount as numeric check (scale(value) <= 18 and value > -1e29 and value < 1e29);
create domain code as text collate "C" check (value ~ '^[A-Z0-9]{2,16}$');

-- Reference data ---------------------------------------------------------------------------------------------------

create table asset (
  code code primary key,
  kind asset_kind not null,
  precision smallint not null check (precision between 0 and 18)
);

create table market (
  code code primary key,
  -- Part of every execution id, so never another one's and never changed: 8 bits.
  number smallint not null unique check (number between 1 and 255),
  base code not null references asset,
  quote code not null references asset,
  price_decimals smallint not null check (price_decimals >= 0),
  base_decimals smallint not null check (base_decimals >= 0),
  tick amount not null check (tick > 0),
  min_base_amount amount not null check (min_base_amount > 0),
  max_base_amount amount not null,
  min_quote_amount amount not null check (min_quote_amount > 0),
  max_quote_amount amount not null,
  max_notional_value amount not null check (max_notional_value > 0),
  taker_rate amount not null check (scale(taker_rate) <= 4 and taker_rate < 1),
  maker_rebate amount not null check (scale(maker_rebate) <= 4 and maker_rebate >= 0),
  status market_status not null,
  seq bigint not null,
  slot smallint,
  batch bigint,
  check (price_decimals + base_decimals <= 14),
  check (max_base_amount >= min_base_amount and max_base_amount * 10::numeric ^ base_decimals < 2::numeric ^ 53),
  check (max_quote_amount >= min_quote_amount),
  -- A rebate is paid out of the commission of the same match, so the fee account can never be drawn below zero.
  constraint rebate_within_commission check (taker_rate >= maker_rebate)
);

-- What exactly one process may hold at a time. The fence rises with every change of hands; only the database's clock
-- decides whether a lease has ended.
create table lease (
  name text collate "C" primary key,
  holder text not null,
  fence bigint not null,
  expires_at timestamptz not null
);

-- The engine's own row of a market: every engine command numbers it on, so a market has one order of commands and a
-- fenced engine can commit nothing more.
create table market_head (
  market code primary key references market,
  fence bigint not null,
  last_price amount,
  last_execution_id bigint not null,
  last_sequence bigint not null,
  seq bigint not null,
  slot smallint,
  batch bigint
);

-- Who owns what ----------------------------------------------------------------------------------------------------

create table customer (
  id uuid primary key,
  name text not null,
  created_at timestamptz not null
);

create table client (
  client_id text collate "C" primary key,
  customer_id uuid not null references customer,
  scopes text[] not null,
  created_at timestamptz not null,
  disabled_at timestamptz
);
create index client_customer on client (customer_id, client_id);
-- Every node asks every two seconds who was disabled of late.
create index client_disabled on client (disabled_at) where disabled_at is not null;

create table client_secret (
  client_id text collate "C" not null references client,
  id uuid not null,
  -- 'hmac': a generated secret of 256 bits; 'scrypt': one that a person chose. The digest is never the secret.
  scheme text not null check (scheme in ('hmac', 'scrypt')),
  salt bytea not null,
  digest bytea not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  last_used_at timestamptz,
  primary key (client_id, id)
);

create table signing_key (
  kid text collate "C" primary key,
  algorithm text not null,
  private_jwk jsonb not null,
  public_jwk jsonb not null,
  created_at timestamptz not null,
  retired_at timestamptz
);
-- One key is current, however many nodes make or rotate one at the same time.
create unique index signing_key_current on signing_key ((retired_at is null)) where retired_at is null;

create table profile (
  id uuid primary key,
  customer_id uuid not null references customer,
  kind profile_kind not null,
  nickname text not null,
  description text,
  status profile_status not null,
  -- Open orders and CREATED conversions of other profiles that will pay into this one.
  awaited integer not null check (awaited >= 0),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  seq bigint not null,
  slot smallint,
  batch bigint
) with (fillfactor = 80);
create index profile_customer on profile (customer_id, created_at, id);

-- The ledger -------------------------------------------------------------------------------------------------------

-- One group of commands that was committed together, and a link of the slot's hash chain. The row is written by the
-- statement that makes the changes, so a count that is not what was decided on takes the whole batch back.
create table batch (
  slot smallint not null check (slot between 1 and 64),
  n bigint not null check (n >= 0),
  hash bytea not null,
  at timestamptz not null,
  -- A void row takes the number of a batch whose outcome was unknown: that batch can never commit any more.
  void boolean not null,
  states integer not null,
  states_expected integer not null,
  refs integer not null,
  refs_expected integer not null,
  predecessor integer not null,
  in_time boolean not null,
  -- Digests of the state rows other than accounts as this batch left them: {"table": {"key": "seq digest"}}.
  -- `json`, not `jsonb`: the text is part of what is hashed, and `json` keeps it as it was written.
  changes json,
  primary key (slot, n),
  constraint states_moved check (states = states_expected),
  constraint refs_taken check (refs = refs_expected),
  constraint chain_broken check (predecessor = 1 or n = 0),
  constraint too_late check (in_time)
);

-- A profile's account of an asset, or a house account of one slot. House accounts are one per slot, so that lanes
-- never meet on them; what holds for the house holds for the sum over its slots.
create table account (
  owner_id uuid not null,
  asset code not null,
  house house,
  available amount not null,
  trading amount not null check (trading >= 0),
  pending amount not null check (pending >= 0),
  -- Time of the last posting: the next one is not earlier.
  at timestamptz not null,
  seq bigint not null check (seq >= 0),
  primary key (owner_id, asset),
  constraint not_overdrawn check (available >= 0 or house in ('world', 'reserve', 'issuance')),
  constraint house_has_one_part check (house is null or (trading = 0 and pending = 0))
) with (fillfactor = 50);
create index account_house on account (house, asset) where house is not null;

-- One signed change to one part of one account, with the three parts as it left them. The postings of a journal
-- sum to zero per asset.
create table posting (
  owner_id uuid not null,
  asset code not null,
  seq bigint not null check (seq > 0),
  journal_id uuid not null,
  cause journal_cause not null,
  part account_part not null,
  amount amount not null check (amount <> 0),
  available amount not null,
  trading amount not null,
  pending amount not null,
  at timestamptz not null,
  slot smallint not null,
  batch bigint not null,
  primary key (owner_id, asset, seq)
);
-- Rows lie in the table in about the order of their batches: a BRIN index finds those of a batch and costs next to nothing.
create index posting_batch on posting using brin (batch int8_minmax_multi_ops) with (pages_per_range = 32, autosummarize = on);

-- One effect per ref_id: whoever inserts the claim has the ref_id.
create table claim (
  customer_id uuid not null,
  kind claim_kind not null,
  ref_id text collate "C" not null,
  id uuid not null,
  primary key (customer_id, kind, ref_id)
);

-- Transfers, conversions, orders -----------------------------------------------------------------------------------

-- The debit record of a pair has an even id, the credit record the odd one beside it; the even one is the group's id.
create table transfer (
  profile_id uuid not null,
  id uuid not null,
  customer_id uuid not null,
  type transfer_type not null,
  direction direction not null,
  asset code not null,
  amount amount not null check (amount > 0),
  fee amount not null check (fee >= 0),
  ref_id text,
  identity_id text,
  account_id text,
  metadata jsonb,
  crypto_network crypto_network,
  destination_address text,
  crypto_tx_hash text,
  crypto_tx_index text,
  notional_value amount,
  memo text,
  created_at timestamptz not null,
  slot smallint not null,
  batch bigint not null,
  primary key (profile_id, id)
);
create index transfer_customer on transfer (customer_id, id);
create index transfer_batch on transfer using brin (batch int8_minmax_multi_ops) with (pages_per_range = 32, autosummarize = on);

create table conversion (
  profile_id uuid not null,
  id uuid not null,
  customer_id uuid not null,
  source_asset code not null,
  target_asset code not null,
  amount amount not null check (amount > 0),
  recipient_profile_id uuid,
  ref_id text,
  identity_id text,
  account_id text,
  metadata jsonb,
  status conversion_status not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  settled_at timestamptz,
  cancelled_at timestamptz,
  seq bigint not null,
  slot smallint,
  batch bigint,
  primary key (profile_id, id),
  check ((status = 'SETTLED') = (settled_at is not null)),
  check ((status = 'CANCELLED') = (cancelled_at is not null))
) with (fillfactor = 80);
create index conversion_customer on conversion (customer_id, id);
create index conversion_created on conversion (created_at) where status = 'CREATED';

create table orders (
  profile_id uuid not null,
  id uuid not null,
  customer_id uuid not null,
  market code not null,
  side order_side not null,
  type order_type not null,
  time_in_force time_in_force not null,
  base_amount amount check (base_amount > 0),
  quote_amount amount check (quote_amount > 0),
  price amount check (price > 0),
  stop_price amount check (stop_price > 0),
  expiration_date timestamptz,
  taker_rate amount not null,
  maker_rebate amount not null,
  recipient_profile_id uuid,
  ref_id text,
  identity_id text,
  identity_account_id text,
  metadata jsonb,
  created_at timestamptz not null,
  status order_status not null,
  -- The engine's number of the order, given when it takes it.
  sequence bigint,
  -- Its place among the orders of its price once it rests: a triggered stop is old, but stands behind those that rested.
  priority bigint,
  filled amount not null check (filled >= 0),
  filled_gross amount not null check (filled_gross >= 0),
  -- What the order holds of its account's trading part: the quote asset for a buy, the base for a sell.
  held amount not null check (held >= 0),
  is_triggered boolean not null,
  reject_reason reject_reason,
  modified_at timestamptz not null,
  closed_at timestamptz,
  seq bigint not null,
  slot smallint,
  batch bigint,
  primary key (profile_id, id),
  check (num_nonnulls(base_amount, quote_amount) = 1),
  check (filled <= base_amount),
  constraint closed_orders_hold_nothing
    check ((closed_at is not null) = (status in ('FILLED', 'CANCELLED', 'REJECTED', 'EXPIRED')) and (closed_at is null or held = 0)),
  check ((status = 'REJECTED') = (reject_reason is not null))
) with (fillfactor = 80);
create index orders_customer on orders (customer_id, id);
-- What an engine has yet to take, the oldest first; and what it reads when it builds its book anew.
create index orders_pending on orders (market, created_at, id) where status = 'PENDING_SUBMISSION';
-- The book: levels in the order of their prices, the best one first from either end. Nothing that a partial fill
-- changes is in it.
create index orders_book on orders (market, side, price) where status = 'OPEN';
-- The stops that an engine reads when it builds its book anew.
create index orders_waiting on orders (market) where status = 'SUBMITTED';

-- A cancel that was asked for, until the market's engine has dealt with it.
create table order_cancel (
  profile_id uuid not null,
  order_id uuid not null,
  market code not null,
  requested_at timestamptz not null,
  primary key (profile_id, order_id)
);
create index order_cancel_market on order_cancel (market, requested_at);

-- One row per party of a match. The maker's id is even, the taker's the odd one beside it.
create table execution (
  profile_id uuid not null,
  id bigint not null check (id > 0),
  customer_id uuid not null,
  order_id uuid not null,
  market code not null,
  side order_side not null,
  amount amount not null check (amount > 0),
  price amount not null check (price > 0),
  commission amount not null check (commission >= 0),
  rebate amount not null check (rebate >= 0),
  account_id text,
  executed_at timestamptz not null,
  slot smallint not null,
  batch bigint not null,
  primary key (profile_id, id),
  check (commission = 0 or rebate = 0)
);
create index execution_customer on execution (customer_id, id);
create index execution_order on execution (order_id, id);
create index execution_account on execution (customer_id, account_id, id) where account_id is not null;
-- Matches, each by its taker's execution, whose id is odd. Prices and statistics are read from the index alone.
create index execution_match on execution (market, id) include (price, amount) where (id & 1) = 1;
create index execution_batch on execution using brin (batch int8_minmax_multi_ops) with (pages_per_range = 32, autosummarize = on);
