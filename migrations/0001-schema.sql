-- The schema of 1.0: types, reference data, customers and their access, the ledger, transfers, conversions, orders and
-- executions, market data, operations. There is no version before it: a database of 0.1 is rejected (docs/upgrade.md).
--
-- Rules that every table here keeps (docs/decisions/0002-tables-that-can-be-distributed.md):
-- a per-profile table has profile_id (or the owner's id) first in its primary key, a per-customer table customer_id, what
-- only the engine of a market works through has market;
-- no foreign key points to another profile's row; times, ids and computed values come from the application;
-- no triggers, and no sequences.
-- In tables that grow with every transfer, wide columns of fixed length come first: every row would pay for the padding.
--
-- Everything is described by `comment on`, which schema.sql prints. A constraint is named for what it demands or forbids,
-- because its name is what an error shows. The comment on an index names the queries that need it.

-- Types --------------------------------------------------------------------------------------------------------------

create domain amount as numeric
  constraint at_most_29_digits_and_18_decimals check (scale(value) <= 18 and value > -1e29 and value < 1e29);
comment on domain amount is
  'A quantity of an asset in whole units, such as 1.5 for one and a half bitcoins. Exact: digits that do not fit are '
  'rejected, where numeric(p, s) would round them.';

create domain rate as numeric
  constraint from_zero_below_one_with_4_decimals check (value >= 0 and value < 1 and scale(value) <= 4);
comment on domain rate is 'A share of what is traded: 0.0025 is a quarter of a percent.';

create domain code as text collate "C"
  constraint two_to_16_capitals_or_digits check (value ~ '^[A-Z0-9]{2,16}$');
comment on domain code is
  'The code of an asset, such as USD, or of a market, such as BTCUSD. Compared byte by byte, whatever the locale of the '
  'database.';

create type asset_kind as enum ('fiat', 'stablecoin', 'crypto');
comment on type asset_kind is
  'fiat: money of a state. stablecoin: issued by the platform, one USD in its reserve for each. crypto: any other coin.';

create type market_status as enum ('OPEN', 'HALTED');
comment on type market_status is
  'OPEN: orders are placed and matched. HALTED: none is; what rests stays, and cancels and expirations go on.';

create type profile_kind as enum ('DEFAULT', 'NORMAL');
comment on type profile_kind is
  'DEFAULT: the one that every customer has from its creation; never deactivated. NORMAL: any other.';

create type profile_status as enum ('ACTIVE', 'INACTIVE');
comment on type profile_status is
  'ACTIVE: can hold and move money. INACTIVE: empty and out of use, until a deposit from outside the platform is '
  'completed and makes it ACTIVE again.';

create type account_part as enum ('available', 'trading', 'pending');
comment on type account_part is
  'available: free to use. trading: held by open orders. pending: held by conversions, withdrawals and legal holds.';

create type journal_cause as enum (
  'deposit', 'withdrawal', 'withdrawal_held', 'withdrawal_released', 'transfer', 'conversion_created',
  'conversion_settled', 'conversion_cancelled', 'order_held', 'order_filled', 'order_released', 'legal_hold_placed',
  'legal_hold_lifted');
comment on type journal_cause is
  'What moved the money, the same in all postings of a journal. Its postings, each of part available unless another '
  'is named: deposit: from world to the profile; of a stablecoin from issuance to the profile, and in USD from world '
  'to the coin''s reserve. An opening balance is a deposit, too. withdrawal: the reverse of a deposit, from the '
  'profile''s pending if it has steps. transfer: from profile to profile. conversion_created, withdrawal_held, '
  'legal_hold_placed: from available to pending of one account; conversion_cancelled, withdrawal_released, '
  'legal_hold_lifted: back. conversion_settled: the source asset from the profile''s pending, the target asset to the '
  'recipient. A stablecoin that is paid in goes to issuance, and as much USD leaves its reserve; one that is paid out '
  'comes from issuance, and as much USD enters its reserve. order_held: from available to trading; order_released: '
  'what is left, back. order_filled, a match: the base from the seller''s trading to the buyer''s recipient; the '
  'quote from the buyer''s trading: to the seller''s recipient, the commission to fees, and what the buyer need not '
  'hold any more back to its available; and the rebate from fees, in a posting of its own. The taker pays the '
  'commission: a buyer on top of what it buys for, a seller out of its proceeds. The rebate is the maker''s: a '
  'seller''s is part of its proceeds, a buyer''s goes to the buyer.';

create type claim_kind as enum ('conversion', 'order', 'nickname', 'opening', 'legal_hold');
comment on type claim_kind is
  'What is claimed: the ref_id of a conversion, an order or a legal hold; the nickname of a profile; the opening '
  'balance of a profile in an asset, which is a deposit that the bootstrap file makes once: a WIRE_DEPOSIT of fiat, '
  'else a CRYPTO_DEPOSIT.';

create type transfer_type as enum (
  'INTERNAL_TRANSFER', 'PLATFORM_TRANSFER', 'CRYPTO_DEPOSIT', 'CRYPTO_WITHDRAWAL', 'WIRE_DEPOSIT', 'WIRE_WITHDRAWAL',
  'SEN_DEPOSIT', 'SEN_WITHDRAWAL', 'BANK_DEPOSIT', 'BANK_WITHDRAWAL', 'SIGNET_DEPOSIT', 'SIGNET_WITHDRAWAL',
  'CBIT_WITHDRAWAL', 'CBIT_DEPOSIT', 'CUBIX_DEPOSIT', 'CUBIX_WITHDRAWAL', 'RTP_DEPOSIT');
comment on type transfer_type is
  'INTERNAL_TRANSFER: between two profiles of one customer. PLATFORM_TRANSFER: to any profile of the platform. Every other '
  'type crosses the border of the platform, by the network that it names. On the wire the first two say which side a record '
  'is: INTERNAL_TRANSFER_DEBIT, for example.';

create type crypto_network as enum (
  'BITCOIN', 'ETHEREUM', 'BITCOIN_CASH', 'LITECOIN', 'SOLANA', 'POLYGON_POS', 'BASE', 'ARBITRUM_ONE', 'STELLAR',
  'INK', 'XLAYER', 'AVALANCHE', 'DOGECOIN', 'SUI', 'ROBINHOOD', 'BNB');

create type external_transfer_status as enum ('requested', 'approved', 'sent', 'completed', 'failed', 'cancelled');
comment on type external_transfer_status is
  'Of a withdrawal: requested, and it waits for approval; approved; sent: handed to a bank or a network; and at last '
  'completed, or failed: it came back. Before it is sent it can be cancelled. Its money is held from requested until '
  'one of these last three. No step can be skipped. Of a deposit: requested: it is announced, and no money has moved; '
  'then completed, which moves it, or failed. completed, failed and cancelled never change again. The operator takes '
  'each step, by parbook transfer; a customer cannot cancel. What is complete when it is recorded has no steps and no '
  'status.';

create type conversion_status as enum ('CREATED', 'SETTLED', 'CANCELLED');
comment on type conversion_status is
  'CREATED: its money is held. It becomes SETTLED, after the settlement delay, or CANCELLED, and never changes again.';

create type order_status as enum (
  'PENDING_SUBMISSION', 'SUBMITTED', 'OPEN', 'FILLED', 'CANCELLED', 'REJECTED', 'EXPIRED');
comment on type order_status is
  'PENDING_SUBMISSION: funds are held, and the engine of the market has not taken it yet. SUBMITTED: a stop order '
  'that waits for its stop price, or an order that meets many others and is between two parts of its execution. '
  'OPEN: rests on the book. The other four are closed, and a closed order never changes again. EXPIRED is reserved, '
  'no order has it: at its expiration_date an order becomes CANCELLED, with the cancel_reason expired.';

create type order_side as enum ('BUY', 'SELL');

create type order_type as enum ('LIMIT', 'MARKET', 'POST_ONLY_LIMIT', 'STOP_MARKET', 'STOP_LIMIT');
comment on type order_type is
  'LIMIT: at its price or a better one. MARKET: at any price. POST_ONLY_LIMIT: rejected if it would match at once. STOP_LIMIT and '
  'STOP_MARKET wait until a match reaches their stop price, and then are a LIMIT or a MARKET order.';

create type time_in_force as enum ('GTC', 'FOK', 'IOC', 'GTT');
comment on type time_in_force is
  'GTC: until it is cancelled. FOK: at once and in full, or not at all. IOC: at once, and the remainder is cancelled. '
  'GTT: until expiration_date.';

create type reject_reason as enum (
  'identity_pair', 'gtt_too_soon', 'too_many_open_orders', 'post_only_would_cross', 'no_liquidity', 'below_one_lot',
  'price_collar', 'market_halted');
comment on type reject_reason is
  'Why an order is REJECTED. The first two are found when it is placed, the others by the engine of the market. '
  'identity_pair: only one of identity_id and identity_account_id was given. gtt_too_soon: its expiration_date is '
  'not more than 10 seconds ahead. too_many_open_orders: it could rest or wait, and its customer already has the '
  'most open orders of a market. post_only_would_cross: it would match at once. no_liquidity: a market order, and no '
  'other customer offers anything. below_one_lot: a market buy that cannot pay for one lot, the smallest step of a '
  'base amount. price_collar: a limit order that would match at once, too far from the middle of the best prices. '
  'market_halted: the market was halted before it was matched.';

create type cancel_reason as enum (
  'requested', 'expired', 'self_trade', 'immediate_or_cancel', 'fill_or_kill', 'too_many_matches');
comment on type cancel_reason is
  'Why an order is CANCELLED. requested: by its customer. expired: at its expiration_date. self_trade: a newer order '
  'of its customer reached it. immediate_or_cancel: the rest of an IOC or a market order, which could not trade at '
  'once. fill_or_kill: others did not offer enough for an FOK. too_many_matches: it met as many orders as one may, '
  'and would still cross.';

-- Reference data -----------------------------------------------------------------------------------------------------

create table asset (
  code code,
  kind asset_kind not null,
  precision smallint not null,
  constraint asset_pkey primary key (code),
  constraint precision_up_to_18 check (precision between 0 and 18)
);
comment on table asset is 'What an account can hold. Written by the operator, from the catalogue; the service only reads it. No part of the hash chain.';
comment on column asset.precision is 'How many decimals a transfer of it may have. The ledger keeps 18 for every asset.';
comment on index asset_pkey is 'The asset of a code, for foreign keys, verify and the reserve.';

create table market (
  code code,
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
  version bigint not null,
  slot smallint,
  batch bigint,
  constraint market_pkey primary key (code),
  constraint market_numbers_differ unique (number),
  constraint base_asset_exists foreign key (base) references asset,
  constraint quote_asset_exists foreign key (quote) references asset,
  constraint number_from_1_to_255 check (number between 1 and 255),
  constraint price_decimals_not_negative check (price_decimals >= 0),
  constraint base_decimals_not_negative check (base_decimals >= 0),
  constraint at_most_14_decimals_in_all check (price_decimals + base_decimals <= 14),
  constraint base_and_quote_differ check (base <> quote),
  constraint tick_above_zero check (tick > 0),
  constraint tick_has_price_decimals_at_most check (scale(trim_scale(tick)) <= price_decimals),
  constraint min_base_amount_above_zero check (min_base_amount > 0),
  constraint min_quote_amount_above_zero check (min_quote_amount > 0),
  constraint max_notional_value_above_zero check (max_notional_value > 0),
  constraint base_amounts_in_range
    check (max_base_amount >= min_base_amount and max_base_amount * 10::numeric ^ base_decimals < 2::numeric ^ 53),
  constraint quote_amounts_in_range check (max_quote_amount >= min_quote_amount),
  constraint no_batch_at_version_1_only check (num_nonnulls(slot, batch) = case version when 1 then 0 else 2 end)
);
comment on table market is
  'A pair of assets that is traded. Written by the operator, from the catalogue, at version 1 and without a batch. Only the '
  'status changes afterwards, in a batch, when the operator halts or resumes the market.';
comment on column market.number is 'Part of every execution id of the market: never changed, and never given to another market.';
comment on column market.base is 'The asset that is bought and sold.';
comment on column market.quote is 'The asset in which prices, gross and fees are.';
comment on column market.price_decimals is 'How many decimals a price may have.';
comment on column market.base_decimals is
  'How many decimals a base amount may have. The engine counts in units of the last one, as integers below 2^53. '
  'With price_decimals at most 14, so that amount times price times a rate, which has 4, fits the 18 of the ledger '
  'without rounding.';
comment on column market.tick is 'Every price and stop price is a multiple of it.';
comment on column market.min_base_amount is
  'Of the base_amount of one order, as is max_base_amount. min_quote_amount is of its quote_amount.';
comment on column market.max_quote_amount is 'Of the quote_amount of one order: only market buys have one.';
comment on column market.max_notional_value is
  'Of every order, in the quote asset: quote_amount, or base_amount times price, or without a price times the last '
  'one.';
comment on column market.status is 'Every placement and every match checks it: nothing is placed or matched on a halted market.';
comment on column market.version is 'The version of the row. A write states the version that it was decided on.';
comment on column market.slot is 'With batch: the batch that wrote this version. Null: the catalogue did, at version 1.';
comment on index market_pkey is 'The market of a code: the backlog of its engine, prices, foreign keys.';
comment on index market_numbers_differ is 'No query: it keeps execution ids of different markets apart.';

create table fee_schedule (
  market code,
  rebate_ceiling rate not null,
  begins_at amount not null default 0,
  constraint fee_schedule_pkey primary key (market),
  constraint one_ceiling_per_market unique (market, rebate_ceiling),
  constraint market_exists foreign key (market) references market,
  constraint begins_at_zero check (begins_at = 0)
);
comment on table fee_schedule is
  'One row per market, which says where rebates end and commissions begin: no maker rebate of the market is above '
  'the ceiling, and no taker rate below it. Each row with rates repeats the ceiling, is checked against it, and is '
  'tied to it by a foreign key. So rates of one time never pay more rebate than commission, even if two operators '
  'change them at once. An order keeps the rates that it was placed with: if the rebate of an old order is above the '
  'commission of a new one in a match, the rebate is lowered to that commission. So the account fees is never '
  'overdrawn. No part of the hash chain, like tiers and agreements: each order has its rates.';
comment on column fee_schedule.begins_at is 'Always zero: the foreign key tier_from_zero demands a tier that begins there.';
comment on index fee_schedule_pkey is 'Locks the schedule of a market before its rates change.';
comment on index one_ceiling_per_market is 'No query: the foreign keys of tiers and agreements refer to it.';

alter table market add constraint fees_are_scheduled
  foreign key (code) references fee_schedule deferrable initially deferred;

create table fee_tier (
  market code,
  minimum_gross amount,
  taker_rate rate not null,
  maker_rebate rate not null,
  rebate_ceiling rate not null,
  constraint fee_tier_pkey primary key (market, minimum_gross),
  constraint has_ceiling_of_market foreign key (market, rebate_ceiling)
    references fee_schedule (market, rebate_ceiling) on update cascade,
  constraint minimum_not_negative check (minimum_gross >= 0),
  constraint rebate_within_commission check (maker_rebate <= rebate_ceiling and rebate_ceiling <= taker_rate)
);
comment on table fee_tier is
  'The rates of customers who traded so much on markets of the same quote asset in 30 days: the sum of gross in '
  'customer_volume today and on the 29 days before (UTC), over all profiles of the customer, as maker and as taker. '
  'A process may use a sum that is some seconds old.';
comment on column fee_tier.minimum_gross is 'In the quote asset of the market. The tier holds from here to the next one.';
comment on index fee_tier_pkey is 'The tiers of a market, lowest first.';

alter table fee_schedule add constraint tier_from_zero
  foreign key (market, begins_at) references fee_tier (market, minimum_gross) deferrable initially deferred;

create table house_kind (
  kind text collate "C",
  may_be_negative boolean not null,
  account_class text not null,
  constraint house_kind_pkey primary key (kind),
  constraint one_sign_per_kind unique (kind, may_be_negative),
  constraint kind_of_2_to_16_letters check (kind ~ '^[a-z]{2,16}$'),
  constraint account_class_is_known check (account_class in ('Assets', 'Equity', 'Income', 'Liabilities'))
);
comment on table house_kind is
  'What house accounts, the platform''s own, there can be. Another kind is another row. Here are: world, may be '
  'negative, Assets: everything outside the platform; a deposit comes from it, a withdrawal goes to it. reserve, may '
  'be negative, Assets: the USD that back one stablecoin, at one custodian; the only kind with coin and custodian. '
  'issuance, may be negative, Equity: minus the stablecoins that are in circulation. fees, never negative, '
  'Income: commissions received, minus rebates paid.';
comment on column house_kind.may_be_negative is
  'Whether the balance of one slot may be below zero. The balance of world or of issuance in one slot has either '
  'sign, because what came in by one slot may go out by another; over all slots neither is above zero. That of a '
  'reserve is below zero in a slot in which more was redeemed than minted, never over all slots.';
comment on column house_kind.account_class is
  'Where the chart of accounts of an export has it. An export is from the operator''s side: the balances of profiles are '
  'Liabilities, and signs are the reverse of those here, except for the asset that a reserve is (docs/accounting.md).';
comment on index house_kind_pkey is 'The kinds, for verify and exports.';
comment on index one_sign_per_kind is 'No query: the foreign key of accounts refers to it.';
insert into house_kind (kind, may_be_negative, account_class) values
  ('world', true, 'Assets'), ('reserve', true, 'Assets'), ('issuance', true, 'Equity'), ('fees', false, 'Income');

-- Customers and their access -----------------------------------------------------------------------------------------

create table customer (
  id uuid,
  name text not null,
  created_at timestamptz not null,
  disabled_at timestamptz,
  constraint customer_pkey primary key (id),
  constraint customer_names_differ unique (name)
);
comment on table customer is
  'An organisation that owns profiles and API clients. No part of the hash chain, but what the operator makes of it is in '
  'configuration_write. Never deleted.';
comment on column customer.disabled_at is
  'From then on neither the secrets nor the tokens of its clients are accepted. Its money and its orders stay. Null: it '
  'is enabled.';
comment on index customer_pkey is 'The customer of an id, and foreign keys.';
comment on index customer_names_differ is 'The customer of a name, for commands. It keeps names apart: no operator takes one customer for another.';
create index customer_disabled on customer (disabled_at) where disabled_at is not null;
comment on index customer_disabled is 'Whose clients are disabled of late: every node asks every two seconds.';

create table client (
  client_id text collate "C",
  customer_id uuid not null,
  scopes text[] not null,
  created_at timestamptz not null,
  disabled_at timestamptz,
  networks cidr[],
  constraint client_pkey primary key (client_id),
  constraint customer_exists foreign key (customer_id) references customer,
  constraint networks_from_1_to_100 check (cardinality(networks) between 1 and 100)
);
comment on table client is 'A program that calls the API for one customer. Written by the operator and the bootstrap file; its customer may disable it.';
comment on column client.scopes is 'What it may do, as the operator wrote it; * is everything.';
comment on column client.disabled_at is 'From then on neither its secrets nor its tokens are accepted. Null: enabled.';
comment on column client.networks is 'Where it may call from. Null: from anywhere.';
comment on index client_pkey is 'The client of a token request.';
create index client_customer on client (customer_id, created_at, client_id);
comment on index client_customer is 'The clients of a customer, in order of creation.';
create index client_disabled on client (disabled_at) where disabled_at is not null;
comment on index client_disabled is 'Who was disabled of late: every node asks every two seconds.';
create index client_restricted on client (client_id) where networks is not null;
comment on index client_restricted is 'Who may only call from certain networks: every node asks every two seconds.';

create table client_secret (
  client_id text collate "C",
  id uuid,
  scheme text not null,
  salt bytea not null,
  digest bytea not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  last_used_at timestamptz,
  constraint client_secret_pkey primary key (client_id, id),
  constraint client_exists foreign key (client_id) references client,
  constraint scheme_is_known check (scheme in ('hmac', 'scrypt'))
);
comment on table client_secret is 'A secret of a client; two while it is rotated. The secret itself is stored nowhere.';
comment on column client_secret.scheme is 'hmac: a generated secret of 256 bits. scrypt: one that a person chose, and that can be guessed.';
comment on column client_secret.digest is 'Of the secret and the salt.';
comment on column client_secret.expires_at is 'Null: it does not expire.';
comment on column client_secret.last_used_at is 'To within a minute. Null: never used.';
comment on index client_secret_pkey is 'The secrets of a client that requests a token.';

create table signing_key (
  kid text collate "C",
  algorithm text not null,
  private_jwk jsonb not null,
  public_jwk jsonb not null,
  created_at timestamptz not null,
  retired_at timestamptz,
  constraint signing_key_pkey primary key (kid)
);
comment on table signing_key is 'The keys of access tokens: the current one signs, retired ones only verify.';
comment on column signing_key.private_jwk is
  'RFC 7517; encrypted if PARBOOK_KEY_ENCRYPTION_KEY is set. A minute after the key was retired the public half '
  'takes its place.';
comment on column signing_key.retired_at is 'Null: the current key.';
comment on index signing_key_pkey is 'The key of a kid.';
create unique index signing_key_current on signing_key ((retired_at is null)) where retired_at is null;
comment on index signing_key_current is 'The current key. Unique, so that there is one, however many nodes make one at the same time.';

create table profile (
  id uuid,
  customer_id uuid not null,
  kind profile_kind not null,
  nickname text not null,
  description text,
  status profile_status not null,
  incoming_count integer not null,
  last_deactivation bigint not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  version bigint not null,
  slot smallint not null,
  batch bigint not null,
  constraint profile_pkey primary key (id),
  constraint customer_exists foreign key (customer_id) references customer,
  constraint id_below_those_of_house_accounts check (id < 'ffffffff-0000-0000-0000-000000000000'),
  constraint incoming_count_not_negative check (incoming_count >= 0),
  constraint default_is_never_deactivated check (kind <> 'DEFAULT' or last_deactivation = 0),
  constraint inactive_since_last_deactivation
    check (last_deactivation between 0 and version and (status = 'ACTIVE' or last_deactivation > 0))
) with (fillfactor = 80);
comment on table profile is 'The holder of balances: one account per asset. Every customer has one DEFAULT profile, and any number of NORMAL ones.';
comment on column profile.nickname is 'The customer''s name for it. A claim keeps it from being given twice, even after it was changed.';
comment on column profile.status is
  'An INACTIVE profile is empty and can do nothing; a deposit from outside the platform makes it ACTIVE again when it '
  'is completed.';
comment on column profile.incoming_count is
  'How many open orders and CREATED conversions of other profiles will pay into it: until there are none it cannot be '
  'deactivated. Changed in the same batch as these; verify counts them.';
comment on column profile.last_deactivation is 'The version that its last deactivation made. 0: there was none.';
comment on column profile.version is 'The version of the row. A write states the version that it was decided on.';
comment on column profile.slot is 'With batch: the batch that wrote this version, and has its digest in changes.';
comment on index profile_pkey is 'The profile of an id: every command that depends on it.';
create index profile_customer on profile (customer_id, created_at, id);
comment on index profile_customer is 'The profiles of a customer, by creation, page by page.';
create index profile_active on profile (customer_id, created_at, id) where status = 'ACTIVE';
comment on index profile_active is 'The same without those that are INACTIVE, which may be nearly all.';
create unique index profile_default on profile (customer_id) where kind = 'DEFAULT';
comment on index profile_default is 'The DEFAULT profile of a customer, of which there is one, among however many.';

create table fee_agreement (
  customer_id uuid,
  market code,
  taker_rate rate not null,
  maker_rebate rate not null,
  rebate_ceiling rate not null,
  constraint fee_agreement_pkey primary key (customer_id, market),
  constraint customer_exists foreign key (customer_id) references customer,
  constraint has_ceiling_of_market foreign key (market, rebate_ceiling)
    references fee_schedule (market, rebate_ceiling) on update cascade,
  constraint rebate_within_commission check (maker_rebate <= rebate_ceiling and rebate_ceiling <= taker_rate)
);
comment on table fee_agreement is 'Rates that were agreed with one customer. They hold instead of the tiers.';
comment on index fee_agreement_pkey is 'The rates agreed with a customer who places an order.';
create index fee_agreement_market on fee_agreement (market, customer_id);
comment on index fee_agreement_market is 'The agreements on a market, for the operator; and the lowest commission and highest rebate among them.';

create table configuration_write (
  id uuid,
  at timestamptz not null,
  caller jsonb not null,
  kind text not null,
  subject text not null,
  customer_id uuid,
  details jsonb not null,
  version bigint not null,
  slot smallint,
  batch bigint,
  constraint configuration_write_pkey primary key (id),
  constraint caller_and_details_are_objects check (jsonb_typeof(caller) = 'object' and jsonb_typeof(details) = 'object'),
  constraint at_can_be_sealed check (at >= '2000-01-01 00:00+00' and at < '10000-01-01 00:00+00'),
  constraint kind_is_known check (kind in ('client', 'customer', 'fees', 'signing_key', 'webhook')),
  constraint sealed_once check (version in (1, 2)),
  constraint no_batch_at_version_1_only check (num_nonnulls(slot, batch) = case version when 1 then 0 else 2 end)
);
comment on table configuration_write is
  'A write to the tables that no batch writes: customers, clients, fees, signing keys, webhooks. The transaction that '
  'makes the write adds the row at version 1; within seconds a batch seals it, which makes version 2, and from then on '
  'its digest is in the hash chain (docs/decisions/0044-configuration-writes.md). Otherwise never changed, and never '
  'deleted.';
comment on column configuration_write.id is 'Random: unlike others, no time is in it.';
comment on column configuration_write.at is 'By the database''s clock, so that it is right even if that of the process is not.';
comment on column configuration_write.caller is 'Who asked, in the form of an entry of the callers of a batch. The batch that seals it has the same one.';
comment on column configuration_write.subject is
  'What was written: the client_id, the id of the customer or the webhook, the code of the market, the kid of the key.';
comment on column configuration_write.customer_id is 'Whose it is. Null: the platform''s.';
comment on column configuration_write.details is 'What it has become, each value as text. No secrets.';
comment on column configuration_write.version is '1: not sealed yet. 2: sealed.';
comment on column configuration_write.slot is 'With batch: the batch that sealed it. Null: none has yet.';
comment on index configuration_write_pkey is 'The write of an id, to seal it, and for audit writes.';
create index configuration_write_unsealed on configuration_write (at) where version = 1;
comment on index configuration_write_unsealed is 'What no batch has sealed yet, the oldest first: each worker asks every second.';

-- The ledger ---------------------------------------------------------------------------------------------------------

create table batch (
  slot smallint,
  n bigint,
  hash bytea not null,
  at timestamptz not null,
  void boolean not null,
  rows_found integer not null,
  rows_expected integer not null,
  claims_made integer not null,
  claims_expected integer not null,
  predecessor integer not null,
  in_time boolean not null,
  not_ahead boolean,
  changes json,
  callers json,
  constraint batch_pkey primary key (slot, n),
  constraint slot_from_1_to_64 check (slot between 1 and 64),
  constraint number_not_negative check (n >= 0),
  constraint rows_changed_meanwhile check (rows_found = rows_expected),
  constraint claims_already_made check (claims_made = claims_expected),
  constraint chain_broken check (predecessor = 1 or n = 0),
  constraint too_late check (in_time),
  constraint clock_ahead check (not_ahead),
  constraint hash_of_32_bytes check (length(hash) = 32),
  constraint void_decides_nothing
    check (case when void then num_nonnulls(not_ahead, changes, callers) = 0 else not_ahead is not null end)
);
comment on table batch is
  'A group of commands that committed together, by one SQL statement, and a link of the hash chain of its slot. That '
  'statement writes every row that the batch changes or adds, counts what it found, and last inserts this row: if a count is '
  'not what was decided on, a CHECK fails and takes the whole batch back. Never changed or deleted.';
comment on column batch.slot is 'The seat of the writer: one process at a time holds it, by the lease slot/<slot>. Each slot has a chain of its own.';
comment on column batch.n is 'Numbers the batches of a slot from 0, without gaps.';
comment on column batch.hash is
  'SHA-256 of three parts, one behind the other: the hash of batch n - 1 (32 bytes; zeros before the first), the text '
  'slot/n/, and the SHA-256 (32 bytes) of the content. The content is a text: at; then, for each of execution, '
  'posting and transfer to which it added rows, the table and these rows without slot and batch, in the form of '
  'docs/decisions/0028-hashed-by-name.md; then a line of the word changes, a space and the column changes; and, if '
  'there are callers, one of the word callers, a space and the column callers. Change any of these and verify sees '
  'it; a checkpoint of hashes, kept elsewhere, reveals that a whole chain was recomputed.';
comment on column batch.at is
  'When it was decided: never before the last posting of a profile''s account that it changes. It may be before that '
  'of the batch n - 1: by clocks that differ, or because that one was behind such a posting.';
comment on column batch.void is
  'True: takes the number of a batch whose outcome was unknown, which from then on cannot commit. No row names it, '
  'changes and callers are null, and its hash covers the word void in place of the SHA-256 of a content.';
comment on column batch.rows_found is
  'How many rows it inserted, changed or locked in the version that it was decided on, postings and executions '
  'aside, and how many accounts the profiles have that it deactivates. Kept, like the columns after it up to '
  'not_ahead, only for a CHECK: in no hash.';
comment on column batch.rows_expected is 'How many it should have; any other number: another process had changed or added one.';
comment on column batch.claims_made is 'How many claims it made.';
comment on column batch.claims_expected is 'How many it should have made.';
comment on column batch.predecessor is '1: the batch n - 1 of the slot exists, and has the hash on which this one was built.';
comment on column batch.in_time is 'Whether the database''s clock had not passed the deadline up to which the writer waited.';
comment on column batch.not_ahead is 'Whether the writer''s clock was not ahead of the database''s. Null in a void row, which decides nothing.';
comment on column batch.changes is
  'What it made of each row, other than accounts, that can change: {"orders": [{"key": {"profile_id": ..., "id": '
  '...}, "version", "values", "digest", "callers"}]}. key has the columns of the primary key. Its tables are '
  'configuration_write, conversion, customer_volume, external_transfer, legal_hold, market, market_head, orders, '
  'profile and webhook_disabling. values has each column that is overwritten by changes and is not as in the version '
  'before (at version 1: each that is not null), as text; so every version of a row follows from here and from the '
  'columns that never change. digest is of the whole row without slot and batch, version included: the first 16 bytes, as hexadecimal digits, of the SHA-256 '
  'of name=value and a zero byte for each column that is not null, in the order of their names. callers are numbers '
  'of entries of callers. Null: none. json, not jsonb: the text is hashed.';
comment on column batch.callers is
  'Who asked for its writes, each once, numbered from 0: [{"client", "token", "address", "operation"}, {"house"}, '
  '{"operator", "person", "operation"}]. client: the client_id of a client. token: the id (jti) of its access token. '
  'address: the IP address that it called from. operation: the method and the path''s pattern, such as "POST '
  '/v2/transfer/platform"; of an operator, the command. operator: the user of the machine. person: the name that the '
  'operator gave with --as, if any. house here names a part of the service, and no house account: auth, which '
  'replaces signing keys; engine, of a market; settlement, of conversions; bootstrap, the bootstrap file; webhooks, '
  'what delivers to them; maker, the market maker of a sandbox, a program that places orders. Null: it wrote nothing that somebody asked for.';
comment on index batch_pkey is 'The last batch of a slot; a batch by its number, to append the next one, to verify, and for what refers to it.';

create table account (
  owner_id uuid,
  asset code,
  house text collate "C",
  coin code,
  custodian text collate "C",
  may_be_negative boolean,
  last_deactivation bigint not null,
  available amount not null,
  trading amount not null,
  pending amount not null,
  at timestamptz not null,
  version bigint not null,
  constraint account_pkey primary key (owner_id, asset),
  constraint house_kind_exists_with_this_sign
    foreign key (house, may_be_negative) references house_kind (kind, may_be_negative),
  constraint not_overdrawn check (available >= 0 or may_be_negative is true),
  constraint trading_not_negative check (trading >= 0),
  constraint pending_not_negative check (pending >= 0),
  constraint version_not_negative check (version >= 0),
  constraint last_deactivation_of_profile check (last_deactivation >= 0 and (house is null or last_deactivation = 0)),
  constraint house_has_one_part check (house is null or (trading = 0 and pending = 0)),
  constraint house_has_sign check ((house is null) = (may_be_negative is null)),
  constraint coin_and_custodian_of_house check (house is not null or (coin is null and custodian is null)),
  constraint custodian_of_2_to_16_letters check (custodian ~ '^[a-z]{2,16}$'),
  constraint owner_is_house_from_ffffffff
    check ((house is not null) = (owner_id >= 'ffffffff-0000-0000-0000-000000000000'))
) with (fillfactor = 50);
comment on table account is
  'A profile''s balance of one asset, in three parts; or the platform''s, of which each slot has a row of its own, '
  'so that writers never wait for each other: only the sum over all slots has a meaning. Over all accounts an asset '
  'sums to zero. World has no stablecoins: of each, what profiles and fees hold is minus the sum of issuance, and '
  'equals the USD in its reserve. In no digest: its postings, which are hashed, carry its balances.';
comment on column account.owner_id is
  'The profile. Of a house account: ffffffff-hhhh-8hhh-8hhh-hhhhhhhhhhss, where h are the first 80 bits of the '
  'SHA-256 of house, or of house:coin:custodian where it has these, such as reserve:USDG:default; and s is the slot '
  'in hexadecimal.';
comment on column account.house is 'The kind of house account. Null: of a profile.';
comment on column account.coin is 'Of a reserve: the stablecoin that its USD back. Null where the kind has no coin.';
comment on column account.custodian is
  'Of a reserve: who keeps its USD; until now always default. Null where the kind has no custodian.';
comment on column account.may_be_negative is 'As its kind says. Null: of a profile, which never is.';
comment on column account.last_deactivation is
  'The profile''s, which deactivating it writes to all of its accounts. A write compares it beside the version, and so needs no '
  'lock on a profile that it remembers as active (docs/decisions/0004-profiles-are-guarded-by-a-share-lock.md). 0: of a house account.';
comment on column account.available is 'What the owner can use. Below zero only if it may be.';
comment on column account.trading is 'Held by open orders: equals the sum of their held.';
comment on column account.pending is
  'Held, and not by orders: equals the sum of the CREATED conversions, of the withdrawals that are requested (held for '
  'approval), approved or sent, and of the legal holds that are not lifted.';
comment on column account.at is
  'When the last posting was made: the next one is not earlier. A row is first written with its first posting.';
comment on column account.version is
  'The version of the row, which is that of its last posting, whose balances are the account''s: 1 with the first '
  'posting, never 0. A write states the version that it was decided on.';
comment on index account_pkey is 'The accounts that a batch changes, and the balances of a profile.';
create index account_house on account (house, coin, asset) where house is not null;
comment on index account_house is 'The reserve and the supply in circulation, for metrics: a few rows, however many profiles there are.';

create table posting (
  owner_id uuid,
  journal_id uuid not null,
  version bigint,
  at timestamptz not null,
  batch bigint not null,
  cause journal_cause not null,
  part account_part not null,
  slot smallint not null,
  asset code,
  amount amount not null,
  available amount not null,
  trading amount not null,
  pending amount not null,
  constraint posting_pkey primary key (owner_id, asset, version),
  constraint version_above_zero check (version > 0),
  constraint amount_not_zero check (amount <> 0),
  constraint not_overdrawn check (available >= 0 or owner_id >= 'ffffffff-0000-0000-0000-000000000000'),
  constraint trading_not_negative check (trading >= 0),
  constraint pending_not_negative check (pending >= 0)
);
comment on table posting is
  'One signed change of one part of one account, with the balances after it. Postings of one journal_id are a '
  'journal: they sum to zero in each asset, and were made by one batch. No index has the journal_id: a journal is '
  'found among the postings of its batch, by posting_batch, or of one of its accounts. Which batch that was, a '
  'transfer says; of what changes, its row for the last version and batch.changes for all. Never changed or deleted.';
comment on column posting.version is 'Numbers the postings of an account from 1, without gaps: the version of the account that it made.';
comment on column posting.journal_id is
  'Of a transfer without steps, its id, which is even. Of what holds money (a conversion, an order, a withdrawal that '
  'has steps, a legal hold), its even id for the hold, and the odd id beside it for what ends the hold. A deposit '
  'that has steps holds nothing: the journal that completes it has the odd id. Of a match, a version 8 UUID with the '
  '16 hexadecimal digits of the maker''s execution id, the last one at its end: 12345678-9abc-8def-8000-000000000000 '
  'of 123456789abcdef0.';
comment on column posting.owner_id is 'With asset: the account.';
comment on column posting.part is 'Which of the three balances it changes: that of this name.';
comment on column posting.amount is
  'What that balance gains, or below zero loses. Above zero is what the owner has. So the balance of world is minus '
  'what was brought into the platform and not taken out, and that of issuance minus the coins in circulation.';
comment on column posting.available is
  'The balance after this posting, as are trading and pending. Below zero only of a house account, whose row of account says '
  'whether it may be.';
comment on column posting.at is
  'When it was made: never before the posting before it. That of its batch, except on a house account whose last '
  'posting is later: then the time of that one.';
comment on column posting.slot is 'With batch: the batch that added it.';
comment on index posting_pkey is 'The postings of an account in order; and, by bisection, its balance at a time.';
create index posting_batch on posting using brin (batch int8_minmax_multi_ops)
  with (pages_per_range = 32, autosummarize = on);
comment on index posting_batch is
  'The postings of a range of batches, for verify and exports. The rows of a slot lie in about the order of its '
  'batches, so BRIN finds them and costs next to nothing to write.';

create table claim (
  customer_id uuid,
  kind claim_kind,
  ref_id text collate "C",
  id uuid not null,
  constraint claim_pkey primary key (customer_id, kind, ref_id)
);
comment on table claim is
  'What can be taken once by a customer: a ref_id, a nickname, the opening balance of a profile. The batch that makes '
  'the record inserts the claim, so that of a second request fails, which with a ref_id is answered with the record '
  'of the first. Claims of orders pass on: 24 hours after an order is closed, another may take its ref_id. All others '
  'hold for ever. Transfers need none: a unique index keeps their ref_ids.';
comment on column claim.ref_id is
  'The customer''s key; of a nickname, the nickname itself; of an opening, profile_id/asset; of a legal hold, the '
  'operator''s.';
comment on column claim.id is 'The record that holds it: a conversion, an order, a profile, a legal hold, or the deposit of an opening.';
comment on index claim_pkey is 'Rejects a ref_id that is taken, and finds the record that has it.';

-- Transfers ----------------------------------------------------------------------------------------------------------

create table transfer (
  customer_id uuid,
  id uuid,
  from_profile_id uuid,
  to_profile_id uuid,
  to_customer_id uuid,
  created_at timestamptz not null,
  batch bigint not null,
  slot smallint not null,
  caller smallint,
  type transfer_type not null,
  crypto_network crypto_network,
  has_steps boolean,
  asset code not null,
  amount amount not null,
  ref_id text collate "C",
  from_identity_id text,
  from_account_id text,
  from_metadata jsonb,
  to_identity_id text,
  to_account_id text,
  to_metadata jsonb,
  destination_address text,
  crypto_tx_hash text,
  crypto_tx_index text,
  notional_value amount,
  memo text,
  constraint transfer_pkey primary key (customer_id, id),
  constraint amount_above_zero check (amount > 0),
  constraint sides_differ check (from_profile_id <> to_profile_id),
  constraint sides_fit_type check (case
    when type in ('INTERNAL_TRANSFER', 'PLATFORM_TRANSFER') then from_profile_id is not null and to_profile_id is not null
    when type in ('CRYPTO_DEPOSIT', 'WIRE_DEPOSIT', 'SEN_DEPOSIT', 'BANK_DEPOSIT', 'SIGNET_DEPOSIT', 'CBIT_DEPOSIT',
                  'CUBIX_DEPOSIT', 'RTP_DEPOSIT') then from_profile_id is null and to_profile_id is not null
    else from_profile_id is not null and to_profile_id is null end),
  constraint to_customer_has_to_profile check ((to_profile_id is null) = (to_customer_id is null)),
  constraint other_customer_only_on_platform check (to_customer_id = customer_id or type = 'PLATFORM_TRANSFER'),
  constraint steps_only_across_the_border check (has_steps is null or (has_steps and num_nonnulls(from_profile_id, to_profile_id) = 1)),
  constraint chain_details_of_crypto_only check (
    type in ('CRYPTO_DEPOSIT', 'CRYPTO_WITHDRAWAL')
    or num_nonnulls(crypto_network, destination_address, crypto_tx_hash, crypto_tx_index, notional_value) = 0),
  constraint network_of_transaction check (crypto_tx_hash is null or crypto_network is not null),
  constraint index_of_transaction check (crypto_tx_index is null or crypto_tx_hash is not null),
  constraint deposit_names_output check (from_profile_id is not null or crypto_tx_hash is null or crypto_tx_index is not null)
);
comment on table transfer is
  'A movement of money: between two profiles, into the platform (a deposit) or out of it (a withdrawal). One row holds both '
  'sides; a side outside the platform is null. Never changed or deleted. Its money has moved when it is written, unless it '
  'has_steps: then its row in external_transfer says how far it is. The API shows each '
  'customer its own sides as records: of a transfer between profiles, a debit with the row''s id and a credit with the odd id '
  'beside it; of a deposit or a withdrawal, one record with the row''s id.';
comment on column transfer.customer_id is
  'Whose request it is, and whose ref_id: the customer of from_profile_id, or of a deposit that of to_profile_id. So '
  'too where the operator or the bootstrap file wrote it, as caller says.';
comment on column transfer.id is
  'Even, and in the order of creation. Also the id of its journal or, of a withdrawal with steps, of the one that '
  'holds its money. Only a deposit with steps has no journal of this id: the one that completes it has the odd id '
  'beside it, and one that is not completed has none.';
comment on column transfer.has_steps is 'True: a deposit or a withdrawal that does not complete at once. Null: its money has moved.';
comment on column transfer.from_profile_id is 'Whose money it was. Null: of a deposit, which comes from outside the platform.';
comment on column transfer.to_profile_id is 'Whose it became. Null: of a withdrawal, which leaves the platform.';
comment on column transfer.to_customer_id is 'The customer of to_profile_id.';
comment on column transfer.batch is
  'With slot: the batch that added it. The journal of this row''s id is among its postings. That of the odd id, of a '
  'deposit or a withdrawal with steps, is among those of the batch of the last step, in external_transfer.';
comment on column transfer.caller is
  'Who asked for it: the number of an entry of its batch''s callers. Every transfer has one, although the column '
  'allows null.';
comment on column transfer.crypto_network is
  'Like destination_address, crypto_tx_hash, crypto_tx_index and notional_value: of CRYPTO_DEPOSIT and CRYPTO_WITHDRAWAL '
  'only, and null where it does not apply.';
comment on column transfer.crypto_tx_hash is
  'With crypto_tx_index: the transaction of the chain, as it was named when this row was written. A deposit names both '
  'then or never. That of a withdrawal which has steps may be named by a step instead, in external_transfer, which '
  'then holds.';
comment on column transfer.ref_id is 'The requesting customer''s key: a request with one that is taken is answered with the transfer that has it. Null: without one.';
comment on column transfer.from_identity_id is 'The sending customer''s own reference to one of its end users, as from_account_id is to that user''s account. Not verified. Only its own records show it.';
comment on column transfer.from_metadata is 'The sending customer''s, as text to text, on its own records.';
comment on column transfer.to_identity_id is 'On the records of the receiving customer, like to_account_id and to_metadata, as the sender gave them.';
comment on column transfer.notional_value is 'In USD, when it was made. Null: not known.';
comment on column transfer.memo is 'The operator''s.';
comment on index transfer_pkey is 'Lists of what a customer requested by creation, page by page, and a transfer by its id.';
create index transfer_received on transfer (to_customer_id, id) where customer_id <> to_customer_id;
comment on index transfer_received is
  'What other customers have sent to a customer: the credits in its lists by creation. A transfer within a customer '
  'is not in it.';
create unique index transfer_ref_id_already_used on transfer (customer_id, ref_id) where ref_id is not null;
comment on index transfer_ref_id_already_used is 'Rejects a ref_id that is taken, and finds the transfer that has it.';
create unique index chain_transaction_already_deposited on transfer (regexp_replace(crypto_tx_hash, '^0x', ''), crypto_tx_index)
  where crypto_tx_hash is not null and from_profile_id is null;
comment on index chain_transaction_already_deposited is
  'Rejects a second deposit of an output of a transaction, and finds the first: whichever network either names, so without '
  'the 0x that hashes of some networks begin with.';
create index transfer_transaction on transfer (customer_id, crypto_tx_hash, id) where crypto_tx_hash is not null;
comment on index transfer_transaction is
  'Lists by crypto_tx_hashes, page by page. What external_transfer names instead is in external_transfer_transaction.';
create index transfer_from_profile on transfer (from_profile_id, id) where from_profile_id is not null;
comment on index transfer_from_profile is 'Lists by profile_ids, page by page: the debits.';
create index transfer_to_profile on transfer (to_profile_id, id) where to_profile_id is not null;
comment on index transfer_to_profile is 'Lists by profile_ids, page by page: the credits.';
create index transfer_from_account on transfer (customer_id, from_account_id, id) where from_account_id is not null;
comment on index transfer_from_account is 'Lists by account_ids, page by page: the debits.';
create index transfer_to_account on transfer (to_customer_id, to_account_id, id) where to_account_id is not null;
comment on index transfer_to_account is 'Lists by account_ids, page by page: the credits.';
create index transfer_from_identity on transfer (customer_id, from_identity_id, id) where from_identity_id is not null;
comment on index transfer_from_identity is 'Lists by identity_ids, page by page: the debits.';
create index transfer_to_identity on transfer (to_customer_id, to_identity_id, id) where to_identity_id is not null;
comment on index transfer_to_identity is 'Lists by identity_ids, page by page: the credits.';
create index transfer_batch on transfer using brin (batch int8_minmax_multi_ops)
  with (pages_per_range = 32, autosummarize = on);
comment on index transfer_batch is 'The transfers of a range of batches, for verify and exports.';

create table external_transfer (
  customer_id uuid,
  id uuid,
  status external_transfer_status not null,
  updated_at timestamptz not null,
  reason text,
  crypto_tx_hash text,
  crypto_tx_index text,
  version bigint not null,
  slot smallint not null,
  batch bigint not null,
  constraint external_transfer_pkey primary key (customer_id, id),
  constraint version_is_the_number_of_steps check (case status
    when 'requested' then version = 1 when 'approved' then version = 2 when 'sent' then version = 3
    when 'cancelled' then version in (2, 3) else version in (2, 4) end),
  constraint failed_or_cancelled_has_reason check ((status in ('failed', 'cancelled')) = (reason is not null)),
  constraint transaction_since_sent check (crypto_tx_hash is null or status in ('sent', 'completed', 'failed')),
  constraint index_of_transaction check (crypto_tx_index is null or crypto_tx_hash is not null)
) with (fillfactor = 80);
comment on table external_transfer is
  'How far a deposit or a withdrawal is whose transfer has_steps: what of it changes. While a withdrawal is requested, '
  'approved or sent, its amount is in pending of its profile''s account. completed takes it from there; failed and cancelled '
  'give it back. A deposit moves money when it is completed (docs/withdrawals.md).';
comment on column external_transfer.customer_id is 'The transfer''s, as is id.';
comment on column external_transfer.status is 'On the wire PENDING, COMPLETED or, of failed and cancelled, FAILED.';
comment on column external_transfer.updated_at is 'When it got this status.';
comment on column external_transfer.reason is 'Why it failed or was cancelled, in the operator''s words, which the customer reads. Null for every other.';
comment on column external_transfer.crypto_tx_hash is
  'Of a withdrawal: the transaction of the chain, named when it is sent or completed; completed may replace it. '
  'Null: that in transfer, if any. That of a deposit is in transfer.';
comment on column external_transfer.version is 'The version of the row, and the number of its steps. A write states the version that it was decided on.';
comment on column external_transfer.slot is 'With batch: the batch that wrote this version, and has its digest in changes.';
comment on index external_transfer_pkey is 'The steps of a transfer that is read or goes on; and a customer''s, by creation.';
create index external_transfer_transaction on external_transfer (customer_id, crypto_tx_hash, id) where crypto_tx_hash is not null;
comment on index external_transfer_transaction is 'Lists by crypto_tx_hashes, page by page: what a step has named.';
create index external_transfer_updated on external_transfer (customer_id, updated_at, id);
comment on index external_transfer_updated is 'Lists of a customer by the time of the last change, page by page.';
create index external_transfer_open on external_transfer (customer_id, id) where status in ('requested', 'approved', 'sent');
comment on index external_transfer_open is 'What is PENDING: of a customer, and of all for the operator and verify.';
create index external_transfer_failed on external_transfer (customer_id, id) where status in ('failed', 'cancelled');
comment on index external_transfer_failed is 'Lists of what FAILED, page by page.';

create table legal_hold (
  profile_id uuid,
  id uuid,
  customer_id uuid not null,
  asset code not null,
  amount amount not null,
  ref_id text collate "C",
  reason text not null,
  placed_by text not null,
  created_at timestamptz not null,
  lifted_by text,
  lifted_at timestamptz,
  version bigint not null,
  slot smallint not null,
  batch bigint not null,
  constraint legal_hold_pkey primary key (profile_id, id),
  constraint amount_above_zero check (amount > 0),
  constraint placed_and_then_lifted
    check (version = case when lifted_at is null then 1 else 2 end and (lifted_at is null) = (lifted_by is null))
) with (fillfactor = 80);
comment on table legal_hold is
  'Money of a profile that the operator has blocked, because a court or an authority demands it, until the operator lifts '
  'the hold. While it is not lifted its amount is in pending of the profile''s account.';
comment on column legal_hold.id is 'Even, and in the order of creation. Also the id of the journal that holds the money; the odd id beside it is that of the journal that gives it back.';
comment on column legal_hold.ref_id is 'The operator''s key, which a claim keeps unique. Null: without one.';
comment on column legal_hold.reason is 'In the operator''s words.';
comment on column legal_hold.placed_by is 'The operator, as in callers of its batch.';
comment on column legal_hold.lifted_at is 'Null, as is lifted_by: it holds.';
comment on column legal_hold.version is 'The version of the row. A write states the version that it was decided on.';
comment on column legal_hold.slot is 'With batch: the batch that wrote this version, and has its digest in changes.';
comment on index legal_hold_pkey is 'The holds of a profile, and one that is lifted.';
create index legal_hold_active on legal_hold (profile_id, id) where lifted_at is null;
comment on index legal_hold_active is 'What holds, for verify and the operator.';

-- Conversions --------------------------------------------------------------------------------------------------------

create table conversion (
  profile_id uuid,
  id uuid,
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
  created_at timestamptz not null,
  updated_at timestamptz not null,
  settled_at timestamptz,
  cancelled_at timestamptz,
  version bigint not null,
  slot smallint not null,
  batch bigint not null,
  constraint conversion_pkey primary key (profile_id, id),
  constraint amount_above_zero check (amount > 0),
  constraint assets_differ check (source_asset <> target_asset),
  constraint closed_in_second_version check (version = case status when 'CREATED' then 1 else 2 end),
  constraint settled_has_time check ((status = 'SETTLED') = (settled_at is not null)),
  constraint cancelled_has_time check ((status = 'CANCELLED') = (cancelled_at is not null))
) with (fillfactor = 80);
comment on table conversion is
  'Between USD and a stablecoin, or between two stablecoins, one to one and free: mints, redeems or both. While '
  'CREATED, its amount is in pending of the profile''s account of the source asset. Settlement takes it from there, '
  'and pays the target asset to the recipient; cancelling gives it back. The service settles each by itself, after '
  'PARBOOK_SETTLEMENT_DELAY_MS; until then its customer can cancel it.';
comment on column conversion.id is
  'Even, and in the order of creation. Also the id of the journal that holds the money; the odd id beside it is that '
  'of the journal that ends the hold.';
comment on column conversion.amount is 'Of the source asset, and the same of the target asset.';
comment on column conversion.recipient_profile_id is 'Who is paid, a profile of the same customer. Null: the profile itself.';
comment on column conversion.ref_id is 'The customer''s key, which a claim keeps unique.';
comment on column conversion.identity_id is 'The customer''s own reference to one of its end users, as account_id is to that user''s account. Not verified.';
comment on column conversion.version is 'The version of the row: 1 while it is CREATED, then 2. A write states the version that it was decided on.';
comment on column conversion.slot is 'With batch: the batch that wrote this version, and has its digest in changes.';
comment on index conversion_pkey is 'A conversion that settles or is cancelled.';
create index conversion_customer on conversion (customer_id, id);
comment on index conversion_customer is 'Lists of a customer by creation, page by page, and a conversion by its id.';
create index conversion_created on conversion (created_at) where status = 'CREATED';
comment on index conversion_created is 'What is due for settlement, the oldest first, and how much is.';

-- Orders and executions ----------------------------------------------------------------------------------------------

create table market_head (
  market code,
  fence bigint not null,
  last_price amount,
  last_execution_id bigint not null,
  last_sequence bigint not null,
  version bigint not null,
  slot smallint not null,
  batch bigint not null,
  constraint market_head_pkey primary key (market),
  constraint last_price_of_last_match check ((last_price is null) = (last_execution_id = 0)),
  constraint market_exists foreign key (market) references market
);
comment on table market_head is
  'The engine''s row of a market. Every command of an engine changes it, so the commands of a market have one order, and an '
  'engine that was replaced can commit nothing more.';
comment on column market_head.fence is 'The fencing token of the lease market/<code>, under which the engine writes.';
comment on column market_head.last_price is 'Of the last match. Null before the first.';
comment on column market_head.last_execution_id is 'The taker''s execution id of the last match; 0 before the first.';
comment on column market_head.last_sequence is 'The sequence of the last order that the engine took.';
comment on column market_head.version is 'The version of the row, and of the order book: sequence on the wire.';
comment on column market_head.slot is 'With batch: the batch that wrote this version, and has its digest in changes.';
comment on index market_head_pkey is 'The head of a market.';

create table orders (
  profile_id uuid,
  id uuid,
  customer_id uuid not null,
  market code not null,
  side order_side not null,
  type order_type not null,
  time_in_force time_in_force not null,
  base_amount amount,
  quote_amount amount,
  price amount,
  stop_price amount,
  expiration_date timestamptz,
  taker_rate rate not null,
  maker_rebate rate not null,
  recipient_profile_id uuid,
  ref_id text,
  identity_id text,
  identity_account_id text,
  self_match_prevention_id text,
  metadata jsonb,
  created_at timestamptz not null,
  status order_status not null,
  sequence bigint,
  priority bigint,
  filled amount not null,
  filled_gross amount not null,
  held amount not null,
  is_triggered boolean not null,
  reject_reason reject_reason,
  cancel_reason cancel_reason,
  updated_at timestamptz not null,
  closed_at timestamptz,
  version bigint not null,
  slot smallint not null,
  batch bigint not null,
  constraint orders_pkey primary key (profile_id, id),
  constraint either_base_or_quote_amount check (num_nonnulls(base_amount, quote_amount) = 1),
  constraint quote_amount_of_market_buys_only
    check ((quote_amount is not null) = (side = 'BUY' and type in ('MARKET', 'STOP_MARKET'))),
  constraint price_fits_type check ((price is not null) = (type in ('LIMIT', 'POST_ONLY_LIMIT', 'STOP_LIMIT'))),
  constraint stop_price_fits_type check ((stop_price is not null) = (type in ('STOP_MARKET', 'STOP_LIMIT'))),
  constraint time_in_force_fits_type check (case
    when type = 'MARKET' then time_in_force = 'IOC'
    when type in ('STOP_MARKET', 'STOP_LIMIT') then time_in_force in ('GTC', 'GTT')
    else true end),
  constraint expiration_date_of_gtt_only check ((expiration_date is not null) = (time_in_force = 'GTT')),
  constraint base_amount_above_zero check (base_amount > 0),
  constraint quote_amount_above_zero check (quote_amount > 0),
  constraint price_above_zero check (price > 0),
  constraint stop_price_above_zero check (stop_price > 0),
  constraint filled_not_negative check (filled >= 0),
  constraint filled_within_amount check (filled <= base_amount),
  constraint filled_gross_not_negative check (filled_gross >= 0),
  constraint held_not_negative check (held >= 0),
  constraint triggered_only_at_stop_price check (not is_triggered or stop_price is not null),
  constraint submitted_was_taken check (status <> 'SUBMITTED' or sequence is not null),
  constraint open_has_its_place check (status <> 'OPEN' or (sequence is not null and priority is not null)),
  constraint filled_in_full check (status <> 'FILLED' or (filled > 0 and (base_amount is null or filled = base_amount))),
  constraint rejected_has_filled_nothing check (status <> 'REJECTED' or filled = 0),
  constraint rejected_has_reason check ((status = 'REJECTED') = (reject_reason is not null)),
  constraint cancelled_has_reason check ((status = 'CANCELLED') = (cancel_reason is not null)),
  constraint closed_has_time_and_holds_nothing
    check ((closed_at is not null) = (status in ('FILLED', 'CANCELLED', 'REJECTED', 'EXPIRED')) and (closed_at is null or held = 0))
) with (fillfactor = 45);
comment on table orders is
  'An order. What it holds is in trading of the profile''s account of the quote asset (BUY) or the base asset '
  '(SELL). It is PENDING_SUBMISSION, with its funds held, until the market''s engine takes it. From then on only the '
  'engine changes it; once closed it never changes again. One that is REJECTED when it is placed (identity_pair, '
  'gtt_too_soon) is closed in its first version: it held nothing, has no journal, and no engine took it.';
comment on column orders.id is
  'Even, and in the order of creation. Also the id of the journal that holds its funds; the odd id beside it is that '
  'of the journal that releases the rest.';
comment on column orders.base_amount is 'How much to buy or sell. Null for a MARKET or STOP_MARKET buy.';
comment on column orders.quote_amount is
  'Of a MARKET or STOP_MARKET buy: the most to spend, before the commission. Null for every other order.';
comment on column orders.price is
  'The limit, of a LIMIT, POST_ONLY_LIMIT or STOP_LIMIT order. Null for every other order.';
comment on column orders.stop_price is
  'At which a STOP_MARKET or STOP_LIMIT order becomes active. Null for every other order.';
comment on column orders.expiration_date is 'Of GTT orders. Null for every other order.';
comment on column orders.taker_rate is 'As a share of gross; fixed when it is placed, like maker_rebate, whatever the tiers become.';
comment on column orders.recipient_profile_id is
  'Who receives what is bought (BUY) or the proceeds (SELL), a profile of the same customer. Null: the profile '
  'itself, which always gets back what is not needed of its hold.';
comment on column orders.ref_id is 'The customer''s key, which a claim keeps unique until 24 hours after the order is closed.';
comment on column orders.identity_id is 'The customer''s own reference to one of its end users, as identity_account_id is to that user''s account. Not verified.';
comment on column orders.self_match_prevention_id is 'The customer''s word. Orders of one customer never trade with each other, with or without it.';
comment on column orders.sequence is
  'Numbers the orders of the market as its engine took them. Null: not taken yet, or closed without: REJECTED when it '
  'was placed or because the market was halted, or CANCELLED because it had expired before.';
comment on column orders.priority is 'Its place among the resting orders of its side and price; a triggered stop stands behind those that are there. Null: it never rested.';
comment on column orders.filled is 'In the base asset: the sum of amount of its executions.';
comment on column orders.filled_gross is 'In the quote asset: the sum of amount times price of its executions.';
comment on column orders.held is
  'What it still holds of its account''s trading part; 0 when closed. Of a SELL, the rest of its base amount. Of a '
  'BUY, what the rest may cost with the commission: each match releases what a better price or being the maker '
  'saved, and closing the rest.';
comment on column orders.is_triggered is 'Whether the stop price was reached.';
comment on column orders.reject_reason is 'Of a REJECTED order. Null for every other.';
comment on column orders.cancel_reason is 'Of a CANCELLED order. Null for every other.';
comment on column orders.closed_at is 'Null: it is not closed.';
comment on column orders.version is 'The version of the row. A write states the version that it was decided on.';
comment on column orders.slot is 'With batch: the batch that wrote this version, and has its digest in changes.';
comment on index orders_pkey is 'An order of a profile: reading, filling and cancelling it.';
create index orders_customer on orders (customer_id, id);
comment on index orders_customer is 'Lists of a customer by creation, page by page, and an order without its profile.';
create index orders_account on orders (customer_id, identity_account_id, id) where identity_account_id is not null;
comment on index orders_account is 'Lists by identity_account_id, page by page.';
create index orders_ref on orders (customer_id, ref_id) where ref_id is not null;
comment on index orders_ref is 'Lists by ref_id.';

create table pending_order (
  market code,
  id uuid,
  profile_id uuid not null,
  customer_id uuid not null,
  created_at timestamptz not null,
  version bigint not null,
  constraint pending_order_pkey primary key (market, id)
);
comment on table pending_order is
  'The orders that are PENDING_SUBMISSION, for the engines: derived from orders, like booked_order. The statement '
  'that writes an order also writes its row here, or deletes it once the order has another status, so nothing that '
  'changes is in an index of orders. In no digest: verify compares the columns with those of orders '
  '(docs/decisions/0033-open-orders.md).';
comment on column pending_order.id is 'In the order of creation.';
comment on column pending_order.version is 'The order''s version.';
comment on index pending_order_pkey is 'What the engine of a market has yet to take, the oldest first; and the row of an order that changes.';

create table booked_order (
  market code,
  id uuid,
  profile_id uuid not null,
  customer_id uuid not null,
  recipient_profile_id uuid,
  version bigint not null,
  priority bigint,
  expiration_date timestamptz,
  side order_side not null,
  status order_status not null,
  price amount,
  base_amount amount,
  filled amount not null,
  constraint booked_order_pkey primary key (market, id),
  constraint rests_waits_or_executes check (status in ('OPEN', 'SUBMITTED'))
) with (fillfactor = 80);
comment on table booked_order is
  'The orders that are in an engine''s book: OPEN, on the order book, or SUBMITTED, waiting for their stop price or '
  'between two parts of their execution. Derived from orders, like pending_order, with what is needed of the OPEN '
  'ones to restore and to read the book; of SUBMITTED ones an engine reads orders, too.';
comment on column booked_order.version is 'The order''s version.';
comment on index booked_order_pkey is 'The orders of a market, when an engine starts; and the row of an order that changes.';
create index booked_order_customer on booked_order (customer_id, id);
comment on index booked_order_customer is 'Lists of a customer''s open orders: few among all that it ever had.';
create index booked_order_level on booked_order (market, side, price) where status = 'OPEN';
comment on index booked_order_level is
  'The levels of a market''s order book, the best first from either end. Nothing that a partial fill changes is in it.';

create table order_cancel (
  profile_id uuid,
  order_id uuid,
  market code not null,
  requested_at timestamptz not null,
  caller json,
  constraint order_cancel_pkey primary key (profile_id, order_id)
);
comment on table order_cancel is 'A cancel that was requested, until the market''s engine has carried it out or found the order closed, and deletes the row.';
comment on column order_cancel.caller is
  'Who asked, as an entry of a batch''s callers, among which the engine''s batch that carries it out has it. Every '
  'request has one, although the column allows null.';
comment on index order_cancel_pkey is 'One request per order, and the ones that are done.';
create index order_cancel_market on order_cancel (market, requested_at);
comment on index order_cancel_market is 'What the engine of a market has yet to cancel, the oldest first.';

create table execution (
  profile_id uuid,
  id bigint,
  customer_id uuid not null,
  order_id uuid not null,
  market code not null,
  side order_side not null,
  amount amount not null,
  price amount not null,
  commission amount not null,
  rebate amount not null,
  account_id text,
  executed_at timestamptz not null,
  slot smallint not null,
  batch bigint not null,
  constraint execution_pkey primary key (profile_id, id),
  constraint id_above_zero check (id > 0),
  constraint amount_above_zero check (amount > 0),
  constraint price_above_zero check (price > 0),
  constraint commission_not_negative check (commission >= 0),
  constraint rebate_not_negative check (rebate >= 0),
  constraint commission_of_taker_only check (commission = 0 or (id & 1) = 1),
  constraint rebate_of_maker_only check (rebate = 0 or (id & 1) = 0)
);
comment on table execution is
  'One order''s side of a match. A match is two rows: the maker''s, whose order rested, with an even id, and the taker''s with '
  'the odd id beside it. Never changed or deleted.';
comment on column execution.id is
  '41 bits of milliseconds since 2020, 8 of the market''s number, 14 of a counter: ids are in the order of time, and a range of '
  'times is a range of ids.';
comment on column execution.customer_id is 'The order''s, as are profile_id, market and side.';
comment on column execution.amount is 'In the base asset.';
comment on column execution.price is 'Of one unit of the base asset, in the quote asset.';
comment on column execution.commission is 'In the quote asset: the taker''s. Zero on the maker''s side.';
comment on column execution.rebate is 'In the quote asset: the maker''s. Zero on the taker''s side.';
comment on column execution.account_id is 'The order''s identity_account_id: named as in the API, like the other words of callers.';
comment on column execution.slot is 'With batch: the batch that added it.';
comment on index execution_pkey is 'Lists of a profile by time, page by page.';
create index execution_customer on execution (customer_id, id);
comment on index execution_customer is 'Lists of a customer by time, page by page; and what a customer traded, for verify.';
create index execution_order on execution (order_id, id);
comment on index execution_order is 'The executions of an order.';
create index execution_account on execution (customer_id, account_id, id) where account_id is not null;
comment on index execution_account is 'Lists by account_id, page by page.';
create index execution_match on execution (market, id) include (price, amount) where (id & 1) = 1;
comment on index execution_match is
  'The matches of a market by time, each by its taker''s side: recent trades, candles, prices, the rolling day and the feed, '
  'mostly from the index alone.';
create index execution_maker on execution (market, id) where (id & 1) = 0;
comment on index execution_maker is 'The maker''s side of a match, for verify: it finds each execution''s counterpart.';
create index execution_batch on execution using brin (batch int8_minmax_multi_ops)
  with (pages_per_range = 32, autosummarize = on);
comment on index execution_batch is 'The executions of a range of batches, for verify and exports.';

create table customer_volume (
  customer_id uuid,
  day date,
  market code,
  gross amount not null,
  version bigint not null,
  slot smallint not null,
  batch bigint not null,
  constraint customer_volume_pkey primary key (customer_id, day, market),
  constraint gross_above_zero check (gross > 0)
) with (fillfactor = 80);
comment on table customer_volume is
  'What a customer traded on a market in a day (UTC), as maker and as taker: the fee tier follows from 30 of these days. '
  'Written in the batch of each match; verify sums the executions.';
comment on column customer_volume.gross is 'In the market''s quote asset: the sum of amount times price.';
comment on column customer_volume.version is 'The version of the row. A write states the version that it was decided on.';
comment on column customer_volume.slot is 'With batch: the batch that wrote this version, and has its digest in changes.';
comment on index customer_volume_pkey is 'What a customer traded since a day, and the day that a match counts to.';

-- Events -------------------------------------------------------------------------------------------------------------

create table event_cut (
  cut bigint,
  at timestamptz not null,
  events integer not null,
  slots smallint[] not null,
  heads bigint[] not null,
  market_readers json,
  digest bytea not null,
  fence bigint not null,
  constraint event_cut_pkey primary key (cut),
  constraint cut_above_zero check (cut > 0),
  constraint a_head_for_each_slot check (cardinality(slots) = cardinality(heads)),
  constraint events_not_negative check (events >= 0)
);
comment on table event_cut is
  'A round of the publisher of events: how far it had read the chain of each slot. What lies between a cut and the '
  'one before it became events, in an order that follows from the batches alone: by at, then slot, but never against '
  'the numbers of a slot or the versions of an object. So the events follow from the cuts and the chain '
  '(docs/decisions/0036-events.md). The publisher''s place is the last cut. Never changed or deleted.';
comment on column event_cut.cut is 'Numbers the cuts from 1, without gaps: of two publishers one fails here.';
comment on column event_cut.at is
  'The at of its events, which the API calls created_at: never before that of the cut before, nor before its last '
  'batch.';
comment on column event_cut.events is 'How many events it made.';
comment on column event_cut.slots is
  'All slots that had batches by then, in order, whether or not this cut has any of theirs.';
comment on column event_cut.heads is
  'Of each slot of slots, the number n of the last batch that is in this cut or in one before.';
comment on column event_cut.market_readers is
  'Of each market that was halted or resumed in it, the customers who are told: those who had open orders on it when '
  'the publisher made the cut, which is a moment after the halt. {"BTCUSD": [customer_id, ...]}. Null: no market was.';
comment on column event_cut.digest is
  'SHA-256 of a line for each of its events, in order: customer, type, object and version, with a space between them; '
  'what never changes has no version.';
comment on column event_cut.fence is 'The fencing token of the lease events, under which it was written.';
comment on index event_cut_pkey is 'The last cut; and, by bisection, the cut at a time.';

create table event (
  customer_id uuid,
  first_number bigint,
  cut bigint not null,
  at timestamptz not null,
  object_id uuid,
  count integer not null,
  entries json not null,
  constraint event_pkey primary key (customer_id, first_number),
  constraint first_number_above_zero check (first_number > 0),
  constraint count_above_zero check (count > 0)
);
comment on table event is
  'What the customers are told: consecutive events of one customer in one cut. One row for a run of transfers and '
  'executions, which never change, so that thousands of transfers a second cost few rows; a row of its own for each '
  'version of an object that changes. Events are made of every transfer that has no steps (one for each side), every '
  'execution, each step of a deposit or a withdrawal, and the versions of conversions, orders and profiles that '
  'change what the customer is told: of an order its status, its fills or its trigger, of a profile all but '
  'incoming_count and last_deactivation; and of a market''s halts and resumptions, for those whom market_readers of '
  'the cut names. Of nothing else: not of legal holds, fees or access. Derived from the chain and event_cut, with '
  'which verify compares it. Removed when it is older than PARBOOK_EVENT_DAYS, but for what event_retention names.';
comment on column event.first_number is
  'Of its first event. A customer''s events are numbered from 1, without gaps; of old ones only some are kept.';
comment on column event.cut is 'The cut that made it.';
comment on column event.at is 'The cut''s.';
comment on column event.object_id is
  'The deposit, withdrawal, conversion, order or profile whose version it is. Null: a run; or one event of a market, '
  'which unlike those of a run has a version.';
comment on column event.count is 'How many events it holds.';
comment on column event.entries is
  '[type, object] of each event of a run, [type, object, version, state] of every other. The types are in '
  'docs/events.md. object is the id of the customer''s own record, so of a credit the odd one; of a market its code. '
  'state is what the columns that are overwritten held in that version, as text. Everything else of the object never '
  'changes, and is read from its row.';
comment on index event_pkey is 'A customer''s events by number; and, by bisection, by time.';
create index event_object on event (customer_id, object_id, first_number) where object_id is not null;
comment on index event_object is 'The events of an object, and its state at the last of them.';
create index event_by_cut on event using brin (cut int8_minmax_multi_ops) with (pages_per_range = 16, autosummarize = on);
comment on index event_by_cut is 'The rows of a range of cuts: for whom there is news, for verify, and the oldest ones.';

create table event_retention (
  first_cut bigint not null,
  only_one boolean default true,
  constraint event_retention_pkey primary key (only_one),
  constraint only_one_is_true check (only_one),
  constraint first_cut_above_zero check (first_cut > 0)
);
comment on table event_retention is
  'From which cut on every event is there and listed, in one row. Of older ones there are only the last row of each '
  'customer, from which its numbers go on, and of each object that may still change, for its state.';
comment on index event_retention_pkey is 'No query: it allows one row.';
insert into event_retention (first_cut) values (1);

-- Webhooks -----------------------------------------------------------------------------------------------------------

create table webhook (
  id uuid,
  customer_id uuid not null,
  name text collate "C" not null,
  url text not null,
  types text[] not null,
  body text not null,
  delivery_order text not null,
  deliveries_per_second smallint not null,
  receiver_access json,
  active_place smallint,
  disabled_reason text,
  disabled_at timestamptz,
  deleted_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  version bigint not null,
  constraint webhook_pkey primary key (id),
  constraint customer_exists foreign key (customer_id) references customer,
  constraint body_is_known check (body in ('thin', 'full')),
  constraint delivery_order_is_known check (delivery_order in ('per_object', 'strict', 'any')),
  constraint deliveries_from_1_to_100_a_second check (deliveries_per_second between 1 and 100),
  constraint types_from_1_to_100 check (cardinality(types) between 1 and 100),
  constraint at_most_10_active check (active_place between 1 and 10),
  constraint disabled_reason_is_known check (disabled_reason in ('customer', 'operator', 'gone', 'failing')),
  constraint active_or_disabled_or_deleted check ((active_place is null) = (disabled_at is not null or deleted_at is not null)),
  constraint reason_of_disabled check ((disabled_reason is null) = (disabled_at is null))
);
comment on table webhook is
  'Where a customer wants its events posted (docs/webhooks.md), as the customer or the operator has set it. What is '
  'delivered is in webhook_progress. One that is deleted stays, for what its attempts say.';
comment on column webhook.name is 'The customer''s name for it.';
comment on column webhook.url is 'Where it posts to, as it was given.';
comment on column webhook.types is 'The types of events that it gets; * at the end of one stands for any rest.';
comment on column webhook.body is 'thin: what happened to which object. full: the object too, as it was then.';
comment on column webhook.delivery_order is
  'per_object: never two events of one object at once, nor out of order. strict: a batch of up to 100 events at a '
  'time, all in order. any: as they come.';
comment on column webhook.deliveries_per_second is 'At most so many, on average.';
comment on column webhook.receiver_access is
  'How the receiver lets it in, but for the secret, which is in webhook_secret: {"kind": "api_key", "header"} or '
  '{"kind": "oauth", "token_url", "client_id", "scope"}. Null: by the signature alone.';
comment on column webhook.active_place is
  'One of the customer''s ten places for active webhooks; which has no meaning. Null: it is disabled or deleted.';
comment on column webhook.disabled_reason is
  'customer, operator: disabled by them. gone: its receiver answered 410. failing: nothing was accepted for five '
  'days. Null: it is not disabled.';
comment on column webhook.disabled_at is 'Since when nothing is delivered; it keeps its place. Null: it is not disabled.';
comment on column webhook.deleted_at is 'Null: it is not deleted.';
comment on column webhook.version is 'Rises with each change.';
comment on index webhook_pkey is 'A webhook, and foreign keys.';
create unique index webhook_name on webhook (customer_id, name) where deleted_at is null;
comment on index webhook_name is 'The webhooks of a customer; and a customer gives a name once.';
create unique index webhook_active on webhook (customer_id, active_place) where active_place is not null;
comment on index webhook_active is 'What is delivered to; and a customer has at most 10 active webhooks.';
create index webhook_disabled_by_service on webhook (disabled_at) where disabled_reason in ('gone', 'failing');
comment on index webhook_disabled_by_service is 'Which webhooks the service has disabled, for their records in webhook_disabling.';

create table webhook_secret (
  id uuid,
  webhook_id uuid not null,
  kind text not null,
  secret json not null,
  public_key text,
  created_at timestamptz not null,
  expires_at timestamptz,
  constraint webhook_secret_pkey primary key (id),
  constraint webhook_exists foreign key (webhook_id) references webhook,
  constraint kind_is_known check (kind in ('v1', 'v1a', 'api_key', 'oauth')),
  constraint public_key_of_v1a check ((public_key is not null) = (kind = 'v1a'))
);
comment on table webhook_secret is
  'What webhooks sign with, and what they show to their receivers. Up to four of a kind that signs while it is rotated. '
  'Removed when it has expired.';
comment on column webhook_secret.webhook_id is 'Whose it is.';
comment on column webhook_secret.kind is
  'v1, v1a: signs (HMAC-SHA-256, Ed25519). api_key, oauth: shown to the receiver, as receiver_access says.';
comment on column webhook_secret.secret is 'In clear, or, with PARBOOK_KEY_ENCRYPTION_KEY, encrypted as signing keys are.';
comment on column webhook_secret.public_key is 'Its public half, which receivers read. Null: it has none.';
comment on column webhook_secret.expires_at is 'Until then it signs beside its successor. Null: it does not expire.';
comment on index webhook_secret_pkey is 'A secret.';
create index webhook_secret_webhook on webhook_secret (webhook_id, kind, created_at);
comment on index webhook_secret_webhook is 'The secrets of a webhook.';

create table webhook_progress (
  webhook_id uuid,
  customer_id uuid not null,
  read_to bigint not null,
  accepted_behind bigint[] not null default '{}',
  batch_end bigint,
  failing_since timestamptz,
  last_failure_at timestamptz,
  last_success_at timestamptz,
  version bigint not null,
  constraint webhook_progress_pkey primary key (webhook_id),
  constraint webhook_exists foreign key (webhook_id) references webhook,
  constraint read_to_not_negative check (read_to >= 0),
  constraint accepted_behind_what_was_read check (read_to < all (accepted_behind)),
  constraint batch_behind_what_was_read check (batch_end > read_to)
) with (fillfactor = 50);
comment on table webhook_progress is
  'How far the events of a customer were delivered to a webhook. Written by the process with the lease webhooks.';
comment on column webhook_progress.webhook_id is 'Whose it is.';
comment on column webhook_progress.read_to is
  'Each of the customer''s events up to this number was accepted, or is not of its types, or is in webhook_delivery.';
comment on column webhook_progress.accepted_behind is
  'Events behind read_to that were accepted while an earlier one was not: they are not posted again. Mostly few.';
comment on column webhook_progress.batch_end is
  'Of a strict webhook, the last event of the batch that is being delivered, so that it is the same batch however '
  'often it is tried. Null: none is.';
comment on column webhook_progress.failing_since is
  'Since when each attempt failed, without two days in which none was made. Null: the last one was accepted, or there '
  'was none.';
comment on column webhook_progress.last_failure_at is 'When an attempt failed last. Null: none did.';
comment on column webhook_progress.last_success_at is 'When something was accepted last. Null: nothing was.';
comment on column webhook_progress.version is
  'Rises when a process begins to deliver, and when somebody sets the place or repeats deliveries. Who delivers writes '
  'only if it is the version that it has read.';
comment on index webhook_progress_pkey is 'The progress of a webhook.';

create table webhook_delivery (
  webhook_id uuid,
  number bigint,
  customer_id uuid not null,
  object_id text collate "C" not null,
  status text not null,
  attempts integer not null,
  next_attempt_at timestamptz,
  last_error text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint webhook_delivery_pkey primary key (webhook_id, number),
  constraint webhook_exists foreign key (webhook_id) references webhook,
  constraint status_is_known check (status in ('RETRYING', 'BLOCKED', 'UNDELIVERED')),
  constraint next_attempt_of_retrying check ((next_attempt_at is not null) = (status = 'RETRYING')),
  constraint attempts_not_negative check (attempts >= 0)
) with (fillfactor = 80);
comment on table webhook_delivery is
  'Events that a webhook''s receiver has not accepted, of those that webhook_progress has passed, or of the batch of a '
  'strict one. Removed when it accepts them, or when the event is no longer kept.';
comment on column webhook_delivery.webhook_id is 'What did not deliver it.';
comment on column webhook_delivery.number is 'The customer''s number of the event.';
comment on column webhook_delivery.object_id is
  'The object that the event is of. Its later events wait for it, unless the webhook takes them in any order.';
comment on column webhook_delivery.status is
  'RETRYING: is tried again at next_attempt_at. BLOCKED: waits for an earlier event of its object. UNDELIVERED: is '
  'tried no more, until somebody asks for it.';
comment on column webhook_delivery.attempts is 'How often it was tried.';
comment on column webhook_delivery.next_attempt_at is 'When it is tried again. Null: not by itself.';
comment on column webhook_delivery.last_error is 'Why the last attempt failed. Null: it was not tried.';
comment on index webhook_delivery_pkey is 'What of a webhook is open, in order.';
create index webhook_delivery_open on webhook_delivery (webhook_id, number) where status <> 'UNDELIVERED';
comment on index webhook_delivery_open is 'What of a webhook is delivered later, beside what it has given up.';
create index webhook_delivery_undelivered on webhook_delivery (customer_id, number) where status = 'UNDELIVERED';
comment on index webhook_delivery_undelivered is 'Of the events of a page, to how many webhooks they could not be delivered.';

create table webhook_attempt (
  webhook_id uuid,
  id uuid,
  message_id text collate "C" not null,
  number bigint,
  events integer not null,
  at timestamptz not null,
  ms integer not null,
  status smallint,
  error text,
  answer bytea,
  constraint webhook_attempt_pkey primary key (webhook_id, id),
  constraint webhook_exists foreign key (webhook_id) references webhook,
  constraint an_answer_or_an_error check (status is not null or error is not null),
  constraint answer_up_to_a_kibibyte check (length(answer) <= 1024)
);
comment on table webhook_attempt is
  'What happened when something was posted to a webhook. Kept for 30 days, and at most the last 1,000 of each '
  'webhook.';
comment on column webhook_attempt.webhook_id is 'To which.';
comment on column webhook_attempt.id is 'In the order of the attempts.';
comment on column webhook_attempt.message_id is 'What was posted as webhook-id.';
comment on column webhook_attempt.number is 'The event, or the first of the batch. Null: a test.';
comment on column webhook_attempt.events is 'How many events were posted.';
comment on column webhook_attempt.ms is 'How long it took, in milliseconds.';
comment on column webhook_attempt.status is 'The HTTP status of the answer. Null: there was none.';
comment on column webhook_attempt.error is 'Why there was no answer, or why it was not accepted. Null: it was accepted.';
comment on column webhook_attempt.answer is 'The first KiB of the answer''s body. Null: there was none.';
comment on index webhook_attempt_pkey is 'The attempts of a webhook, newest first.';

create table webhook_disabling (
  customer_id uuid,
  id uuid,
  name text collate "C" not null,
  url text not null,
  reason text not null,
  disabled_at timestamptz not null,
  version bigint not null,
  slot smallint not null,
  batch bigint not null,
  constraint webhook_disabling_pkey primary key (customer_id, id),
  constraint reason_is_known check (reason in ('gone', 'failing'))
) with (fillfactor = 80);
comment on table webhook_disabling is
  'That the service itself has disabled a webhook, the last time that it did, and how the webhook was set then. Its '
  'customer is told by an event, which follows from the chain, so a lane writes it (docs/webhooks.md).';
comment on column webhook_disabling.id is 'The webhook''s.';
comment on column webhook_disabling.name is 'The webhook''s then.';
comment on column webhook_disabling.url is 'The webhook''s then.';
comment on column webhook_disabling.reason is
  'gone: its receiver answered 410. failing: nothing was accepted for five days.';
comment on column webhook_disabling.disabled_at is 'The webhook''s then. A webhook that has another one now is not recorded yet.';
comment on column webhook_disabling.version is 'How often it was disabled. A write states the version that it was decided on.';
comment on column webhook_disabling.slot is 'With batch: the batch that wrote this version, and has its digest in changes.';
comment on index webhook_disabling_pkey is 'The last time of a webhook.';

-- Market data --------------------------------------------------------------------------------------------------------

create unlogged table book_change (
  market code,
  version bigint,
  levels json not null,
  at timestamptz not null,
  constraint book_change_pkey primary key (market, version)
);
comment on table book_change is
  'What each change of the order book did, for nodes that follow it (docs/decisions/0011-the-feed.md). No part of the '
  'ledger. Unlogged: a crash empties it, a standby does not have it, and a node that misses a row reads the whole book. The '
  'engine''s node adds rows after the fact, and removes them after some minutes.';
comment on column book_change.version is 'The version of the order book after it, as in market_head.';
comment on column book_change.levels is '[side, price, new total] of each level that changed; [] when none did.';
comment on index book_change_pkey is 'What changed on a market since a version, and the oldest rows.';

-- Operations ---------------------------------------------------------------------------------------------------------

create table lease (
  name text collate "C",
  holder text not null,
  fence bigint not null,
  expires_at timestamptz not null,
  constraint lease_pkey primary key (name)
);
comment on table lease is
  'What one process at a time may do. Only the database''s clock decides whether a lease has ended. A lease alone does not '
  'stop a process that has lost it: the hash chain of a slot and the head of a market do.';
comment on column lease.name is 'slot/<n>: write that chain. market/<code>: be its engine. events: publish events. Others are jobs of the sandbox.';
comment on column lease.fence is 'The fencing token: rises with every new holder.';
comment on index lease_pkey is 'The lease of a name.';

create table access_denial (
  id uuid,
  kind text not null,
  client_id text collate "C",
  token_id uuid,
  address text,
  operation text,
  first_at timestamptz not null,
  last_at timestamptz not null,
  count bigint not null,
  constraint access_denial_pkey primary key (id),
  constraint kind_is_known check (kind in ('no_token', 'invalid_token', 'insufficient_scope', 'invalid_client')),
  constraint client_id_up_to_100_characters check (length(client_id) <= 100),
  constraint address_up_to_100_characters check (length(address) <= 100),
  constraint operation_up_to_200_characters check (length(operation) <= 200),
  constraint last_not_before_first check (last_at >= first_at),
  constraint count_above_zero check (count > 0)
);
comment on table access_denial is
  'Requests that were denied for want of authority, for the operator who asks afterwards. A process counts equal '
  'denials together and writes them once a minute: a crash loses those of the last minute. Of more than a hundred '
  'different ones in a minute it adds up the rest by kind and client, and past two hundred by kind, so that a flood '
  'fills neither table nor disk. Kept for 30 days.';
comment on column access_denial.id is 'Made when the row is written: a range of times is a range of ids.';
comment on column access_denial.client_id is
  'Of a token: proved by it. Of invalid_client: as it was presented, proved by nothing, and null when there is no such '
  'client, because what was presented may be a secret in the wrong place.';
comment on column access_denial.address is 'Null, with the operation: of several addresses.';
comment on column access_denial.operation is 'The method and the path''s pattern, such as "GET /v2/profiles/:id".';
comment on index access_denial_pkey is 'Denials since a time, the latest first, and those that are 30 days old.';

create table ledger (
  id uuid,
  own_catalogue boolean not null default false,
  only_one boolean not null default true,
  constraint ledger_pkey primary key (id),
  constraint ledger_has_one_row unique (only_one),
  constraint only_one_is_true check (only_one)
);
comment on table ledger is
  'Names this ledger, in one row, made with it: tells a checkpoint of another ledger from one of this whose history was '
  'recomputed. A copy or a restored backup keeps the name.';
comment on column ledger.own_catalogue is
  'Whether it was ever filled from an operator''s catalogue (PARBOOK_CATALOGUE): the program''s own is then not added to it.';
comment on index ledger_pkey is 'No query: the id is the key.';
comment on index ledger_has_one_row is 'No query: it allows one row.';
insert into ledger (id) values (gen_random_uuid());

create table service_mode (
  mode text not null,
  only_one boolean not null default true,
  constraint service_mode_pkey primary key (only_one),
  constraint mode_is_known check (mode in ('sandbox', 'production')),
  constraint only_one_is_true check (only_one)
);
comment on table service_mode is
  'The mode of the first service that started on this database, in one row, for good: a sandbox has money that nobody paid in, so '
  'it never becomes production, and production never becomes a sandbox.';
comment on column service_mode.mode is 'As PARBOOK_MODE.';
comment on index service_mode_pkey is 'No query: it allows one row.';

comment on table migration is 'The migrations that were applied to this database.';
comment on column migration.checksum is 'SHA-256 of the file: a file that was edited afterwards is rejected.';
comment on index migration_pkey is 'No query: it keeps numbers apart.';
