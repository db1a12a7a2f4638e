-- What the migrations make, written by `npm run schema` from a new database: to be read, never to be applied.
-- A comment stands above what it describes; that of a primary key or an index says which queries need it. "service"
-- stands for the role that the service connects as, and each grant for everything that it may do.
--
-- The ledger: an account is one owner's balance of one asset. Every change of it is a posting, and the postings of a
-- journal sum to zero in each asset. Each batch is a link of the hash chain of its slot. posting, transfer and execution
-- are only added to: a row carries the batch that added it. profile, market, market_head, external_transfer, legal_hold,
-- conversion, orders, customer_volume and webhook_disabling change: a row carries its version and the batch (slot, batch) that
-- wrote it, which has its digest. So does configuration_write, from when a batch has sealed it. An account carries its version, which its last posting made. No other table is part of the chain.
--
-- Ids are UUIDs of version 7 (RFC 9562), made by the application: 48 bits of milliseconds, so that their order is that of
-- creation, as far as clocks agree; and unique in the ledger by random bits. They are even: their last bit is 0. The odd id
-- beside one is the same with the last bit 1. The operator may have chosen the ids of customers and profiles. UUIDs of
-- version 8 are made of something else, as their columns say. Executions are numbered.
--
-- Tables that grow with transfers and orders have no foreign keys to each other, on purpose: rows of different profiles
-- could be in different databases (docs/decisions/0002-tables-that-can-be-distributed.md). verify follows what they refer to:
-- rows to batches, journals to records, executions to orders, accounts to postings, claims to records.
--
-- Nothing that is part of the chain is ever removed, nor are customers and claims. Removed are: events and access denials
-- that are old, book changes, secrets and signing keys that have ended, rates that were replaced, cancels that are done, and
-- rows of pending_order and booked_order when their order goes on.
--
-- verify: `parbook verify`, which recomputes all this and names what does not fit. catalogue: catalogue.json, the assets
-- and markets that the operator adds. bootstrap file: customers, clients and profiles that are made when the service starts.
-- sandbox: an installation for trying things out, where the API makes deposits. slot: one of 64 seats of writers. operator:
-- who runs the parbook command on the machine. engine: the process that matches the orders of a market. lot: the smallest
-- step of a base amount.
-- docs/schema.md has diagrams, docs/glossary.md the words.

-- A quantity of an asset in whole units, such as 1.5 for one and a half bitcoins. Exact: digits that do not fit are
-- rejected, where numeric(p, s) would round them.
create domain amount as numeric
  constraint at_most_29_digits_and_18_decimals CHECK (((scale(VALUE) <= 18) AND (VALUE > '-100000000000000000000000000000'::numeric) AND (VALUE < '100000000000000000000000000000'::numeric)));

-- A share of what is traded: 0.0025 is a quarter of a percent.
create domain rate as numeric
  constraint from_zero_below_one_with_4_decimals CHECK (((VALUE >= (0)::numeric) AND (VALUE < (1)::numeric) AND (scale(VALUE) <= 4)));

-- The code of an asset, such as USD, or of a market, such as BTCUSD. Compared byte by byte, whatever the locale of the
-- database.
create domain code as text collate "C"
  constraint two_to_16_capitals_or_digits CHECK ((VALUE ~ '^[A-Z0-9]{2,16}$'::text));

-- fiat: money of a state. stablecoin: issued by the platform, one USD in its reserve for each. crypto: any other coin.
create type asset_kind as enum ('fiat', 'stablecoin', 'crypto');

-- OPEN: orders are placed and matched. HALTED: none is; what rests stays, and cancels and expirations go on.
create type market_status as enum ('OPEN', 'HALTED');

-- DEFAULT: the one that every customer has from its creation; never deactivated. NORMAL: any other.
create type profile_kind as enum ('DEFAULT', 'NORMAL');

-- ACTIVE: can hold and move money. INACTIVE: empty and out of use, until a deposit from outside the platform is
-- completed and makes it ACTIVE again.
create type profile_status as enum ('ACTIVE', 'INACTIVE');

-- available: free to use. trading: held by open orders. pending: held by conversions, withdrawals and legal holds.
create type account_part as enum ('available', 'trading', 'pending');

-- What moved the money, the same in all postings of a journal. Its postings, each of part available unless another is
-- named: deposit: from world to the profile; of a stablecoin from issuance to the profile, and in USD from world to the
-- coin's reserve. An opening balance is a deposit, too. withdrawal: the reverse of a deposit, from the profile's
-- pending if it has steps. transfer: from profile to profile. conversion_created, withdrawal_held, legal_hold_placed:
-- from available to pending of one account; conversion_cancelled, withdrawal_released, legal_hold_lifted: back.
-- conversion_settled: the source asset from the profile's pending, the target asset to the recipient. A stablecoin that
-- is paid in goes to issuance, and as much USD leaves its reserve; one that is paid out comes from issuance, and as
-- much USD enters its reserve. order_held: from available to trading; order_released: what is left, back. order_filled,
-- a match: the base from the seller's trading to the buyer's recipient; the quote from the buyer's trading: to the
-- seller's recipient, the commission to fees, and what the buyer need not hold any more back to its available; and the
-- rebate from fees, in a posting of its own. The taker pays the commission: a buyer on top of what it buys for, a
-- seller out of its proceeds. The rebate is the maker's: a seller's is part of its proceeds, a buyer's goes to the
-- buyer.
create type journal_cause as enum ('deposit', 'withdrawal', 'withdrawal_held', 'withdrawal_released', 'transfer', 'conversion_created', 'conversion_settled', 'conversion_cancelled', 'order_held', 'order_filled', 'order_released', 'legal_hold_placed', 'legal_hold_lifted');

-- What is claimed: the ref_id of a conversion, an order or a legal hold; the nickname of a profile; the opening balance
-- of a profile in an asset, which is a deposit that the bootstrap file makes once: a WIRE_DEPOSIT of fiat, else a
-- CRYPTO_DEPOSIT.
create type claim_kind as enum ('conversion', 'order', 'nickname', 'opening', 'legal_hold');

-- INTERNAL_TRANSFER: between two profiles of one customer. PLATFORM_TRANSFER: to any profile of the platform. Every
-- other type crosses the border of the platform, by the network that it names. On the wire the first two say which side
-- a record is: INTERNAL_TRANSFER_DEBIT, for example.
create type transfer_type as enum ('INTERNAL_TRANSFER', 'PLATFORM_TRANSFER', 'CRYPTO_DEPOSIT', 'CRYPTO_WITHDRAWAL', 'WIRE_DEPOSIT', 'WIRE_WITHDRAWAL', 'SEN_DEPOSIT', 'SEN_WITHDRAWAL', 'BANK_DEPOSIT', 'BANK_WITHDRAWAL', 'SIGNET_DEPOSIT', 'SIGNET_WITHDRAWAL', 'CBIT_WITHDRAWAL', 'CBIT_DEPOSIT', 'CUBIX_DEPOSIT', 'CUBIX_WITHDRAWAL', 'RTP_DEPOSIT');

create type crypto_network as enum ('BITCOIN', 'ETHEREUM', 'BITCOIN_CASH', 'LITECOIN', 'SOLANA', 'POLYGON_POS', 'BASE', 'ARBITRUM_ONE', 'STELLAR', 'INK', 'XLAYER', 'AVALANCHE', 'DOGECOIN', 'SUI', 'ROBINHOOD', 'BNB');

-- Of a withdrawal: requested, and it waits for approval; approved; sent: handed to a bank or a network; and at last
-- completed, or failed: it came back. Before it is sent it can be cancelled. Its money is held from requested until one
-- of these last three. No step can be skipped. Of a deposit: requested: it is announced, and no money has moved; then
-- completed, which moves it, or failed. completed, failed and cancelled never change again. The operator takes each
-- step, by parbook transfer; a customer cannot cancel. What is complete when it is recorded has no steps and no status.
create type external_transfer_status as enum ('requested', 'approved', 'sent', 'completed', 'failed', 'cancelled');

-- CREATED: its money is held. It becomes SETTLED, after the settlement delay, or CANCELLED, and never changes again.
create type conversion_status as enum ('CREATED', 'SETTLED', 'CANCELLED');

-- PENDING_SUBMISSION: funds are held, and the engine of the market has not taken it yet. SUBMITTED: a stop order that
-- waits for its stop price, or an order that meets many others and is between two parts of its execution. OPEN: rests
-- on the book. The other four are closed, and a closed order never changes again. EXPIRED is reserved, no order has it:
-- at its expiration_date an order becomes CANCELLED, with the cancel_reason expired.
create type order_status as enum ('PENDING_SUBMISSION', 'SUBMITTED', 'OPEN', 'FILLED', 'CANCELLED', 'REJECTED', 'EXPIRED');

create type order_side as enum ('BUY', 'SELL');

-- LIMIT: at its price or a better one. MARKET: at any price. POST_ONLY_LIMIT: rejected if it would match at once.
-- STOP_LIMIT and STOP_MARKET wait until a match reaches their stop price, and then are a LIMIT or a MARKET order.
create type order_type as enum ('LIMIT', 'MARKET', 'POST_ONLY_LIMIT', 'STOP_MARKET', 'STOP_LIMIT');

-- GTC: until it is cancelled. FOK: at once and in full, or not at all. IOC: at once, and the remainder is cancelled.
-- GTT: until expiration_date.
create type time_in_force as enum ('GTC', 'FOK', 'IOC', 'GTT');

-- Why an order is REJECTED. The first two are found when it is placed, the others by the engine of the market.
-- identity_pair: only one of identity_id and identity_account_id was given. gtt_too_soon: its expiration_date is not
-- more than 10 seconds ahead. too_many_open_orders: it could rest or wait, and its customer already has the most open
-- orders of a market. post_only_would_cross: it would match at once. no_liquidity: a market order, and no other
-- customer offers anything. below_one_lot: a market buy that cannot pay for one lot, the smallest step of a base
-- amount. price_collar: a limit order that would match at once, too far from the middle of the best prices.
-- market_halted: the market was halted before it was matched.
create type reject_reason as enum ('identity_pair', 'gtt_too_soon', 'too_many_open_orders', 'post_only_would_cross', 'no_liquidity', 'below_one_lot', 'price_collar', 'market_halted');

-- Why an order is CANCELLED. requested: by its customer. expired: at its expiration_date. self_trade: a newer order of
-- its customer reached it. immediate_or_cancel: the rest of an IOC or a market order, which could not trade at once.
-- fill_or_kill: others did not offer enough for an FOK. too_many_matches: it met as many orders as one may, and would
-- still cross.
create type cancel_reason as enum ('requested', 'expired', 'self_trade', 'immediate_or_cancel', 'fill_or_kill', 'too_many_matches');

-- What an account can hold. Written by the operator, from the catalogue; the service only reads it. No part of the hash
-- chain.
create table asset (
  code code not null,
  kind asset_kind not null,
  -- How many decimals a transfer of it may have. The ledger keeps 18 for every asset.
  "precision" smallint not null,
  -- The asset of a code, for foreign keys, verify and the reserve.
  constraint asset_pkey PRIMARY KEY (code),
  constraint precision_up_to_18 CHECK ((("precision" >= 0) AND ("precision" <= 18)))
);
grant select on asset to service;

-- A pair of assets that is traded. Written by the operator, from the catalogue, at version 1 and without a batch. Only
-- the status changes afterwards, in a batch, when the operator halts or resumes the market.
create table market (
  code code not null,
  -- Part of every execution id of the market: never changed, and never given to another market.
  number smallint not null,
  -- The asset that is bought and sold.
  base code not null,
  -- The asset in which prices, gross and fees are.
  quote code not null,
  -- How many decimals a price may have.
  price_decimals smallint not null,
  -- How many decimals a base amount may have. The engine counts in units of the last one, as integers below 2^53. With
  -- price_decimals at most 14, so that amount times price times a rate, which has 4, fits the 18 of the ledger without
  -- rounding.
  base_decimals smallint not null,
  -- Every price and stop price is a multiple of it.
  tick amount not null,
  -- Of the base_amount of one order, as is max_base_amount. min_quote_amount is of its quote_amount.
  min_base_amount amount not null,
  max_base_amount amount not null,
  min_quote_amount amount not null,
  -- Of the quote_amount of one order: only market buys have one.
  max_quote_amount amount not null,
  -- Of every order, in the quote asset: quote_amount, or base_amount times price, or without a price times the last
  -- one.
  max_notional_value amount not null,
  -- Every placement and every match checks it: nothing is placed or matched on a halted market.
  status market_status not null,
  -- The version of the row. A write states the version that it was decided on.
  version bigint not null,
  -- With batch: the batch that wrote this version. Null: the catalogue did, at version 1.
  slot smallint,
  batch bigint,
  -- The market of a code: the backlog of its engine, prices, foreign keys.
  constraint market_pkey PRIMARY KEY (code),
  constraint at_most_14_decimals_in_all CHECK (((price_decimals + base_decimals) <= 14)),
  constraint base_amounts_in_range CHECK ((((max_base_amount)::numeric >= (min_base_amount)::numeric) AND (((max_base_amount)::numeric * ((10)::numeric ^ (base_decimals)::numeric)) < ((2)::numeric ^ (53)::numeric)))),
  constraint base_and_quote_differ CHECK (((base)::text <> (quote)::text)),
  constraint base_asset_exists FOREIGN KEY (base) REFERENCES asset(code),
  constraint base_decimals_not_negative CHECK ((base_decimals >= 0)),
  constraint fees_are_scheduled FOREIGN KEY (code) REFERENCES fee_schedule(market) DEFERRABLE INITIALLY DEFERRED,
  -- No query: it keeps execution ids of different markets apart.
  constraint market_numbers_differ UNIQUE (number),
  constraint max_notional_value_above_zero CHECK (((max_notional_value)::numeric > (0)::numeric)),
  constraint min_base_amount_above_zero CHECK (((min_base_amount)::numeric > (0)::numeric)),
  constraint min_quote_amount_above_zero CHECK (((min_quote_amount)::numeric > (0)::numeric)),
  constraint no_batch_at_version_1_only CHECK ((num_nonnulls(slot, batch) =
CASE version
    WHEN 1 THEN 0
    ELSE 2
END)),
  constraint number_from_1_to_255 CHECK (((number >= 1) AND (number <= 255))),
  constraint price_decimals_not_negative CHECK ((price_decimals >= 0)),
  constraint quote_amounts_in_range CHECK (((max_quote_amount)::numeric >= (min_quote_amount)::numeric)),
  constraint quote_asset_exists FOREIGN KEY (quote) REFERENCES asset(code),
  constraint tick_above_zero CHECK (((tick)::numeric > (0)::numeric)),
  constraint tick_has_price_decimals_at_most CHECK ((scale(trim_scale((tick)::numeric)) <= price_decimals))
);
grant select, update (status, version, slot, batch) on market to service;

-- One row per market, which says where rebates end and commissions begin: no maker rebate of the market is above the
-- ceiling, and no taker rate below it. Each row with rates repeats the ceiling, is checked against it, and is tied to
-- it by a foreign key. So rates of one time never pay more rebate than commission, even if two operators change them at
-- once. An order keeps the rates that it was placed with: if the rebate of an old order is above the commission of a
-- new one in a match, the rebate is lowered to that commission. So the account fees is never overdrawn. No part of the
-- hash chain, like tiers and agreements: each order has its rates.
create table fee_schedule (
  market code not null,
  rebate_ceiling rate not null,
  -- Always zero: the foreign key tier_from_zero demands a tier that begins there.
  begins_at amount default 0 not null,
  -- Locks the schedule of a market before its rates change.
  constraint fee_schedule_pkey PRIMARY KEY (market),
  constraint begins_at_zero CHECK (((begins_at)::numeric = (0)::numeric)),
  constraint market_exists FOREIGN KEY (market) REFERENCES market(code),
  -- No query: the foreign keys of tiers and agreements refer to it.
  constraint one_ceiling_per_market UNIQUE (market, rebate_ceiling),
  constraint tier_from_zero FOREIGN KEY (market, begins_at) REFERENCES fee_tier(market, minimum_gross) DEFERRABLE INITIALLY DEFERRED
);
grant select, update (rebate_ceiling) on fee_schedule to service;

-- The rates of customers who traded so much on markets of the same quote asset in 30 days: the sum of gross in
-- customer_volume today and on the 29 days before (UTC), over all profiles of the customer, as maker and as taker. A
-- process may use a sum that is some seconds old.
create table fee_tier (
  market code not null,
  -- In the quote asset of the market. The tier holds from here to the next one.
  minimum_gross amount not null,
  taker_rate rate not null,
  maker_rebate rate not null,
  rebate_ceiling rate not null,
  -- The tiers of a market, lowest first.
  constraint fee_tier_pkey PRIMARY KEY (market, minimum_gross),
  constraint has_ceiling_of_market FOREIGN KEY (market, rebate_ceiling) REFERENCES fee_schedule(market, rebate_ceiling) ON UPDATE CASCADE,
  constraint minimum_not_negative CHECK (((minimum_gross)::numeric >= (0)::numeric)),
  constraint rebate_within_commission CHECK ((((maker_rebate)::numeric <= (rebate_ceiling)::numeric) AND ((rebate_ceiling)::numeric <= (taker_rate)::numeric)))
);
grant select, insert, update, delete on fee_tier to service;

-- What house accounts, the platform's own, there can be. Another kind is another row. Here are: world, may be negative,
-- Assets: everything outside the platform; a deposit comes from it, a withdrawal goes to it. reserve, may be negative,
-- Assets: the USD that back one stablecoin, at one custodian; the only kind with coin and custodian. issuance, may be
-- negative, Equity: minus the stablecoins that are in circulation. fees, never negative, Income: commissions received,
-- minus rebates paid.
create table house_kind (
  kind text collate "C" not null,
  -- Whether the balance of one slot may be below zero. The balance of world or of issuance in one slot has either sign,
  -- because what came in by one slot may go out by another; over all slots neither is above zero. That of a reserve is
  -- below zero in a slot in which more was redeemed than minted, never over all slots.
  may_be_negative boolean not null,
  -- Where the chart of accounts of an export has it. An export is from the operator's side: the balances of profiles
  -- are Liabilities, and signs are the reverse of those here, except for the asset that a reserve is
  -- (docs/accounting.md).
  account_class text not null,
  -- The kinds, for verify and exports.
  constraint house_kind_pkey PRIMARY KEY (kind),
  constraint account_class_is_known CHECK ((account_class = ANY (ARRAY['Assets'::text, 'Equity'::text, 'Income'::text, 'Liabilities'::text]))),
  constraint kind_of_2_to_16_letters CHECK ((kind ~ '^[a-z]{2,16}$'::text)),
  -- No query: the foreign key of accounts refers to it.
  constraint one_sign_per_kind UNIQUE (kind, may_be_negative)
);
grant select on house_kind to service;

-- An organisation that owns profiles and API clients. No part of the hash chain, but what the operator makes of it is
-- in configuration_write. Never deleted.
create table customer (
  id uuid not null,
  name text not null,
  created_at timestamp with time zone not null,
  -- From then on neither the secrets nor the tokens of its clients are accepted. Its money and its orders stay. Null:
  -- it is enabled.
  disabled_at timestamp with time zone,
  -- The customer of an id, and foreign keys.
  constraint customer_pkey PRIMARY KEY (id),
  -- The customer of a name, for commands. It keeps names apart: no operator takes one customer for another.
  constraint customer_names_differ UNIQUE (name)
);
-- Whose clients are disabled of late: every node asks every two seconds.
CREATE INDEX customer_disabled ON public.customer USING btree (disabled_at) WHERE (disabled_at IS NOT NULL);
grant select, insert, update (name, disabled_at) on customer to service;

-- A program that calls the API for one customer. Written by the operator and the bootstrap file; its customer may
-- disable it.
create table client (
  client_id text collate "C" not null,
  customer_id uuid not null,
  -- What it may do, as the operator wrote it; * is everything.
  scopes text[] not null,
  created_at timestamp with time zone not null,
  -- From then on neither its secrets nor its tokens are accepted. Null: enabled.
  disabled_at timestamp with time zone,
  -- Where it may call from. Null: from anywhere.
  networks cidr[],
  -- The client of a token request.
  constraint client_pkey PRIMARY KEY (client_id),
  constraint customer_exists FOREIGN KEY (customer_id) REFERENCES customer(id),
  constraint networks_from_1_to_100 CHECK (((cardinality(networks) >= 1) AND (cardinality(networks) <= 100)))
);
-- The clients of a customer, in order of creation.
CREATE INDEX client_customer ON public.client USING btree (customer_id, created_at, client_id);
-- Who was disabled of late: every node asks every two seconds.
CREATE INDEX client_disabled ON public.client USING btree (disabled_at) WHERE (disabled_at IS NOT NULL);
-- Who may only call from certain networks: every node asks every two seconds.
CREATE INDEX client_restricted ON public.client USING btree (client_id) WHERE (networks IS NOT NULL);
grant select, insert, update on client to service;

-- A secret of a client; two while it is rotated. The secret itself is stored nowhere.
create table client_secret (
  client_id text collate "C" not null,
  id uuid not null,
  -- hmac: a generated secret of 256 bits. scrypt: one that a person chose, and that can be guessed.
  scheme text not null,
  salt bytea not null,
  -- Of the secret and the salt.
  digest bytea not null,
  created_at timestamp with time zone not null,
  -- Null: it does not expire.
  expires_at timestamp with time zone,
  -- To within a minute. Null: never used.
  last_used_at timestamp with time zone,
  -- The secrets of a client that requests a token.
  constraint client_secret_pkey PRIMARY KEY (client_id, id),
  constraint client_exists FOREIGN KEY (client_id) REFERENCES client(client_id),
  constraint scheme_is_known CHECK ((scheme = ANY (ARRAY['hmac'::text, 'scrypt'::text])))
);
grant select, insert, update, delete on client_secret to service;

-- The keys of access tokens: the current one signs, retired ones only verify.
create table signing_key (
  kid text collate "C" not null,
  algorithm text not null,
  -- RFC 7517; encrypted if PARBOOK_KEY_ENCRYPTION_KEY is set. A minute after the key was retired the public half takes
  -- its place.
  private_jwk jsonb not null,
  public_jwk jsonb not null,
  created_at timestamp with time zone not null,
  -- Null: the current key.
  retired_at timestamp with time zone,
  -- The key of a kid.
  constraint signing_key_pkey PRIMARY KEY (kid)
);
-- The current key. Unique, so that there is one, however many nodes make one at the same time.
CREATE UNIQUE INDEX signing_key_current ON public.signing_key USING btree (((retired_at IS NULL))) WHERE (retired_at IS NULL);
grant select, insert, update, delete on signing_key to service;

-- The holder of balances: one account per asset. Every customer has one DEFAULT profile, and any number of NORMAL ones.
create table profile (
  id uuid not null,
  customer_id uuid not null,
  kind profile_kind not null,
  -- The customer's name for it. A claim keeps it from being given twice, even after it was changed.
  nickname text not null,
  description text,
  -- An INACTIVE profile is empty and can do nothing; a deposit from outside the platform makes it ACTIVE again when it
  -- is completed.
  status profile_status not null,
  -- How many open orders and CREATED conversions of other profiles will pay into it: until there are none it cannot be
  -- deactivated. Changed in the same batch as these; verify counts them.
  incoming_count integer not null,
  -- The version that its last deactivation made. 0: there was none.
  last_deactivation bigint not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  -- The version of the row. A write states the version that it was decided on.
  version bigint not null,
  -- With batch: the batch that wrote this version, and has its digest in changes.
  slot smallint not null,
  batch bigint not null,
  -- The profile of an id: every command that depends on it.
  constraint profile_pkey PRIMARY KEY (id),
  constraint customer_exists FOREIGN KEY (customer_id) REFERENCES customer(id),
  constraint default_is_never_deactivated CHECK (((kind <> 'DEFAULT'::profile_kind) OR (last_deactivation = 0))),
  constraint id_below_those_of_house_accounts CHECK ((id < 'ffffffff-0000-0000-0000-000000000000'::uuid)),
  constraint inactive_since_last_deactivation CHECK ((((last_deactivation >= 0) AND (last_deactivation <= version)) AND ((status = 'ACTIVE'::profile_status) OR (last_deactivation > 0)))),
  constraint incoming_count_not_negative CHECK ((incoming_count >= 0))
) with (fillfactor=80);
-- The same without those that are INACTIVE, which may be nearly all.
CREATE INDEX profile_active ON public.profile USING btree (customer_id, created_at, id) WHERE (status = 'ACTIVE'::profile_status);
-- The profiles of a customer, by creation, page by page.
CREATE INDEX profile_customer ON public.profile USING btree (customer_id, created_at, id);
-- The DEFAULT profile of a customer, of which there is one, among however many.
CREATE UNIQUE INDEX profile_default ON public.profile USING btree (customer_id) WHERE (kind = 'DEFAULT'::profile_kind);
grant select, insert, update on profile to service;

-- Rates that were agreed with one customer. They hold instead of the tiers.
create table fee_agreement (
  customer_id uuid not null,
  market code not null,
  taker_rate rate not null,
  maker_rebate rate not null,
  rebate_ceiling rate not null,
  -- The rates agreed with a customer who places an order.
  constraint fee_agreement_pkey PRIMARY KEY (customer_id, market),
  constraint customer_exists FOREIGN KEY (customer_id) REFERENCES customer(id),
  constraint has_ceiling_of_market FOREIGN KEY (market, rebate_ceiling) REFERENCES fee_schedule(market, rebate_ceiling) ON UPDATE CASCADE,
  constraint rebate_within_commission CHECK ((((maker_rebate)::numeric <= (rebate_ceiling)::numeric) AND ((rebate_ceiling)::numeric <= (taker_rate)::numeric)))
);
-- The agreements on a market, for the operator; and the lowest commission and highest rebate among them.
CREATE INDEX fee_agreement_market ON public.fee_agreement USING btree (market, customer_id);
grant select, insert, update, delete on fee_agreement to service;

-- A write to the tables that no batch writes: customers, clients, fees, signing keys, webhooks. The transaction that
-- makes the write adds the row at version 1; within seconds a batch seals it, which makes version 2, and from then on
-- its digest is in the hash chain (docs/decisions/0044-configuration-writes.md). Otherwise never changed, and never
-- deleted.
create table configuration_write (
  -- Random: unlike others, no time is in it.
  id uuid not null,
  -- By the database's clock, so that it is right even if that of the process is not.
  at timestamp with time zone not null,
  -- Who asked, in the form of an entry of the callers of a batch. The batch that seals it has the same one.
  caller jsonb not null,
  kind text not null,
  -- What was written: the client_id, the id of the customer or the webhook, the code of the market, the kid of the key.
  subject text not null,
  -- Whose it is. Null: the platform's.
  customer_id uuid,
  -- What it has become, each value as text. No secrets.
  details jsonb not null,
  -- 1: not sealed yet. 2: sealed.
  version bigint not null,
  -- With batch: the batch that sealed it. Null: none has yet.
  slot smallint,
  batch bigint,
  -- The write of an id, to seal it, and for audit writes.
  constraint configuration_write_pkey PRIMARY KEY (id),
  constraint at_can_be_sealed CHECK (((at >= '2000-01-01 00:00:00+00'::timestamp with time zone) AND (at < '10000-01-01 00:00:00+00'::timestamp with time zone))),
  constraint caller_and_details_are_objects CHECK (((jsonb_typeof(caller) = 'object'::text) AND (jsonb_typeof(details) = 'object'::text))),
  constraint kind_is_known CHECK ((kind = ANY (ARRAY['client'::text, 'customer'::text, 'fees'::text, 'signing_key'::text, 'webhook'::text]))),
  constraint no_batch_at_version_1_only CHECK ((num_nonnulls(slot, batch) =
CASE version
    WHEN 1 THEN 0
    ELSE 2
END)),
  constraint sealed_once CHECK ((version = ANY (ARRAY[(1)::bigint, (2)::bigint])))
);
-- What no batch has sealed yet, the oldest first: each worker asks every second.
CREATE INDEX configuration_write_unsealed ON public.configuration_write USING btree (at) WHERE (version = 1);
grant select, insert, update (version, slot, batch) on configuration_write to service;

-- A group of commands that committed together, by one SQL statement, and a link of the hash chain of its slot. That
-- statement writes every row that the batch changes or adds, counts what it found, and last inserts this row: if a
-- count is not what was decided on, a CHECK fails and takes the whole batch back. Never changed or deleted.
create table batch (
  -- The seat of the writer: one process at a time holds it, by the lease slot/<slot>. Each slot has a chain of its own.
  slot smallint not null,
  -- Numbers the batches of a slot from 0, without gaps.
  n bigint not null,
  -- SHA-256 of three parts, one behind the other: the hash of batch n - 1 (32 bytes; zeros before the first), the text
  -- slot/n/, and the SHA-256 (32 bytes) of the content. The content is a text: at; then, for each of execution, posting
  -- and transfer to which it added rows, the table and these rows without slot and batch, in the form of
  -- docs/decisions/0028-hashed-by-name.md; then a line of the word changes, a space and the column changes; and, if
  -- there are callers, one of the word callers, a space and the column callers. Change any of these and verify sees it;
  -- a checkpoint of hashes, kept elsewhere, reveals that a whole chain was recomputed.
  hash bytea not null,
  -- When it was decided: never before the last posting of a profile's account that it changes. It may be before that of
  -- the batch n - 1: by clocks that differ, or because that one was behind such a posting.
  at timestamp with time zone not null,
  -- True: takes the number of a batch whose outcome was unknown, which from then on cannot commit. No row names it,
  -- changes and callers are null, and its hash covers the word void in place of the SHA-256 of a content.
  void boolean not null,
  -- How many rows it inserted, changed or locked in the version that it was decided on, postings and executions aside,
  -- and how many accounts the profiles have that it deactivates. Kept, like the columns after it up to not_ahead, only
  -- for a CHECK: in no hash.
  rows_found integer not null,
  -- How many it should have; any other number: another process had changed or added one.
  rows_expected integer not null,
  -- How many claims it made.
  claims_made integer not null,
  -- How many it should have made.
  claims_expected integer not null,
  -- 1: the batch n - 1 of the slot exists, and has the hash on which this one was built.
  predecessor integer not null,
  -- Whether the database's clock had not passed the deadline up to which the writer waited.
  in_time boolean not null,
  -- Whether the writer's clock was not ahead of the database's. Null in a void row, which decides nothing.
  not_ahead boolean,
  -- What it made of each row, other than accounts, that can change: {"orders": [{"key": {"profile_id": ..., "id": ...},
  -- "version", "values", "digest", "callers"}]}. key has the columns of the primary key. Its tables are
  -- configuration_write, conversion, customer_volume, external_transfer, legal_hold, market, market_head, orders,
  -- profile and webhook_disabling. values has each column that is overwritten by changes and is not as in the version
  -- before (at version 1: each that is not null), as text; so every version of a row follows from here and from the
  -- columns that never change. digest is of the whole row without slot and batch, version included: the first 16 bytes,
  -- as hexadecimal digits, of the SHA-256 of name=value and a zero byte for each column that is not null, in the order
  -- of their names. callers are numbers of entries of callers. Null: none. json, not jsonb: the text is hashed.
  changes json,
  -- Who asked for its writes, each once, numbered from 0: [{"client", "token", "address", "operation"}, {"house"},
  -- {"operator", "person", "operation"}]. client: the client_id of a client. token: the id (jti) of its access token.
  -- address: the IP address that it called from. operation: the method and the path's pattern, such as "POST
  -- /v2/transfer/platform"; of an operator, the command. operator: the user of the machine. person: the name that the
  -- operator gave with --as, if any. house here names a part of the service, and no house account: auth, which replaces
  -- signing keys; engine, of a market; settlement, of conversions; bootstrap, the bootstrap file; webhooks, what
  -- delivers to them; maker, the market maker of a sandbox, a program that places orders. Null: it wrote nothing that
  -- somebody asked for.
  callers json,
  -- The last batch of a slot; a batch by its number, to append the next one, to verify, and for what refers to it.
  constraint batch_pkey PRIMARY KEY (slot, n),
  constraint chain_broken CHECK (((predecessor = 1) OR (n = 0))),
  constraint claims_already_made CHECK ((claims_made = claims_expected)),
  constraint clock_ahead CHECK (not_ahead),
  constraint hash_of_32_bytes CHECK ((length(hash) = 32)),
  constraint number_not_negative CHECK ((n >= 0)),
  constraint rows_changed_meanwhile CHECK ((rows_found = rows_expected)),
  constraint slot_from_1_to_64 CHECK (((slot >= 1) AND (slot <= 64))),
  constraint too_late CHECK (in_time),
  constraint void_decides_nothing CHECK (
CASE
    WHEN void THEN (num_nonnulls(not_ahead, changes, callers) = 0)
    ELSE (not_ahead IS NOT NULL)
END)
);
grant select, insert on batch to service;

-- A profile's balance of one asset, in three parts; or the platform's, of which each slot has a row of its own, so that
-- writers never wait for each other: only the sum over all slots has a meaning. Over all accounts an asset sums to
-- zero. World has no stablecoins: of each, what profiles and fees hold is minus the sum of issuance, and equals the USD
-- in its reserve. In no digest: its postings, which are hashed, carry its balances.
create table account (
  -- The profile. Of a house account: ffffffff-hhhh-8hhh-8hhh-hhhhhhhhhhss, where h are the first 80 bits of the SHA-256
  -- of house, or of house:coin:custodian where it has these, such as reserve:USDG:default; and s is the slot in
  -- hexadecimal.
  owner_id uuid not null,
  asset code not null,
  -- The kind of house account. Null: of a profile.
  house text collate "C",
  -- Of a reserve: the stablecoin that its USD back. Null where the kind has no coin.
  coin code,
  -- Of a reserve: who keeps its USD; until now always default. Null where the kind has no custodian.
  custodian text collate "C",
  -- As its kind says. Null: of a profile, which never is.
  may_be_negative boolean,
  -- The profile's, which deactivating it writes to all of its accounts. A write compares it beside the version, and so
  -- needs no lock on a profile that it remembers as active
  -- (docs/decisions/0004-profiles-are-guarded-by-a-share-lock.md). 0: of a house account.
  last_deactivation bigint not null,
  -- What the owner can use. Below zero only if it may be.
  available amount not null,
  -- Held by open orders: equals the sum of their held.
  trading amount not null,
  -- Held, and not by orders: equals the sum of the CREATED conversions, of the withdrawals that are requested (held for
  -- approval), approved or sent, and of the legal holds that are not lifted.
  pending amount not null,
  -- When the last posting was made: the next one is not earlier. A row is first written with its first posting.
  at timestamp with time zone not null,
  -- The version of the row, which is that of its last posting, whose balances are the account's: 1 with the first
  -- posting, never 0. A write states the version that it was decided on.
  version bigint not null,
  -- The accounts that a batch changes, and the balances of a profile.
  constraint account_pkey PRIMARY KEY (owner_id, asset),
  constraint coin_and_custodian_of_house CHECK (((house IS NOT NULL) OR ((coin IS NULL) AND (custodian IS NULL)))),
  constraint custodian_of_2_to_16_letters CHECK ((custodian ~ '^[a-z]{2,16}$'::text)),
  constraint house_has_one_part CHECK (((house IS NULL) OR (((trading)::numeric = (0)::numeric) AND ((pending)::numeric = (0)::numeric)))),
  constraint house_has_sign CHECK (((house IS NULL) = (may_be_negative IS NULL))),
  constraint house_kind_exists_with_this_sign FOREIGN KEY (house, may_be_negative) REFERENCES house_kind(kind, may_be_negative),
  constraint last_deactivation_of_profile CHECK (((last_deactivation >= 0) AND ((house IS NULL) OR (last_deactivation = 0)))),
  constraint not_overdrawn CHECK ((((available)::numeric >= (0)::numeric) OR (may_be_negative IS TRUE))),
  constraint owner_is_house_from_ffffffff CHECK (((house IS NOT NULL) = (owner_id >= 'ffffffff-0000-0000-0000-000000000000'::uuid))),
  constraint pending_not_negative CHECK (((pending)::numeric >= (0)::numeric)),
  constraint trading_not_negative CHECK (((trading)::numeric >= (0)::numeric)),
  constraint version_not_negative CHECK ((version >= 0))
) with (fillfactor=50);
-- The reserve and the supply in circulation, for metrics: a few rows, however many profiles there are.
CREATE INDEX account_house ON public.account USING btree (house, coin, asset) WHERE (house IS NOT NULL);
grant select, insert, update on account to service;

-- One signed change of one part of one account, with the balances after it. Postings of one journal_id are a journal:
-- they sum to zero in each asset, and were made by one batch. No index has the journal_id: a journal is found among the
-- postings of its batch, by posting_batch, or of one of its accounts. Which batch that was, a transfer says; of what
-- changes, its row for the last version and batch.changes for all. Never changed or deleted.
create table posting (
  -- With asset: the account.
  owner_id uuid not null,
  -- Of a transfer without steps, its id, which is even. Of what holds money (a conversion, an order, a withdrawal that
  -- has steps, a legal hold), its even id for the hold, and the odd id beside it for what ends the hold. A deposit that
  -- has steps holds nothing: the journal that completes it has the odd id. Of a match, a version 8 UUID with the 16
  -- hexadecimal digits of the maker's execution id, the last one at its end: 12345678-9abc-8def-8000-000000000000 of
  -- 123456789abcdef0.
  journal_id uuid not null,
  -- Numbers the postings of an account from 1, without gaps: the version of the account that it made.
  version bigint not null,
  -- When it was made: never before the posting before it. That of its batch, except on a house account whose last
  -- posting is later: then the time of that one.
  at timestamp with time zone not null,
  batch bigint not null,
  cause journal_cause not null,
  -- Which of the three balances it changes: that of this name.
  part account_part not null,
  -- With batch: the batch that added it.
  slot smallint not null,
  asset code not null,
  -- What that balance gains, or below zero loses. Above zero is what the owner has. So the balance of world is minus
  -- what was brought into the platform and not taken out, and that of issuance minus the coins in circulation.
  amount amount not null,
  -- The balance after this posting, as are trading and pending. Below zero only of a house account, whose row of
  -- account says whether it may be.
  available amount not null,
  trading amount not null,
  pending amount not null,
  -- The postings of an account in order; and, by bisection, its balance at a time.
  constraint posting_pkey PRIMARY KEY (owner_id, asset, version),
  constraint amount_not_zero CHECK (((amount)::numeric <> (0)::numeric)),
  constraint not_overdrawn CHECK ((((available)::numeric >= (0)::numeric) OR (owner_id >= 'ffffffff-0000-0000-0000-000000000000'::uuid))),
  constraint pending_not_negative CHECK (((pending)::numeric >= (0)::numeric)),
  constraint trading_not_negative CHECK (((trading)::numeric >= (0)::numeric)),
  constraint version_above_zero CHECK ((version > 0))
);
-- The postings of a range of batches, for verify and exports. The rows of a slot lie in about the order of its batches,
-- so BRIN finds them and costs next to nothing to write.
CREATE INDEX posting_batch ON public.posting USING brin (batch int8_minmax_multi_ops) WITH (pages_per_range='32', autosummarize='on');
grant select, insert on posting to service;

-- What can be taken once by a customer: a ref_id, a nickname, the opening balance of a profile. The batch that makes
-- the record inserts the claim, so that of a second request fails, which with a ref_id is answered with the record of
-- the first. Claims of orders pass on: 24 hours after an order is closed, another may take its ref_id. All others hold
-- for ever. Transfers need none: a unique index keeps their ref_ids.
create table claim (
  customer_id uuid not null,
  kind claim_kind not null,
  -- The customer's key; of a nickname, the nickname itself; of an opening, profile_id/asset; of a legal hold, the
  -- operator's.
  ref_id text collate "C" not null,
  -- The record that holds it: a conversion, an order, a profile, a legal hold, or the deposit of an opening.
  id uuid not null,
  -- Rejects a ref_id that is taken, and finds the record that has it.
  constraint claim_pkey PRIMARY KEY (customer_id, kind, ref_id)
);
grant select, insert, update on claim to service;

-- A movement of money: between two profiles, into the platform (a deposit) or out of it (a withdrawal). One row holds
-- both sides; a side outside the platform is null. Never changed or deleted. Its money has moved when it is written,
-- unless it has_steps: then its row in external_transfer says how far it is. The API shows each customer its own sides
-- as records: of a transfer between profiles, a debit with the row's id and a credit with the odd id beside it; of a
-- deposit or a withdrawal, one record with the row's id.
create table transfer (
  -- Whose request it is, and whose ref_id: the customer of from_profile_id, or of a deposit that of to_profile_id. So
  -- too where the operator or the bootstrap file wrote it, as caller says.
  customer_id uuid not null,
  -- Even, and in the order of creation. Also the id of its journal or, of a withdrawal with steps, of the one that
  -- holds its money. Only a deposit with steps has no journal of this id: the one that completes it has the odd id
  -- beside it, and one that is not completed has none.
  id uuid not null,
  -- Whose money it was. Null: of a deposit, which comes from outside the platform.
  from_profile_id uuid,
  -- Whose it became. Null: of a withdrawal, which leaves the platform.
  to_profile_id uuid,
  -- The customer of to_profile_id.
  to_customer_id uuid,
  created_at timestamp with time zone not null,
  -- With slot: the batch that added it. The journal of this row's id is among its postings. That of the odd id, of a
  -- deposit or a withdrawal with steps, is among those of the batch of the last step, in external_transfer.
  batch bigint not null,
  slot smallint not null,
  -- Who asked for it: the number of an entry of its batch's callers. Every transfer has one, although the column allows
  -- null.
  caller smallint,
  type transfer_type not null,
  -- Like destination_address, crypto_tx_hash, crypto_tx_index and notional_value: of CRYPTO_DEPOSIT and
  -- CRYPTO_WITHDRAWAL only, and null where it does not apply.
  crypto_network crypto_network,
  -- True: a deposit or a withdrawal that does not complete at once. Null: its money has moved.
  has_steps boolean,
  asset code not null,
  amount amount not null,
  -- The requesting customer's key: a request with one that is taken is answered with the transfer that has it. Null:
  -- without one.
  ref_id text collate "C",
  -- The sending customer's own reference to one of its end users, as from_account_id is to that user's account. Not
  -- verified. Only its own records show it.
  from_identity_id text,
  from_account_id text,
  -- The sending customer's, as text to text, on its own records.
  from_metadata jsonb,
  -- On the records of the receiving customer, like to_account_id and to_metadata, as the sender gave them.
  to_identity_id text,
  to_account_id text,
  to_metadata jsonb,
  destination_address text,
  -- With crypto_tx_index: the transaction of the chain, as it was named when this row was written. A deposit names both
  -- then or never. That of a withdrawal which has steps may be named by a step instead, in external_transfer, which
  -- then holds.
  crypto_tx_hash text,
  crypto_tx_index text,
  -- In USD, when it was made. Null: not known.
  notional_value amount,
  -- The operator's.
  memo text,
  -- Lists of what a customer requested by creation, page by page, and a transfer by its id.
  constraint transfer_pkey PRIMARY KEY (customer_id, id),
  constraint amount_above_zero CHECK (((amount)::numeric > (0)::numeric)),
  constraint chain_details_of_crypto_only CHECK (((type = ANY (ARRAY['CRYPTO_DEPOSIT'::transfer_type, 'CRYPTO_WITHDRAWAL'::transfer_type])) OR (num_nonnulls(crypto_network, destination_address, crypto_tx_hash, crypto_tx_index, notional_value) = 0))),
  constraint deposit_names_output CHECK (((from_profile_id IS NOT NULL) OR (crypto_tx_hash IS NULL) OR (crypto_tx_index IS NOT NULL))),
  constraint index_of_transaction CHECK (((crypto_tx_index IS NULL) OR (crypto_tx_hash IS NOT NULL))),
  constraint network_of_transaction CHECK (((crypto_tx_hash IS NULL) OR (crypto_network IS NOT NULL))),
  constraint other_customer_only_on_platform CHECK (((to_customer_id = customer_id) OR (type = 'PLATFORM_TRANSFER'::transfer_type))),
  constraint sides_differ CHECK ((from_profile_id <> to_profile_id)),
  constraint sides_fit_type CHECK (
CASE
    WHEN (type = ANY (ARRAY['INTERNAL_TRANSFER'::transfer_type, 'PLATFORM_TRANSFER'::transfer_type])) THEN ((from_profile_id IS NOT NULL) AND (to_profile_id IS NOT NULL))
    WHEN (type = ANY (ARRAY['CRYPTO_DEPOSIT'::transfer_type, 'WIRE_DEPOSIT'::transfer_type, 'SEN_DEPOSIT'::transfer_type, 'BANK_DEPOSIT'::transfer_type, 'SIGNET_DEPOSIT'::transfer_type, 'CBIT_DEPOSIT'::transfer_type, 'CUBIX_DEPOSIT'::transfer_type, 'RTP_DEPOSIT'::transfer_type])) THEN ((from_profile_id IS NULL) AND (to_profile_id IS NOT NULL))
    ELSE ((from_profile_id IS NOT NULL) AND (to_profile_id IS NULL))
END),
  constraint steps_only_across_the_border CHECK (((has_steps IS NULL) OR (has_steps AND (num_nonnulls(from_profile_id, to_profile_id) = 1)))),
  constraint to_customer_has_to_profile CHECK (((to_profile_id IS NULL) = (to_customer_id IS NULL)))
);
-- Rejects a second deposit of an output of a transaction, and finds the first: whichever network either names, so
-- without the 0x that hashes of some networks begin with.
CREATE UNIQUE INDEX chain_transaction_already_deposited ON public.transfer USING btree (regexp_replace(crypto_tx_hash, '^0x'::text, ''::text), crypto_tx_index) WHERE ((crypto_tx_hash IS NOT NULL) AND (from_profile_id IS NULL));
-- The transfers of a range of batches, for verify and exports.
CREATE INDEX transfer_batch ON public.transfer USING brin (batch int8_minmax_multi_ops) WITH (pages_per_range='32', autosummarize='on');
-- Lists by account_ids, page by page: the debits.
CREATE INDEX transfer_from_account ON public.transfer USING btree (customer_id, from_account_id, id) WHERE (from_account_id IS NOT NULL);
-- Lists by identity_ids, page by page: the debits.
CREATE INDEX transfer_from_identity ON public.transfer USING btree (customer_id, from_identity_id, id) WHERE (from_identity_id IS NOT NULL);
-- Lists by profile_ids, page by page: the debits.
CREATE INDEX transfer_from_profile ON public.transfer USING btree (from_profile_id, id) WHERE (from_profile_id IS NOT NULL);
-- What other customers have sent to a customer: the credits in its lists by creation. A transfer within a customer is
-- not in it.
CREATE INDEX transfer_received ON public.transfer USING btree (to_customer_id, id) WHERE (customer_id <> to_customer_id);
-- Rejects a ref_id that is taken, and finds the transfer that has it.
CREATE UNIQUE INDEX transfer_ref_id_already_used ON public.transfer USING btree (customer_id, ref_id) WHERE (ref_id IS NOT NULL);
-- Lists by account_ids, page by page: the credits.
CREATE INDEX transfer_to_account ON public.transfer USING btree (to_customer_id, to_account_id, id) WHERE (to_account_id IS NOT NULL);
-- Lists by identity_ids, page by page: the credits.
CREATE INDEX transfer_to_identity ON public.transfer USING btree (to_customer_id, to_identity_id, id) WHERE (to_identity_id IS NOT NULL);
-- Lists by profile_ids, page by page: the credits.
CREATE INDEX transfer_to_profile ON public.transfer USING btree (to_profile_id, id) WHERE (to_profile_id IS NOT NULL);
-- Lists by crypto_tx_hashes, page by page. What external_transfer names instead is in external_transfer_transaction.
CREATE INDEX transfer_transaction ON public.transfer USING btree (customer_id, crypto_tx_hash, id) WHERE (crypto_tx_hash IS NOT NULL);
grant select, insert on transfer to service;

-- How far a deposit or a withdrawal is whose transfer has_steps: what of it changes. While a withdrawal is requested,
-- approved or sent, its amount is in pending of its profile's account. completed takes it from there; failed and
-- cancelled give it back. A deposit moves money when it is completed (docs/withdrawals.md).
create table external_transfer (
  -- The transfer's, as is id.
  customer_id uuid not null,
  id uuid not null,
  -- On the wire PENDING, COMPLETED or, of failed and cancelled, FAILED.
  status external_transfer_status not null,
  -- When it got this status.
  updated_at timestamp with time zone not null,
  -- Why it failed or was cancelled, in the operator's words, which the customer reads. Null for every other.
  reason text,
  -- Of a withdrawal: the transaction of the chain, named when it is sent or completed; completed may replace it. Null:
  -- that in transfer, if any. That of a deposit is in transfer.
  crypto_tx_hash text,
  crypto_tx_index text,
  -- The version of the row, and the number of its steps. A write states the version that it was decided on.
  version bigint not null,
  -- With batch: the batch that wrote this version, and has its digest in changes.
  slot smallint not null,
  batch bigint not null,
  -- The steps of a transfer that is read or goes on; and a customer's, by creation.
  constraint external_transfer_pkey PRIMARY KEY (customer_id, id),
  constraint failed_or_cancelled_has_reason CHECK (((status = ANY (ARRAY['failed'::external_transfer_status, 'cancelled'::external_transfer_status])) = (reason IS NOT NULL))),
  constraint index_of_transaction CHECK (((crypto_tx_index IS NULL) OR (crypto_tx_hash IS NOT NULL))),
  constraint transaction_since_sent CHECK (((crypto_tx_hash IS NULL) OR (status = ANY (ARRAY['sent'::external_transfer_status, 'completed'::external_transfer_status, 'failed'::external_transfer_status])))),
  constraint version_is_the_number_of_steps CHECK (
CASE status
    WHEN 'requested'::external_transfer_status THEN (version = 1)
    WHEN 'approved'::external_transfer_status THEN (version = 2)
    WHEN 'sent'::external_transfer_status THEN (version = 3)
    WHEN 'cancelled'::external_transfer_status THEN (version = ANY (ARRAY[(2)::bigint, (3)::bigint]))
    ELSE (version = ANY (ARRAY[(2)::bigint, (4)::bigint]))
END)
) with (fillfactor=80);
-- Lists of what FAILED, page by page.
CREATE INDEX external_transfer_failed ON public.external_transfer USING btree (customer_id, id) WHERE (status = ANY (ARRAY['failed'::external_transfer_status, 'cancelled'::external_transfer_status]));
-- What is PENDING: of a customer, and of all for the operator and verify.
CREATE INDEX external_transfer_open ON public.external_transfer USING btree (customer_id, id) WHERE (status = ANY (ARRAY['requested'::external_transfer_status, 'approved'::external_transfer_status, 'sent'::external_transfer_status]));
-- Lists by crypto_tx_hashes, page by page: what a step has named.
CREATE INDEX external_transfer_transaction ON public.external_transfer USING btree (customer_id, crypto_tx_hash, id) WHERE (crypto_tx_hash IS NOT NULL);
-- Lists of a customer by the time of the last change, page by page.
CREATE INDEX external_transfer_updated ON public.external_transfer USING btree (customer_id, updated_at, id);
grant select, insert, update on external_transfer to service;

-- Money of a profile that the operator has blocked, because a court or an authority demands it, until the operator
-- lifts the hold. While it is not lifted its amount is in pending of the profile's account.
create table legal_hold (
  profile_id uuid not null,
  -- Even, and in the order of creation. Also the id of the journal that holds the money; the odd id beside it is that
  -- of the journal that gives it back.
  id uuid not null,
  customer_id uuid not null,
  asset code not null,
  amount amount not null,
  -- The operator's key, which a claim keeps unique. Null: without one.
  ref_id text collate "C",
  -- In the operator's words.
  reason text not null,
  -- The operator, as in callers of its batch.
  placed_by text not null,
  created_at timestamp with time zone not null,
  lifted_by text,
  -- Null, as is lifted_by: it holds.
  lifted_at timestamp with time zone,
  -- The version of the row. A write states the version that it was decided on.
  version bigint not null,
  -- With batch: the batch that wrote this version, and has its digest in changes.
  slot smallint not null,
  batch bigint not null,
  -- The holds of a profile, and one that is lifted.
  constraint legal_hold_pkey PRIMARY KEY (profile_id, id),
  constraint amount_above_zero CHECK (((amount)::numeric > (0)::numeric)),
  constraint placed_and_then_lifted CHECK (((version =
CASE
    WHEN (lifted_at IS NULL) THEN 1
    ELSE 2
END) AND ((lifted_at IS NULL) = (lifted_by IS NULL))))
) with (fillfactor=80);
-- What holds, for verify and the operator.
CREATE INDEX legal_hold_active ON public.legal_hold USING btree (profile_id, id) WHERE (lifted_at IS NULL);
grant select, insert, update on legal_hold to service;

-- Between USD and a stablecoin, or between two stablecoins, one to one and free: mints, redeems or both. While CREATED,
-- its amount is in pending of the profile's account of the source asset. Settlement takes it from there, and pays the
-- target asset to the recipient; cancelling gives it back. The service settles each by itself, after
-- PARBOOK_SETTLEMENT_DELAY_MS; until then its customer can cancel it.
create table conversion (
  profile_id uuid not null,
  -- Even, and in the order of creation. Also the id of the journal that holds the money; the odd id beside it is that
  -- of the journal that ends the hold.
  id uuid not null,
  customer_id uuid not null,
  source_asset code not null,
  target_asset code not null,
  -- Of the source asset, and the same of the target asset.
  amount amount not null,
  -- Who is paid, a profile of the same customer. Null: the profile itself.
  recipient_profile_id uuid,
  -- The customer's key, which a claim keeps unique.
  ref_id text,
  -- The customer's own reference to one of its end users, as account_id is to that user's account. Not verified.
  identity_id text,
  account_id text,
  metadata jsonb,
  status conversion_status not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  settled_at timestamp with time zone,
  cancelled_at timestamp with time zone,
  -- The version of the row: 1 while it is CREATED, then 2. A write states the version that it was decided on.
  version bigint not null,
  -- With batch: the batch that wrote this version, and has its digest in changes.
  slot smallint not null,
  batch bigint not null,
  -- A conversion that settles or is cancelled.
  constraint conversion_pkey PRIMARY KEY (profile_id, id),
  constraint amount_above_zero CHECK (((amount)::numeric > (0)::numeric)),
  constraint assets_differ CHECK (((source_asset)::text <> (target_asset)::text)),
  constraint cancelled_has_time CHECK (((status = 'CANCELLED'::conversion_status) = (cancelled_at IS NOT NULL))),
  constraint closed_in_second_version CHECK ((version =
CASE status
    WHEN 'CREATED'::conversion_status THEN 1
    ELSE 2
END)),
  constraint settled_has_time CHECK (((status = 'SETTLED'::conversion_status) = (settled_at IS NOT NULL)))
) with (fillfactor=80);
-- What is due for settlement, the oldest first, and how much is.
CREATE INDEX conversion_created ON public.conversion USING btree (created_at) WHERE (status = 'CREATED'::conversion_status);
-- Lists of a customer by creation, page by page, and a conversion by its id.
CREATE INDEX conversion_customer ON public.conversion USING btree (customer_id, id);
grant select, insert, update on conversion to service;

-- The engine's row of a market. Every command of an engine changes it, so the commands of a market have one order, and
-- an engine that was replaced can commit nothing more.
create table market_head (
  market code not null,
  -- The fencing token of the lease market/<code>, under which the engine writes.
  fence bigint not null,
  -- Of the last match. Null before the first.
  last_price amount,
  -- The taker's execution id of the last match; 0 before the first.
  last_execution_id bigint not null,
  -- The sequence of the last order that the engine took.
  last_sequence bigint not null,
  -- The version of the row, and of the order book: sequence on the wire.
  version bigint not null,
  -- With batch: the batch that wrote this version, and has its digest in changes.
  slot smallint not null,
  batch bigint not null,
  -- The head of a market.
  constraint market_head_pkey PRIMARY KEY (market),
  constraint last_price_of_last_match CHECK (((last_price IS NULL) = (last_execution_id = 0))),
  constraint market_exists FOREIGN KEY (market) REFERENCES market(code)
);
grant select, insert, update on market_head to service;

-- An order. What it holds is in trading of the profile's account of the quote asset (BUY) or the base asset (SELL). It
-- is PENDING_SUBMISSION, with its funds held, until the market's engine takes it. From then on only the engine changes
-- it; once closed it never changes again. One that is REJECTED when it is placed (identity_pair, gtt_too_soon) is
-- closed in its first version: it held nothing, has no journal, and no engine took it.
create table orders (
  profile_id uuid not null,
  -- Even, and in the order of creation. Also the id of the journal that holds its funds; the odd id beside it is that
  -- of the journal that releases the rest.
  id uuid not null,
  customer_id uuid not null,
  market code not null,
  side order_side not null,
  type order_type not null,
  time_in_force time_in_force not null,
  -- How much to buy or sell. Null for a MARKET or STOP_MARKET buy.
  base_amount amount,
  -- Of a MARKET or STOP_MARKET buy: the most to spend, before the commission. Null for every other order.
  quote_amount amount,
  -- The limit, of a LIMIT, POST_ONLY_LIMIT or STOP_LIMIT order. Null for every other order.
  price amount,
  -- At which a STOP_MARKET or STOP_LIMIT order becomes active. Null for every other order.
  stop_price amount,
  -- Of GTT orders. Null for every other order.
  expiration_date timestamp with time zone,
  -- As a share of gross; fixed when it is placed, like maker_rebate, whatever the tiers become.
  taker_rate rate not null,
  maker_rebate rate not null,
  -- Who receives what is bought (BUY) or the proceeds (SELL), a profile of the same customer. Null: the profile itself,
  -- which always gets back what is not needed of its hold.
  recipient_profile_id uuid,
  -- The customer's key, which a claim keeps unique until 24 hours after the order is closed.
  ref_id text,
  -- The customer's own reference to one of its end users, as identity_account_id is to that user's account. Not
  -- verified.
  identity_id text,
  identity_account_id text,
  -- The customer's word. Orders of one customer never trade with each other, with or without it.
  self_match_prevention_id text,
  metadata jsonb,
  created_at timestamp with time zone not null,
  status order_status not null,
  -- Numbers the orders of the market as its engine took them. Null: not taken yet, or closed without: REJECTED when it
  -- was placed or because the market was halted, or CANCELLED because it had expired before.
  sequence bigint,
  -- Its place among the resting orders of its side and price; a triggered stop stands behind those that are there.
  -- Null: it never rested.
  priority bigint,
  -- In the base asset: the sum of amount of its executions.
  filled amount not null,
  -- In the quote asset: the sum of amount times price of its executions.
  filled_gross amount not null,
  -- What it still holds of its account's trading part; 0 when closed. Of a SELL, the rest of its base amount. Of a BUY,
  -- what the rest may cost with the commission: each match releases what a better price or being the maker saved, and
  -- closing the rest.
  held amount not null,
  -- Whether the stop price was reached.
  is_triggered boolean not null,
  -- Of a REJECTED order. Null for every other.
  reject_reason reject_reason,
  -- Of a CANCELLED order. Null for every other.
  cancel_reason cancel_reason,
  updated_at timestamp with time zone not null,
  -- Null: it is not closed.
  closed_at timestamp with time zone,
  -- The version of the row. A write states the version that it was decided on.
  version bigint not null,
  -- With batch: the batch that wrote this version, and has its digest in changes.
  slot smallint not null,
  batch bigint not null,
  -- An order of a profile: reading, filling and cancelling it.
  constraint orders_pkey PRIMARY KEY (profile_id, id),
  constraint base_amount_above_zero CHECK (((base_amount)::numeric > (0)::numeric)),
  constraint cancelled_has_reason CHECK (((status = 'CANCELLED'::order_status) = (cancel_reason IS NOT NULL))),
  constraint closed_has_time_and_holds_nothing CHECK ((((closed_at IS NOT NULL) = (status = ANY (ARRAY['FILLED'::order_status, 'CANCELLED'::order_status, 'REJECTED'::order_status, 'EXPIRED'::order_status]))) AND ((closed_at IS NULL) OR ((held)::numeric = (0)::numeric)))),
  constraint either_base_or_quote_amount CHECK ((num_nonnulls(base_amount, quote_amount) = 1)),
  constraint expiration_date_of_gtt_only CHECK (((expiration_date IS NOT NULL) = (time_in_force = 'GTT'::time_in_force))),
  constraint filled_gross_not_negative CHECK (((filled_gross)::numeric >= (0)::numeric)),
  constraint filled_in_full CHECK (((status <> 'FILLED'::order_status) OR (((filled)::numeric > (0)::numeric) AND ((base_amount IS NULL) OR ((filled)::numeric = (base_amount)::numeric))))),
  constraint filled_not_negative CHECK (((filled)::numeric >= (0)::numeric)),
  constraint filled_within_amount CHECK (((filled)::numeric <= (base_amount)::numeric)),
  constraint held_not_negative CHECK (((held)::numeric >= (0)::numeric)),
  constraint open_has_its_place CHECK (((status <> 'OPEN'::order_status) OR ((sequence IS NOT NULL) AND (priority IS NOT NULL)))),
  constraint price_above_zero CHECK (((price)::numeric > (0)::numeric)),
  constraint price_fits_type CHECK (((price IS NOT NULL) = (type = ANY (ARRAY['LIMIT'::order_type, 'POST_ONLY_LIMIT'::order_type, 'STOP_LIMIT'::order_type])))),
  constraint quote_amount_above_zero CHECK (((quote_amount)::numeric > (0)::numeric)),
  constraint quote_amount_of_market_buys_only CHECK (((quote_amount IS NOT NULL) = ((side = 'BUY'::order_side) AND (type = ANY (ARRAY['MARKET'::order_type, 'STOP_MARKET'::order_type]))))),
  constraint rejected_has_filled_nothing CHECK (((status <> 'REJECTED'::order_status) OR ((filled)::numeric = (0)::numeric))),
  constraint rejected_has_reason CHECK (((status = 'REJECTED'::order_status) = (reject_reason IS NOT NULL))),
  constraint stop_price_above_zero CHECK (((stop_price)::numeric > (0)::numeric)),
  constraint stop_price_fits_type CHECK (((stop_price IS NOT NULL) = (type = ANY (ARRAY['STOP_MARKET'::order_type, 'STOP_LIMIT'::order_type])))),
  constraint submitted_was_taken CHECK (((status <> 'SUBMITTED'::order_status) OR (sequence IS NOT NULL))),
  constraint time_in_force_fits_type CHECK (
CASE
    WHEN (type = 'MARKET'::order_type) THEN (time_in_force = 'IOC'::time_in_force)
    WHEN (type = ANY (ARRAY['STOP_MARKET'::order_type, 'STOP_LIMIT'::order_type])) THEN (time_in_force = ANY (ARRAY['GTC'::time_in_force, 'GTT'::time_in_force]))
    ELSE true
END),
  constraint triggered_only_at_stop_price CHECK (((NOT is_triggered) OR (stop_price IS NOT NULL)))
) with (fillfactor=45);
-- Lists by identity_account_id, page by page.
CREATE INDEX orders_account ON public.orders USING btree (customer_id, identity_account_id, id) WHERE (identity_account_id IS NOT NULL);
-- Lists of a customer by creation, page by page, and an order without its profile.
CREATE INDEX orders_customer ON public.orders USING btree (customer_id, id);
-- Lists by ref_id.
CREATE INDEX orders_ref ON public.orders USING btree (customer_id, ref_id) WHERE (ref_id IS NOT NULL);
grant select, insert, update on orders to service;

-- The orders that are PENDING_SUBMISSION, for the engines: derived from orders, like booked_order. The statement that
-- writes an order also writes its row here, or deletes it once the order has another status, so nothing that changes is
-- in an index of orders. In no digest: verify compares the columns with those of orders
-- (docs/decisions/0033-open-orders.md).
create table pending_order (
  market code not null,
  -- In the order of creation.
  id uuid not null,
  profile_id uuid not null,
  customer_id uuid not null,
  created_at timestamp with time zone not null,
  -- The order's version.
  version bigint not null,
  -- What the engine of a market has yet to take, the oldest first; and the row of an order that changes.
  constraint pending_order_pkey PRIMARY KEY (market, id)
);
grant select, insert, update, delete on pending_order to service;

-- The orders that are in an engine's book: OPEN, on the order book, or SUBMITTED, waiting for their stop price or
-- between two parts of their execution. Derived from orders, like pending_order, with what is needed of the OPEN ones
-- to restore and to read the book; of SUBMITTED ones an engine reads orders, too.
create table booked_order (
  market code not null,
  id uuid not null,
  profile_id uuid not null,
  customer_id uuid not null,
  recipient_profile_id uuid,
  -- The order's version.
  version bigint not null,
  priority bigint,
  expiration_date timestamp with time zone,
  side order_side not null,
  status order_status not null,
  price amount,
  base_amount amount,
  filled amount not null,
  -- The orders of a market, when an engine starts; and the row of an order that changes.
  constraint booked_order_pkey PRIMARY KEY (market, id),
  constraint rests_waits_or_executes CHECK ((status = ANY (ARRAY['OPEN'::order_status, 'SUBMITTED'::order_status])))
) with (fillfactor=80);
-- Lists of a customer's open orders: few among all that it ever had.
CREATE INDEX booked_order_customer ON public.booked_order USING btree (customer_id, id);
-- The levels of a market's order book, the best first from either end. Nothing that a partial fill changes is in it.
CREATE INDEX booked_order_level ON public.booked_order USING btree (market, side, price) WHERE (status = 'OPEN'::order_status);
grant select, insert, update, delete on booked_order to service;

-- A cancel that was requested, until the market's engine has carried it out or found the order closed, and deletes the
-- row.
create table order_cancel (
  profile_id uuid not null,
  order_id uuid not null,
  market code not null,
  requested_at timestamp with time zone not null,
  -- Who asked, as an entry of a batch's callers, among which the engine's batch that carries it out has it. Every
  -- request has one, although the column allows null.
  caller json,
  -- One request per order, and the ones that are done.
  constraint order_cancel_pkey PRIMARY KEY (profile_id, order_id)
);
-- What the engine of a market has yet to cancel, the oldest first.
CREATE INDEX order_cancel_market ON public.order_cancel USING btree (market, requested_at);
grant select, insert, delete on order_cancel to service;

-- One order's side of a match. A match is two rows: the maker's, whose order rested, with an even id, and the taker's
-- with the odd id beside it. Never changed or deleted.
create table execution (
  profile_id uuid not null,
  -- 41 bits of milliseconds since 2020, 8 of the market's number, 14 of a counter: ids are in the order of time, and a
  -- range of times is a range of ids.
  id bigint not null,
  -- The order's, as are profile_id, market and side.
  customer_id uuid not null,
  order_id uuid not null,
  market code not null,
  side order_side not null,
  -- In the base asset.
  amount amount not null,
  -- Of one unit of the base asset, in the quote asset.
  price amount not null,
  -- In the quote asset: the taker's. Zero on the maker's side.
  commission amount not null,
  -- In the quote asset: the maker's. Zero on the taker's side.
  rebate amount not null,
  -- The order's identity_account_id: named as in the API, like the other words of callers.
  account_id text,
  executed_at timestamp with time zone not null,
  -- With batch: the batch that added it.
  slot smallint not null,
  batch bigint not null,
  -- Lists of a profile by time, page by page.
  constraint execution_pkey PRIMARY KEY (profile_id, id),
  constraint amount_above_zero CHECK (((amount)::numeric > (0)::numeric)),
  constraint commission_not_negative CHECK (((commission)::numeric >= (0)::numeric)),
  constraint commission_of_taker_only CHECK ((((commission)::numeric = (0)::numeric) OR ((id & (1)::bigint) = 1))),
  constraint id_above_zero CHECK ((id > 0)),
  constraint price_above_zero CHECK (((price)::numeric > (0)::numeric)),
  constraint rebate_not_negative CHECK (((rebate)::numeric >= (0)::numeric)),
  constraint rebate_of_maker_only CHECK ((((rebate)::numeric = (0)::numeric) OR ((id & (1)::bigint) = 0)))
);
-- Lists by account_id, page by page.
CREATE INDEX execution_account ON public.execution USING btree (customer_id, account_id, id) WHERE (account_id IS NOT NULL);
-- The executions of a range of batches, for verify and exports.
CREATE INDEX execution_batch ON public.execution USING brin (batch int8_minmax_multi_ops) WITH (pages_per_range='32', autosummarize='on');
-- Lists of a customer by time, page by page; and what a customer traded, for verify.
CREATE INDEX execution_customer ON public.execution USING btree (customer_id, id);
-- The maker's side of a match, for verify: it finds each execution's counterpart.
CREATE INDEX execution_maker ON public.execution USING btree (market, id) WHERE ((id & (1)::bigint) = 0);
-- The matches of a market by time, each by its taker's side: recent trades, candles, prices, the rolling day and the
-- feed, mostly from the index alone.
CREATE INDEX execution_match ON public.execution USING btree (market, id) INCLUDE (price, amount) WHERE ((id & (1)::bigint) = 1);
-- The executions of an order.
CREATE INDEX execution_order ON public.execution USING btree (order_id, id);
grant select, insert on execution to service;

-- What a customer traded on a market in a day (UTC), as maker and as taker: the fee tier follows from 30 of these days.
-- Written in the batch of each match; verify sums the executions.
create table customer_volume (
  customer_id uuid not null,
  day date not null,
  market code not null,
  -- In the market's quote asset: the sum of amount times price.
  gross amount not null,
  -- The version of the row. A write states the version that it was decided on.
  version bigint not null,
  -- With batch: the batch that wrote this version, and has its digest in changes.
  slot smallint not null,
  batch bigint not null,
  -- What a customer traded since a day, and the day that a match counts to.
  constraint customer_volume_pkey PRIMARY KEY (customer_id, day, market),
  constraint gross_above_zero CHECK (((gross)::numeric > (0)::numeric))
) with (fillfactor=80);
grant select, insert, update on customer_volume to service;

-- A round of the publisher of events: how far it had read the chain of each slot. What lies between a cut and the one
-- before it became events, in an order that follows from the batches alone: by at, then slot, but never against the
-- numbers of a slot or the versions of an object. So the events follow from the cuts and the chain
-- (docs/decisions/0036-events.md). The publisher's place is the last cut. Never changed or deleted.
create table event_cut (
  -- Numbers the cuts from 1, without gaps: of two publishers one fails here.
  cut bigint not null,
  -- The at of its events, which the API calls created_at: never before that of the cut before, nor before its last
  -- batch.
  at timestamp with time zone not null,
  -- How many events it made.
  events integer not null,
  -- All slots that had batches by then, in order, whether or not this cut has any of theirs.
  slots smallint[] not null,
  -- Of each slot of slots, the number n of the last batch that is in this cut or in one before.
  heads bigint[] not null,
  -- Of each market that was halted or resumed in it, the customers who are told: those who had open orders on it when
  -- the publisher made the cut, which is a moment after the halt. {"BTCUSD": [customer_id, ...]}. Null: no market was.
  market_readers json,
  -- SHA-256 of a line for each of its events, in order: customer, type, object and version, with a space between them;
  -- what never changes has no version.
  digest bytea not null,
  -- The fencing token of the lease events, under which it was written.
  fence bigint not null,
  -- The last cut; and, by bisection, the cut at a time.
  constraint event_cut_pkey PRIMARY KEY (cut),
  constraint a_head_for_each_slot CHECK ((cardinality(slots) = cardinality(heads))),
  constraint cut_above_zero CHECK ((cut > 0)),
  constraint events_not_negative CHECK ((events >= 0))
);
grant select, insert on event_cut to service;

-- What the customers are told: consecutive events of one customer in one cut. One row for a run of transfers and
-- executions, which never change, so that thousands of transfers a second cost few rows; a row of its own for each
-- version of an object that changes. Events are made of every transfer that has no steps (one for each side), every
-- execution, each step of a deposit or a withdrawal, and the versions of conversions, orders and profiles that change
-- what the customer is told: of an order its status, its fills or its trigger, of a profile all but incoming_count and
-- last_deactivation; and of a market's halts and resumptions, for those whom market_readers of the cut names. Of
-- nothing else: not of legal holds, fees or access. Derived from the chain and event_cut, with which verify compares
-- it. Removed when it is older than PARBOOK_EVENT_DAYS, but for what event_retention names.
create table event (
  customer_id uuid not null,
  -- Of its first event. A customer's events are numbered from 1, without gaps; of old ones only some are kept.
  first_number bigint not null,
  -- The cut that made it.
  cut bigint not null,
  -- The cut's.
  at timestamp with time zone not null,
  -- The deposit, withdrawal, conversion, order or profile whose version it is. Null: a run; or one event of a market,
  -- which unlike those of a run has a version.
  object_id uuid,
  -- How many events it holds.
  count integer not null,
  -- [type, object] of each event of a run, [type, object, version, state] of every other. The types are in
  -- docs/events.md. object is the id of the customer's own record, so of a credit the odd one; of a market its code.
  -- state is what the columns that are overwritten held in that version, as text. Everything else of the object never
  -- changes, and is read from its row.
  entries json not null,
  -- A customer's events by number; and, by bisection, by time.
  constraint event_pkey PRIMARY KEY (customer_id, first_number),
  constraint count_above_zero CHECK ((count > 0)),
  constraint first_number_above_zero CHECK ((first_number > 0))
);
-- The rows of a range of cuts: for whom there is news, for verify, and the oldest ones.
CREATE INDEX event_by_cut ON public.event USING brin (cut int8_minmax_multi_ops) WITH (pages_per_range='16', autosummarize='on');
-- The events of an object, and its state at the last of them.
CREATE INDEX event_object ON public.event USING btree (customer_id, object_id, first_number) WHERE (object_id IS NOT NULL);
grant select, insert, delete on event to service;

-- From which cut on every event is there and listed, in one row. Of older ones there are only the last row of each
-- customer, from which its numbers go on, and of each object that may still change, for its state.
create table event_retention (
  first_cut bigint not null,
  only_one boolean default true not null,
  -- No query: it allows one row.
  constraint event_retention_pkey PRIMARY KEY (only_one),
  constraint first_cut_above_zero CHECK ((first_cut > 0)),
  constraint only_one_is_true CHECK (only_one)
);
grant select, update on event_retention to service;

-- Where a customer wants its events posted (docs/webhooks.md), as the customer or the operator has set it. What is
-- delivered is in webhook_progress. One that is deleted stays, for what its attempts say.
create table webhook (
  id uuid not null,
  customer_id uuid not null,
  -- The customer's name for it.
  name text collate "C" not null,
  -- Where it posts to, as it was given.
  url text not null,
  -- The types of events that it gets; * at the end of one stands for any rest.
  types text[] not null,
  -- thin: what happened to which object. full: the object too, as it was then.
  body text not null,
  -- per_object: never two events of one object at once, nor out of order. strict: a batch of up to 100 events at a
  -- time, all in order. any: as they come.
  delivery_order text not null,
  -- At most so many, on average.
  deliveries_per_second smallint not null,
  -- How the receiver lets it in, but for the secret, which is in webhook_secret: {"kind": "api_key", "header"} or
  -- {"kind": "oauth", "token_url", "client_id", "scope"}. Null: by the signature alone.
  receiver_access json,
  -- One of the customer's ten places for active webhooks; which has no meaning. Null: it is disabled or deleted.
  active_place smallint,
  -- customer, operator: disabled by them. gone: its receiver answered 410. failing: nothing was accepted for five days.
  -- Null: it is not disabled.
  disabled_reason text,
  -- Since when nothing is delivered; it keeps its place. Null: it is not disabled.
  disabled_at timestamp with time zone,
  -- Null: it is not deleted.
  deleted_at timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  -- Rises with each change.
  version bigint not null,
  -- A webhook, and foreign keys.
  constraint webhook_pkey PRIMARY KEY (id),
  constraint active_or_disabled_or_deleted CHECK (((active_place IS NULL) = ((disabled_at IS NOT NULL) OR (deleted_at IS NOT NULL)))),
  constraint at_most_10_active CHECK (((active_place >= 1) AND (active_place <= 10))),
  constraint body_is_known CHECK ((body = ANY (ARRAY['thin'::text, 'full'::text]))),
  constraint customer_exists FOREIGN KEY (customer_id) REFERENCES customer(id),
  constraint deliveries_from_1_to_100_a_second CHECK (((deliveries_per_second >= 1) AND (deliveries_per_second <= 100))),
  constraint delivery_order_is_known CHECK ((delivery_order = ANY (ARRAY['per_object'::text, 'strict'::text, 'any'::text]))),
  constraint disabled_reason_is_known CHECK ((disabled_reason = ANY (ARRAY['customer'::text, 'operator'::text, 'gone'::text, 'failing'::text]))),
  constraint reason_of_disabled CHECK (((disabled_reason IS NULL) = (disabled_at IS NULL))),
  constraint types_from_1_to_100 CHECK (((cardinality(types) >= 1) AND (cardinality(types) <= 100)))
);
-- What is delivered to; and a customer has at most 10 active webhooks.
CREATE UNIQUE INDEX webhook_active ON public.webhook USING btree (customer_id, active_place) WHERE (active_place IS NOT NULL);
-- Which webhooks the service has disabled, for their records in webhook_disabling.
CREATE INDEX webhook_disabled_by_service ON public.webhook USING btree (disabled_at) WHERE (disabled_reason = ANY (ARRAY['gone'::text, 'failing'::text]));
-- The webhooks of a customer; and a customer gives a name once.
CREATE UNIQUE INDEX webhook_name ON public.webhook USING btree (customer_id, name) WHERE (deleted_at IS NULL);
grant select, insert, update on webhook to service;

-- What webhooks sign with, and what they show to their receivers. Up to four of a kind that signs while it is rotated.
-- Removed when it has expired.
create table webhook_secret (
  id uuid not null,
  -- Whose it is.
  webhook_id uuid not null,
  -- v1, v1a: signs (HMAC-SHA-256, Ed25519). api_key, oauth: shown to the receiver, as receiver_access says.
  kind text not null,
  -- In clear, or, with PARBOOK_KEY_ENCRYPTION_KEY, encrypted as signing keys are.
  secret json not null,
  -- Its public half, which receivers read. Null: it has none.
  public_key text,
  created_at timestamp with time zone not null,
  -- Until then it signs beside its successor. Null: it does not expire.
  expires_at timestamp with time zone,
  -- A secret.
  constraint webhook_secret_pkey PRIMARY KEY (id),
  constraint kind_is_known CHECK ((kind = ANY (ARRAY['v1'::text, 'v1a'::text, 'api_key'::text, 'oauth'::text]))),
  constraint public_key_of_v1a CHECK (((public_key IS NOT NULL) = (kind = 'v1a'::text))),
  constraint webhook_exists FOREIGN KEY (webhook_id) REFERENCES webhook(id)
);
-- The secrets of a webhook.
CREATE INDEX webhook_secret_webhook ON public.webhook_secret USING btree (webhook_id, kind, created_at);
grant select, insert, update, delete on webhook_secret to service;

-- How far the events of a customer were delivered to a webhook. Written by the process with the lease webhooks.
create table webhook_progress (
  -- Whose it is.
  webhook_id uuid not null,
  customer_id uuid not null,
  -- Each of the customer's events up to this number was accepted, or is not of its types, or is in webhook_delivery.
  read_to bigint not null,
  -- Events behind read_to that were accepted while an earlier one was not: they are not posted again. Mostly few.
  accepted_behind bigint[] default '{}'::bigint[] not null,
  -- Of a strict webhook, the last event of the batch that is being delivered, so that it is the same batch however
  -- often it is tried. Null: none is.
  batch_end bigint,
  -- Since when each attempt failed, without two days in which none was made. Null: the last one was accepted, or there
  -- was none.
  failing_since timestamp with time zone,
  -- When an attempt failed last. Null: none did.
  last_failure_at timestamp with time zone,
  -- When something was accepted last. Null: nothing was.
  last_success_at timestamp with time zone,
  -- Rises when a process begins to deliver, and when somebody sets the place or repeats deliveries. Who delivers writes
  -- only if it is the version that it has read.
  version bigint not null,
  -- The progress of a webhook.
  constraint webhook_progress_pkey PRIMARY KEY (webhook_id),
  constraint accepted_behind_what_was_read CHECK ((read_to < ALL (accepted_behind))),
  constraint batch_behind_what_was_read CHECK ((batch_end > read_to)),
  constraint read_to_not_negative CHECK ((read_to >= 0)),
  constraint webhook_exists FOREIGN KEY (webhook_id) REFERENCES webhook(id)
) with (fillfactor=50);
grant select, insert, update on webhook_progress to service;

-- Events that a webhook's receiver has not accepted, of those that webhook_progress has passed, or of the batch of a
-- strict one. Removed when it accepts them, or when the event is no longer kept.
create table webhook_delivery (
  -- What did not deliver it.
  webhook_id uuid not null,
  -- The customer's number of the event.
  number bigint not null,
  customer_id uuid not null,
  -- The object that the event is of. Its later events wait for it, unless the webhook takes them in any order.
  object_id text collate "C" not null,
  -- RETRYING: is tried again at next_attempt_at. BLOCKED: waits for an earlier event of its object. UNDELIVERED: is
  -- tried no more, until somebody asks for it.
  status text not null,
  -- How often it was tried.
  attempts integer not null,
  -- When it is tried again. Null: not by itself.
  next_attempt_at timestamp with time zone,
  -- Why the last attempt failed. Null: it was not tried.
  last_error text,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  -- What of a webhook is open, in order.
  constraint webhook_delivery_pkey PRIMARY KEY (webhook_id, number),
  constraint attempts_not_negative CHECK ((attempts >= 0)),
  constraint next_attempt_of_retrying CHECK (((next_attempt_at IS NOT NULL) = (status = 'RETRYING'::text))),
  constraint status_is_known CHECK ((status = ANY (ARRAY['RETRYING'::text, 'BLOCKED'::text, 'UNDELIVERED'::text]))),
  constraint webhook_exists FOREIGN KEY (webhook_id) REFERENCES webhook(id)
) with (fillfactor=80);
-- What of a webhook is delivered later, beside what it has given up.
CREATE INDEX webhook_delivery_open ON public.webhook_delivery USING btree (webhook_id, number) WHERE (status <> 'UNDELIVERED'::text);
-- Of the events of a page, to how many webhooks they could not be delivered.
CREATE INDEX webhook_delivery_undelivered ON public.webhook_delivery USING btree (customer_id, number) WHERE (status = 'UNDELIVERED'::text);
grant select, insert, update, delete on webhook_delivery to service;

-- What happened when something was posted to a webhook. Kept for 30 days, and at most the last 1,000 of each webhook.
create table webhook_attempt (
  -- To which.
  webhook_id uuid not null,
  -- In the order of the attempts.
  id uuid not null,
  -- What was posted as webhook-id.
  message_id text collate "C" not null,
  -- The event, or the first of the batch. Null: a test.
  number bigint,
  -- How many events were posted.
  events integer not null,
  at timestamp with time zone not null,
  -- How long it took, in milliseconds.
  ms integer not null,
  -- The HTTP status of the answer. Null: there was none.
  status smallint,
  -- Why there was no answer, or why it was not accepted. Null: it was accepted.
  error text,
  -- The first KiB of the answer's body. Null: there was none.
  answer bytea,
  -- The attempts of a webhook, newest first.
  constraint webhook_attempt_pkey PRIMARY KEY (webhook_id, id),
  constraint an_answer_or_an_error CHECK (((status IS NOT NULL) OR (error IS NOT NULL))),
  constraint answer_up_to_a_kibibyte CHECK ((length(answer) <= 1024)),
  constraint webhook_exists FOREIGN KEY (webhook_id) REFERENCES webhook(id)
);
grant select, insert, delete on webhook_attempt to service;

-- That the service itself has disabled a webhook, the last time that it did, and how the webhook was set then. Its
-- customer is told by an event, which follows from the chain, so a lane writes it (docs/webhooks.md).
create table webhook_disabling (
  customer_id uuid not null,
  -- The webhook's.
  id uuid not null,
  -- The webhook's then.
  name text collate "C" not null,
  -- The webhook's then.
  url text not null,
  -- gone: its receiver answered 410. failing: nothing was accepted for five days.
  reason text not null,
  -- The webhook's then. A webhook that has another one now is not recorded yet.
  disabled_at timestamp with time zone not null,
  -- How often it was disabled. A write states the version that it was decided on.
  version bigint not null,
  -- With batch: the batch that wrote this version, and has its digest in changes.
  slot smallint not null,
  batch bigint not null,
  -- The last time of a webhook.
  constraint webhook_disabling_pkey PRIMARY KEY (customer_id, id),
  constraint reason_is_known CHECK ((reason = ANY (ARRAY['gone'::text, 'failing'::text])))
) with (fillfactor=80);
grant select, insert, update on webhook_disabling to service;

-- What each change of the order book did, for nodes that follow it (docs/decisions/0011-the-feed.md). No part of the
-- ledger. Unlogged: a crash empties it, a standby does not have it, and a node that misses a row reads the whole book.
-- The engine's node adds rows after the fact, and removes them after some minutes.
create unlogged table book_change (
  market code not null,
  -- The version of the order book after it, as in market_head.
  version bigint not null,
  -- [side, price, new total] of each level that changed; [] when none did.
  levels json not null,
  at timestamp with time zone not null,
  -- What changed on a market since a version, and the oldest rows.
  constraint book_change_pkey PRIMARY KEY (market, version)
);
grant select, insert, delete on book_change to service;

-- What one process at a time may do. Only the database's clock decides whether a lease has ended. A lease alone does
-- not stop a process that has lost it: the hash chain of a slot and the head of a market do.
create table lease (
  -- slot/<n>: write that chain. market/<code>: be its engine. events: publish events. Others are jobs of the sandbox.
  name text collate "C" not null,
  holder text not null,
  -- The fencing token: rises with every new holder.
  fence bigint not null,
  expires_at timestamp with time zone not null,
  -- The lease of a name.
  constraint lease_pkey PRIMARY KEY (name)
);
grant select, insert, update on lease to service;

-- Requests that were denied for want of authority, for the operator who asks afterwards. A process counts equal denials
-- together and writes them once a minute: a crash loses those of the last minute. Of more than a hundred different ones
-- in a minute it adds up the rest by kind and client, and past two hundred by kind, so that a flood fills neither table
-- nor disk. Kept for 30 days.
create table access_denial (
  -- Made when the row is written: a range of times is a range of ids.
  id uuid not null,
  kind text not null,
  -- Of a token: proved by it. Of invalid_client: as it was presented, proved by nothing, and null when there is no such
  -- client, because what was presented may be a secret in the wrong place.
  client_id text collate "C",
  token_id uuid,
  -- Null, with the operation: of several addresses.
  address text,
  -- The method and the path's pattern, such as "GET /v2/profiles/:id".
  operation text,
  first_at timestamp with time zone not null,
  last_at timestamp with time zone not null,
  count bigint not null,
  -- Denials since a time, the latest first, and those that are 30 days old.
  constraint access_denial_pkey PRIMARY KEY (id),
  constraint address_up_to_100_characters CHECK ((length(address) <= 100)),
  constraint client_id_up_to_100_characters CHECK ((length(client_id) <= 100)),
  constraint count_above_zero CHECK ((count > 0)),
  constraint kind_is_known CHECK ((kind = ANY (ARRAY['no_token'::text, 'invalid_token'::text, 'insufficient_scope'::text, 'invalid_client'::text]))),
  constraint last_not_before_first CHECK ((last_at >= first_at)),
  constraint operation_up_to_200_characters CHECK ((length(operation) <= 200))
);
grant select, insert, delete on access_denial to service;

-- Names this ledger, in one row, made with it: tells a checkpoint of another ledger from one of this whose history was
-- recomputed. A copy or a restored backup keeps the name.
create table ledger (
  id uuid not null,
  -- Whether it was ever filled from an operator's catalogue (PARBOOK_CATALOGUE): the program's own is then not added to
  -- it.
  own_catalogue boolean default false not null,
  only_one boolean default true not null,
  -- No query: the id is the key.
  constraint ledger_pkey PRIMARY KEY (id),
  -- No query: it allows one row.
  constraint ledger_has_one_row UNIQUE (only_one),
  constraint only_one_is_true CHECK (only_one)
);
grant select on ledger to service;

-- The mode of the first service that started on this database, in one row, for good: a sandbox has money that nobody
-- paid in, so it never becomes production, and production never becomes a sandbox.
create table service_mode (
  -- As PARBOOK_MODE.
  mode text not null,
  only_one boolean default true not null,
  -- No query: it allows one row.
  constraint service_mode_pkey PRIMARY KEY (only_one),
  constraint mode_is_known CHECK ((mode = ANY (ARRAY['sandbox'::text, 'production'::text]))),
  constraint only_one_is_true CHECK (only_one)
);
grant select, insert on service_mode to service;

-- The migrations that were applied to this database.
create table migration (
  number integer not null,
  name text not null,
  -- SHA-256 of the file: a file that was edited afterwards is rejected.
  checksum text not null,
  applied_at timestamp with time zone not null,
  -- No query: it keeps numbers apart.
  constraint migration_pkey PRIMARY KEY (number)
);
grant select on migration to service;
