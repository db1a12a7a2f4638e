-- What the migrations make, written by `npm run schema` from a new database: to be read, never to be applied.
-- "service" stands for the role that the service connects as.

create type account_part as enum ('available', 'trading', 'pending');

create type asset_kind as enum ('fiat', 'stablecoin', 'crypto');

create type claim_kind as enum ('transfer', 'conversion', 'order', 'nickname', 'opening');

create type conversion_status as enum ('CREATED', 'SETTLED', 'CANCELLED');

create type crypto_network as enum ('BITCOIN', 'ETHEREUM', 'BITCOIN_CASH', 'LITECOIN', 'SOLANA', 'POLYGON_POS', 'BASE', 'ARBITRUM_ONE', 'STELLAR', 'INK', 'XLAYER');

create type direction as enum ('CREDIT', 'DEBIT');

create type house as enum ('world', 'reserve', 'issuance', 'fees');

create type journal_cause as enum ('deposit', 'withdrawal', 'transfer', 'conversion_created', 'conversion_settled', 'conversion_cancelled', 'order_held', 'order_filled', 'order_released');

create type market_status as enum ('OPEN', 'HALTED');

create type order_side as enum ('BUY', 'SELL');

create type order_status as enum ('PENDING_SUBMISSION', 'SUBMITTED', 'OPEN', 'FILLED', 'CANCELLED', 'REJECTED', 'EXPIRED');

create type order_type as enum ('LIMIT', 'MARKET', 'POST_ONLY_LIMIT', 'STOP_MARKET', 'STOP_LIMIT');

create type profile_kind as enum ('DEFAULT', 'NORMAL');

create type profile_status as enum ('ACTIVE', 'INACTIVE');

create type reject_reason as enum ('identity_pair', 'gtt_too_soon', 'post_only_would_cross', 'no_liquidity', 'below_one_lot', 'price_collar', 'market_halted');

create type time_in_force as enum ('GTC', 'FOK', 'IOC', 'GTT');

create type transfer_type as enum ('INTERNAL_TRANSFER_DEBIT', 'INTERNAL_TRANSFER_CREDIT', 'CRYPTO_DEPOSIT', 'CRYPTO_WITHDRAWAL', 'WIRE_DEPOSIT', 'WIRE_WITHDRAWAL', 'SEN_DEPOSIT', 'SEN_WITHDRAWAL', 'BANK_DEPOSIT', 'BANK_WITHDRAWAL', 'PLATFORM_TRANSFER_DEBIT', 'PLATFORM_TRANSFER_CREDIT', 'SIGNET_DEPOSIT', 'SIGNET_WITHDRAWAL', 'CBIT_WITHDRAWAL', 'CBIT_DEPOSIT', 'CUBIX_DEPOSIT', 'CUBIX_WITHDRAWAL', 'RTP_DEPOSIT');

create domain amount as numeric CHECK (((scale(VALUE) <= 18) AND (VALUE > '-100000000000000000000000000000'::numeric) AND (VALUE < '100000000000000000000000000000'::numeric)));

create domain code as text collate "C" CHECK ((VALUE ~ '^[A-Z0-9]{2,16}$'::text));

create domain rate as numeric CHECK (((VALUE >= (0)::numeric) AND (VALUE < (1)::numeric) AND (scale(VALUE) <= 4)));

create table account (
  owner_id uuid not null,
  asset code not null,
  house house,
  available amount not null,
  trading amount not null,
  pending amount not null,
  at timestamp with time zone not null,
  seq bigint not null,
  constraint account_pkey PRIMARY KEY (owner_id, asset),
  constraint account_pending_check CHECK (((pending)::numeric >= (0)::numeric)),
  constraint account_seq_check CHECK ((seq >= 0)),
  constraint account_trading_check CHECK (((trading)::numeric >= (0)::numeric)),
  constraint house_has_one_part CHECK (((house IS NULL) OR (((trading)::numeric = (0)::numeric) AND ((pending)::numeric = (0)::numeric)))),
  constraint not_overdrawn CHECK ((((available)::numeric >= (0)::numeric) OR (house = ANY (ARRAY['world'::house, 'reserve'::house, 'issuance'::house]))))
) with (fillfactor=50);
CREATE INDEX account_house ON public.account USING btree (house, asset) WHERE (house IS NOT NULL);
grant select, insert, update on account to service;

create table asset (
  code code not null,
  kind asset_kind not null,
  "precision" smallint not null,
  constraint asset_pkey PRIMARY KEY (code),
  constraint asset_precision_check CHECK ((("precision" >= 0) AND ("precision" <= 18)))
);
grant select on asset to service;

create table batch (
  slot smallint not null,
  n bigint not null,
  hash bytea not null,
  at timestamp with time zone not null,
  void boolean not null,
  states integer not null,
  states_expected integer not null,
  refs integer not null,
  refs_expected integer not null,
  predecessor integer not null,
  in_time boolean not null,
  changes json,
  callers json,
  not_ahead boolean,
  constraint batch_pkey PRIMARY KEY (slot, n),
  constraint batch_n_check CHECK ((n >= 0)),
  constraint batch_slot_check CHECK (((slot >= 1) AND (slot <= 64))),
  constraint chain_broken CHECK (((predecessor = 1) OR (n = 0))),
  constraint clock_ahead CHECK (not_ahead) NOT VALID,
  constraint refs_taken CHECK ((refs = refs_expected)),
  constraint states_moved CHECK ((states = states_expected)),
  constraint too_late CHECK (in_time)
);
grant select, insert on batch to service;

create unlogged table book_change (
  market code not null,
  number bigint not null,
  levels json not null,
  at timestamp with time zone not null,
  constraint book_change_pkey PRIMARY KEY (market, number)
);
grant select, insert, delete on book_change to service;

create table books (
  id uuid not null,
  only_one boolean default true not null,
  constraint books_pkey PRIMARY KEY (id),
  constraint books_only_one_check CHECK (only_one),
  constraint books_only_one_key UNIQUE (only_one)
);
grant select on books to service;

create table claim (
  customer_id uuid not null,
  kind claim_kind not null,
  ref_id text collate "C" not null,
  id uuid not null,
  constraint claim_pkey PRIMARY KEY (customer_id, kind, ref_id)
);
grant select, insert, update on claim to service;

create table client (
  client_id text collate "C" not null,
  customer_id uuid not null,
  scopes text[] not null,
  created_at timestamp with time zone not null,
  disabled_at timestamp with time zone,
  networks cidr[],
  constraint client_pkey PRIMARY KEY (client_id),
  constraint client_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customer(id),
  constraint client_networks_check CHECK (((cardinality(networks) >= 1) AND (cardinality(networks) <= 100)))
);
CREATE INDEX client_customer ON public.client USING btree (customer_id, client_id);
CREATE INDEX client_disabled ON public.client USING btree (disabled_at) WHERE (disabled_at IS NOT NULL);
CREATE INDEX client_restricted ON public.client USING btree (client_id) WHERE (networks IS NOT NULL);
grant select, insert, update on client to service;

create table client_secret (
  client_id text collate "C" not null,
  id uuid not null,
  scheme text not null,
  salt bytea not null,
  digest bytea not null,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone,
  last_used_at timestamp with time zone,
  constraint client_secret_pkey PRIMARY KEY (client_id, id),
  constraint client_secret_client_id_fkey FOREIGN KEY (client_id) REFERENCES client(client_id),
  constraint client_secret_scheme_check CHECK ((scheme = ANY (ARRAY['hmac'::text, 'scrypt'::text])))
);
grant select, insert, update, delete on client_secret to service;

create table conversion (
  profile_id uuid not null,
  id uuid not null,
  customer_id uuid not null,
  source_asset code not null,
  target_asset code not null,
  amount amount not null,
  recipient_profile_id uuid,
  ref_id text,
  identity_id text,
  account_id text,
  metadata jsonb,
  status conversion_status not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  settled_at timestamp with time zone,
  cancelled_at timestamp with time zone,
  seq bigint not null,
  slot smallint,
  batch bigint,
  constraint conversion_pkey PRIMARY KEY (profile_id, id),
  constraint conversion_amount_check CHECK (((amount)::numeric > (0)::numeric)),
  constraint conversion_check CHECK (((status = 'SETTLED'::conversion_status) = (settled_at IS NOT NULL))),
  constraint conversion_check1 CHECK (((status = 'CANCELLED'::conversion_status) = (cancelled_at IS NOT NULL)))
) with (fillfactor=80);
CREATE INDEX conversion_created ON public.conversion USING btree (created_at) WHERE (status = 'CREATED'::conversion_status);
CREATE INDEX conversion_customer ON public.conversion USING btree (customer_id, id);
grant select, insert, update on conversion to service;

create table customer (
  id uuid not null,
  name text not null,
  created_at timestamp with time zone not null,
  constraint customer_pkey PRIMARY KEY (id)
);
grant select, insert on customer to service;

create table execution (
  profile_id uuid not null,
  id bigint not null,
  customer_id uuid not null,
  order_id uuid not null,
  market code not null,
  side order_side not null,
  amount amount not null,
  price amount not null,
  commission amount not null,
  rebate amount not null,
  account_id text,
  executed_at timestamp with time zone not null,
  slot smallint not null,
  batch bigint not null,
  constraint execution_pkey PRIMARY KEY (profile_id, id),
  constraint execution_amount_check CHECK (((amount)::numeric > (0)::numeric)),
  constraint execution_check CHECK ((((commission)::numeric = (0)::numeric) OR ((rebate)::numeric = (0)::numeric))),
  constraint execution_commission_check CHECK (((commission)::numeric >= (0)::numeric)),
  constraint execution_id_check CHECK ((id > 0)),
  constraint execution_price_check CHECK (((price)::numeric > (0)::numeric)),
  constraint execution_rebate_check CHECK (((rebate)::numeric >= (0)::numeric))
);
CREATE INDEX execution_account ON public.execution USING btree (customer_id, account_id, id) WHERE (account_id IS NOT NULL);
CREATE INDEX execution_batch ON public.execution USING brin (batch int8_minmax_multi_ops) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX execution_customer ON public.execution USING btree (customer_id, id);
CREATE INDEX execution_match ON public.execution USING btree (market, id) INCLUDE (price, amount) WHERE ((id & (1)::bigint) = 1);
CREATE INDEX execution_order ON public.execution USING btree (order_id, id);
grant select, insert on execution to service;

create table fee_agreement (
  customer_id uuid not null,
  market code not null,
  taker_rate rate not null,
  maker_rebate rate not null,
  rebate_ceiling rate not null,
  constraint fee_agreement_pkey PRIMARY KEY (customer_id, market),
  constraint fee_agreement_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customer(id),
  constraint fee_agreement_market_rebate_ceiling_fkey FOREIGN KEY (market, rebate_ceiling) REFERENCES fee_schedule(market, rebate_ceiling) ON UPDATE CASCADE,
  constraint rebate_within_commission CHECK ((((maker_rebate)::numeric <= (rebate_ceiling)::numeric) AND ((rebate_ceiling)::numeric <= (taker_rate)::numeric)))
);
CREATE INDEX fee_agreement_market ON public.fee_agreement USING btree (market, customer_id);
grant select, insert, update, delete on fee_agreement to service;

create table fee_schedule (
  market code not null,
  rebate_ceiling rate not null,
  begins_at amount default 0 not null,
  constraint fee_schedule_pkey PRIMARY KEY (market),
  constraint fee_schedule_begins_at_check CHECK (((begins_at)::numeric = (0)::numeric)),
  constraint fee_schedule_market_fkey FOREIGN KEY (market) REFERENCES market(code),
  constraint fee_schedule_market_rebate_ceiling_key UNIQUE (market, rebate_ceiling),
  constraint tier_from_zero FOREIGN KEY (market, begins_at) REFERENCES fee_tier(market, minimum_gross) DEFERRABLE INITIALLY DEFERRED
);
grant select, update (rebate_ceiling) on fee_schedule to service;

create table fee_tier (
  market code not null,
  minimum_gross amount not null,
  taker_rate rate not null,
  maker_rebate rate not null,
  rebate_ceiling rate not null,
  constraint fee_tier_pkey PRIMARY KEY (market, minimum_gross),
  constraint fee_tier_market_rebate_ceiling_fkey FOREIGN KEY (market, rebate_ceiling) REFERENCES fee_schedule(market, rebate_ceiling) ON UPDATE CASCADE,
  constraint fee_tier_minimum_gross_check CHECK (((minimum_gross)::numeric >= (0)::numeric)),
  constraint rebate_within_commission CHECK ((((maker_rebate)::numeric <= (rebate_ceiling)::numeric) AND ((rebate_ceiling)::numeric <= (taker_rate)::numeric)))
);
grant select, insert, update, delete on fee_tier to service;

create table lease (
  name text collate "C" not null,
  holder text not null,
  fence bigint not null,
  expires_at timestamp with time zone not null,
  constraint lease_pkey PRIMARY KEY (name)
);
grant select, insert, update on lease to service;

create table market (
  code code not null,
  number smallint not null,
  base code not null,
  quote code not null,
  price_decimals smallint not null,
  base_decimals smallint not null,
  tick amount not null,
  min_base_amount amount not null,
  max_base_amount amount not null,
  min_quote_amount amount not null,
  max_quote_amount amount not null,
  max_notional_value amount not null,
  status market_status not null,
  seq bigint not null,
  slot smallint,
  batch bigint,
  constraint market_pkey PRIMARY KEY (code),
  constraint fees_are_scheduled FOREIGN KEY (code) REFERENCES fee_schedule(market) DEFERRABLE INITIALLY DEFERRED,
  constraint market_base_decimals_check CHECK ((base_decimals >= 0)),
  constraint market_base_fkey FOREIGN KEY (base) REFERENCES asset(code),
  constraint market_check CHECK (((price_decimals + base_decimals) <= 14)),
  constraint market_check1 CHECK ((((max_base_amount)::numeric >= (min_base_amount)::numeric) AND (((max_base_amount)::numeric * ((10)::numeric ^ (base_decimals)::numeric)) < ((2)::numeric ^ (53)::numeric)))),
  constraint market_check2 CHECK (((max_quote_amount)::numeric >= (min_quote_amount)::numeric)),
  constraint market_max_notional_value_check CHECK (((max_notional_value)::numeric > (0)::numeric)),
  constraint market_min_base_amount_check CHECK (((min_base_amount)::numeric > (0)::numeric)),
  constraint market_min_quote_amount_check CHECK (((min_quote_amount)::numeric > (0)::numeric)),
  constraint market_number_check CHECK (((number >= 1) AND (number <= 255))),
  constraint market_number_key UNIQUE (number),
  constraint market_price_decimals_check CHECK ((price_decimals >= 0)),
  constraint market_quote_fkey FOREIGN KEY (quote) REFERENCES asset(code),
  constraint market_tick_check CHECK (((tick)::numeric > (0)::numeric))
);
grant select, update (status, seq, slot, batch) on market to service;

create table market_head (
  market code not null,
  fence bigint not null,
  last_price amount,
  last_execution_id bigint not null,
  last_sequence bigint not null,
  seq bigint not null,
  slot smallint,
  batch bigint,
  constraint market_head_pkey PRIMARY KEY (market),
  constraint market_head_market_fkey FOREIGN KEY (market) REFERENCES market(code)
);
grant select, insert, update on market_head to service;

create table migration (
  number integer not null,
  name text not null,
  checksum text not null,
  applied_at timestamp with time zone not null,
  constraint migration_pkey PRIMARY KEY (number)
);
grant select on migration to service;

create table order_cancel (
  profile_id uuid not null,
  order_id uuid not null,
  market code not null,
  requested_at timestamp with time zone not null,
  caller json,
  constraint order_cancel_pkey PRIMARY KEY (profile_id, order_id)
);
CREATE INDEX order_cancel_market ON public.order_cancel USING btree (market, requested_at);
grant select, insert, delete on order_cancel to service;

create table orders (
  profile_id uuid not null,
  id uuid not null,
  customer_id uuid not null,
  market code not null,
  side order_side not null,
  type order_type not null,
  time_in_force time_in_force not null,
  base_amount amount,
  quote_amount amount,
  price amount,
  stop_price amount,
  expiration_date timestamp with time zone,
  taker_rate amount not null,
  maker_rebate amount not null,
  recipient_profile_id uuid,
  ref_id text,
  identity_id text,
  identity_account_id text,
  metadata jsonb,
  created_at timestamp with time zone not null,
  status order_status not null,
  sequence bigint,
  priority bigint,
  filled amount not null,
  filled_gross amount not null,
  held amount not null,
  is_triggered boolean not null,
  reject_reason reject_reason,
  modified_at timestamp with time zone not null,
  closed_at timestamp with time zone,
  seq bigint not null,
  slot smallint,
  batch bigint,
  constraint orders_pkey PRIMARY KEY (profile_id, id),
  constraint closed_orders_hold_nothing CHECK ((((closed_at IS NOT NULL) = (status = ANY (ARRAY['FILLED'::order_status, 'CANCELLED'::order_status, 'REJECTED'::order_status, 'EXPIRED'::order_status]))) AND ((closed_at IS NULL) OR ((held)::numeric = (0)::numeric)))),
  constraint orders_base_amount_check CHECK (((base_amount)::numeric > (0)::numeric)),
  constraint orders_check CHECK ((num_nonnulls(base_amount, quote_amount) = 1)),
  constraint orders_check1 CHECK (((filled)::numeric <= (base_amount)::numeric)),
  constraint orders_check2 CHECK (((status = 'REJECTED'::order_status) = (reject_reason IS NOT NULL))),
  constraint orders_filled_check CHECK (((filled)::numeric >= (0)::numeric)),
  constraint orders_filled_gross_check CHECK (((filled_gross)::numeric >= (0)::numeric)),
  constraint orders_held_check CHECK (((held)::numeric >= (0)::numeric)),
  constraint orders_price_check CHECK (((price)::numeric > (0)::numeric)),
  constraint orders_quote_amount_check CHECK (((quote_amount)::numeric > (0)::numeric)),
  constraint orders_stop_price_check CHECK (((stop_price)::numeric > (0)::numeric))
) with (fillfactor=80);
CREATE INDEX orders_account ON public.orders USING btree (customer_id, identity_account_id, id) WHERE (identity_account_id IS NOT NULL);
CREATE INDEX orders_book ON public.orders USING btree (market, side, price) WHERE (status = 'OPEN'::order_status);
CREATE INDEX orders_customer ON public.orders USING btree (customer_id, id);
CREATE INDEX orders_pending ON public.orders USING btree (market, created_at, id) WHERE (status = 'PENDING_SUBMISSION'::order_status);
CREATE INDEX orders_ref ON public.orders USING btree (customer_id, ref_id) WHERE (ref_id IS NOT NULL);
CREATE INDEX orders_waiting ON public.orders USING btree (market) WHERE (status = 'SUBMITTED'::order_status);
grant select, insert, update on orders to service;

create table posting (
  owner_id uuid not null,
  asset code not null,
  seq bigint not null,
  journal_id uuid not null,
  cause journal_cause not null,
  part account_part not null,
  amount amount not null,
  available amount not null,
  trading amount not null,
  pending amount not null,
  at timestamp with time zone not null,
  slot smallint not null,
  batch bigint not null,
  constraint posting_pkey PRIMARY KEY (owner_id, asset, seq),
  constraint posting_amount_check CHECK (((amount)::numeric <> (0)::numeric)),
  constraint posting_seq_check CHECK ((seq > 0))
);
CREATE INDEX posting_batch ON public.posting USING brin (batch int8_minmax_multi_ops) WITH (pages_per_range='32', autosummarize='on');
grant select, insert on posting to service;

create table profile (
  id uuid not null,
  customer_id uuid not null,
  kind profile_kind not null,
  nickname text not null,
  description text,
  status profile_status not null,
  awaited integer not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  seq bigint not null,
  slot smallint,
  batch bigint,
  constraint profile_pkey PRIMARY KEY (id),
  constraint profile_awaited_check CHECK ((awaited >= 0)),
  constraint profile_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customer(id)
) with (fillfactor=80);
CREATE INDEX profile_customer ON public.profile USING btree (customer_id, created_at, id);
grant select, insert, update on profile to service;

create table refusal (
  id uuid not null,
  kind text not null,
  client_id text collate "C",
  token_id uuid,
  address text,
  operation text,
  first_at timestamp with time zone not null,
  last_at timestamp with time zone not null,
  count bigint not null,
  constraint refusal_pkey PRIMARY KEY (id),
  constraint refusal_address_check CHECK ((length(address) <= 100)),
  constraint refusal_check CHECK ((last_at >= first_at)),
  constraint refusal_client_id_check CHECK ((length(client_id) <= 100)),
  constraint refusal_count_check CHECK ((count > 0)),
  constraint refusal_kind_check CHECK ((kind = ANY (ARRAY['no_token'::text, 'invalid_token'::text, 'insufficient_scope'::text, 'invalid_client'::text]))),
  constraint refusal_operation_check CHECK ((length(operation) <= 200))
);
grant select, insert, delete on refusal to service;

create table signing_key (
  kid text collate "C" not null,
  algorithm text not null,
  private_jwk jsonb not null,
  public_jwk jsonb not null,
  created_at timestamp with time zone not null,
  retired_at timestamp with time zone,
  constraint signing_key_pkey PRIMARY KEY (kid)
);
CREATE UNIQUE INDEX signing_key_current ON public.signing_key USING btree (((retired_at IS NULL))) WHERE (retired_at IS NULL);
grant select, insert, update, delete on signing_key to service;

create table traded_day (
  customer_id uuid not null,
  day date not null,
  market code not null,
  gross amount not null,
  seq bigint not null,
  slot smallint,
  batch bigint,
  constraint traded_day_pkey PRIMARY KEY (customer_id, day, market),
  constraint traded_day_gross_check CHECK (((gross)::numeric > (0)::numeric))
) with (fillfactor=80);
grant select, insert, update on traded_day to service;

create table transfer (
  profile_id uuid not null,
  id uuid not null,
  customer_id uuid not null,
  type transfer_type not null,
  direction direction not null,
  asset code not null,
  amount amount not null,
  fee amount not null,
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
  created_at timestamp with time zone not null,
  slot smallint not null,
  batch bigint not null,
  caller smallint,
  constraint transfer_pkey PRIMARY KEY (profile_id, id),
  constraint transfer_amount_check CHECK (((amount)::numeric > (0)::numeric)),
  constraint transfer_fee_check CHECK (((fee)::numeric >= (0)::numeric))
);
CREATE INDEX transfer_batch ON public.transfer USING brin (batch int8_minmax_multi_ops) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX transfer_customer ON public.transfer USING btree (customer_id, id);
grant select, insert on transfer to service;
