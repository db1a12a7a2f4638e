-- A database of Parbook 0.1, as pg_dump wrote it: made by its service and its nine migrations. It has two customers, an
-- open conversion and open orders.
CREATE TYPE account_part AS ENUM (
    'available',
    'trading',
    'pending'
);
CREATE DOMAIN amount AS numeric
	CONSTRAINT amount_check CHECK (((scale(VALUE) <= 18) AND (VALUE > '-100000000000000000000000000000'::numeric) AND (VALUE < '100000000000000000000000000000'::numeric)));
CREATE TYPE asset_kind AS ENUM (
    'fiat',
    'stablecoin',
    'crypto'
);
CREATE TYPE claim_kind AS ENUM (
    'transfer',
    'conversion',
    'order',
    'nickname',
    'opening'
);
CREATE DOMAIN code AS text COLLATE pg_catalog."C"
	CONSTRAINT code_check CHECK ((VALUE ~ '^[A-Z0-9]{2,16}$'::text));
CREATE TYPE conversion_status AS ENUM (
    'CREATED',
    'SETTLED',
    'CANCELLED'
);
CREATE TYPE crypto_network AS ENUM (
    'BITCOIN',
    'ETHEREUM',
    'BITCOIN_CASH',
    'LITECOIN',
    'SOLANA',
    'POLYGON_POS',
    'BASE',
    'ARBITRUM_ONE',
    'STELLAR',
    'INK',
    'XLAYER'
);
CREATE TYPE direction AS ENUM (
    'CREDIT',
    'DEBIT'
);
CREATE TYPE house AS ENUM (
    'world',
    'reserve',
    'issuance',
    'fees'
);
CREATE TYPE journal_cause AS ENUM (
    'deposit',
    'withdrawal',
    'transfer',
    'conversion_created',
    'conversion_settled',
    'conversion_cancelled',
    'order_held',
    'order_filled',
    'order_released'
);
CREATE TYPE market_status AS ENUM (
    'OPEN',
    'HALTED'
);
CREATE TYPE order_side AS ENUM (
    'BUY',
    'SELL'
);
CREATE TYPE order_status AS ENUM (
    'PENDING_SUBMISSION',
    'SUBMITTED',
    'OPEN',
    'FILLED',
    'CANCELLED',
    'REJECTED',
    'EXPIRED'
);
CREATE TYPE order_type AS ENUM (
    'LIMIT',
    'MARKET',
    'POST_ONLY_LIMIT',
    'STOP_MARKET',
    'STOP_LIMIT'
);
CREATE TYPE profile_kind AS ENUM (
    'DEFAULT',
    'NORMAL'
);
CREATE TYPE profile_status AS ENUM (
    'ACTIVE',
    'INACTIVE'
);
CREATE DOMAIN rate AS numeric
	CONSTRAINT rate_check CHECK (((VALUE >= (0)::numeric) AND (VALUE < (1)::numeric) AND (scale(VALUE) <= 4)));
CREATE TYPE reject_reason AS ENUM (
    'identity_pair',
    'gtt_too_soon',
    'post_only_would_cross',
    'no_liquidity',
    'below_one_lot',
    'price_collar',
    'market_halted'
);
CREATE TYPE time_in_force AS ENUM (
    'GTC',
    'FOK',
    'IOC',
    'GTT'
);
CREATE TYPE transfer_type AS ENUM (
    'INTERNAL_TRANSFER_DEBIT',
    'INTERNAL_TRANSFER_CREDIT',
    'CRYPTO_DEPOSIT',
    'CRYPTO_WITHDRAWAL',
    'WIRE_DEPOSIT',
    'WIRE_WITHDRAWAL',
    'SEN_DEPOSIT',
    'SEN_WITHDRAWAL',
    'BANK_DEPOSIT',
    'BANK_WITHDRAWAL',
    'PLATFORM_TRANSFER_DEBIT',
    'PLATFORM_TRANSFER_CREDIT',
    'SIGNET_DEPOSIT',
    'SIGNET_WITHDRAWAL',
    'CBIT_WITHDRAWAL',
    'CBIT_DEPOSIT',
    'CUBIX_DEPOSIT',
    'CUBIX_WITHDRAWAL',
    'RTP_DEPOSIT'
);
CREATE TABLE account (
    owner_id uuid NOT NULL,
    asset code NOT NULL,
    house house,
    available amount NOT NULL,
    trading amount NOT NULL,
    pending amount NOT NULL,
    at timestamp with time zone NOT NULL,
    seq bigint NOT NULL,
    CONSTRAINT account_pending_check CHECK (((pending)::numeric >= (0)::numeric)),
    CONSTRAINT account_seq_check CHECK ((seq >= 0)),
    CONSTRAINT account_trading_check CHECK (((trading)::numeric >= (0)::numeric)),
    CONSTRAINT house_has_one_part CHECK (((house IS NULL) OR (((trading)::numeric = (0)::numeric) AND ((pending)::numeric = (0)::numeric)))),
    CONSTRAINT not_overdrawn CHECK ((((available)::numeric >= (0)::numeric) OR (house = ANY (ARRAY['world'::house, 'reserve'::house, 'issuance'::house]))))
)
WITH (fillfactor='50');
CREATE TABLE asset (
    code code NOT NULL,
    kind asset_kind NOT NULL,
    "precision" smallint NOT NULL,
    CONSTRAINT asset_precision_check CHECK ((("precision" >= 0) AND ("precision" <= 18)))
);
CREATE TABLE batch (
    slot smallint NOT NULL,
    n bigint NOT NULL,
    hash bytea NOT NULL,
    at timestamp with time zone NOT NULL,
    void boolean NOT NULL,
    states integer NOT NULL,
    states_expected integer NOT NULL,
    refs integer NOT NULL,
    refs_expected integer NOT NULL,
    predecessor integer NOT NULL,
    in_time boolean NOT NULL,
    changes json,
    callers json,
    not_ahead boolean,
    CONSTRAINT batch_n_check CHECK ((n >= 0)),
    CONSTRAINT batch_slot_check CHECK (((slot >= 1) AND (slot <= 64))),
    CONSTRAINT chain_broken CHECK (((predecessor = 1) OR (n = 0))),
    CONSTRAINT refs_taken CHECK ((refs = refs_expected)),
    CONSTRAINT states_moved CHECK ((states = states_expected)),
    CONSTRAINT too_late CHECK (in_time)
);
CREATE UNLOGGED TABLE book_change (
    market code NOT NULL,
    number bigint NOT NULL,
    levels json NOT NULL,
    at timestamp with time zone NOT NULL
);
CREATE TABLE books (
    id uuid NOT NULL,
    only_one boolean DEFAULT true NOT NULL,
    CONSTRAINT books_only_one_check CHECK (only_one)
);
CREATE TABLE claim (
    customer_id uuid NOT NULL,
    kind claim_kind NOT NULL,
    ref_id text NOT NULL COLLATE pg_catalog."C",
    id uuid NOT NULL
);
CREATE TABLE client (
    client_id text NOT NULL COLLATE pg_catalog."C",
    customer_id uuid NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamp with time zone NOT NULL,
    disabled_at timestamp with time zone,
    networks cidr[],
    CONSTRAINT client_networks_check CHECK (((cardinality(networks) >= 1) AND (cardinality(networks) <= 100)))
);
CREATE TABLE client_secret (
    client_id text NOT NULL COLLATE pg_catalog."C",
    id uuid NOT NULL,
    scheme text NOT NULL,
    salt bytea NOT NULL,
    digest bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    CONSTRAINT client_secret_scheme_check CHECK ((scheme = ANY (ARRAY['hmac'::text, 'scrypt'::text])))
);
CREATE TABLE conversion (
    profile_id uuid NOT NULL,
    id uuid NOT NULL,
    customer_id uuid NOT NULL,
    source_asset code NOT NULL,
    target_asset code NOT NULL,
    amount amount NOT NULL,
    recipient_profile_id uuid,
    ref_id text,
    identity_id text,
    account_id text,
    metadata jsonb,
    status conversion_status NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    settled_at timestamp with time zone,
    cancelled_at timestamp with time zone,
    seq bigint NOT NULL,
    slot smallint,
    batch bigint,
    CONSTRAINT conversion_amount_check CHECK (((amount)::numeric > (0)::numeric)),
    CONSTRAINT conversion_check CHECK (((status = 'SETTLED'::conversion_status) = (settled_at IS NOT NULL))),
    CONSTRAINT conversion_check1 CHECK (((status = 'CANCELLED'::conversion_status) = (cancelled_at IS NOT NULL)))
)
WITH (fillfactor='80');
CREATE TABLE customer (
    id uuid NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE execution (
    profile_id uuid NOT NULL,
    id bigint NOT NULL,
    customer_id uuid NOT NULL,
    order_id uuid NOT NULL,
    market code NOT NULL,
    side order_side NOT NULL,
    amount amount NOT NULL,
    price amount NOT NULL,
    commission amount NOT NULL,
    rebate amount NOT NULL,
    account_id text,
    executed_at timestamp with time zone NOT NULL,
    slot smallint NOT NULL,
    batch bigint NOT NULL,
    CONSTRAINT execution_amount_check CHECK (((amount)::numeric > (0)::numeric)),
    CONSTRAINT execution_check CHECK ((((commission)::numeric = (0)::numeric) OR ((rebate)::numeric = (0)::numeric))),
    CONSTRAINT execution_commission_check CHECK (((commission)::numeric >= (0)::numeric)),
    CONSTRAINT execution_id_check CHECK ((id > 0)),
    CONSTRAINT execution_price_check CHECK (((price)::numeric > (0)::numeric)),
    CONSTRAINT execution_rebate_check CHECK (((rebate)::numeric >= (0)::numeric))
);
CREATE TABLE fee_agreement (
    customer_id uuid NOT NULL,
    market code NOT NULL,
    taker_rate rate NOT NULL,
    maker_rebate rate NOT NULL,
    rebate_ceiling rate NOT NULL,
    CONSTRAINT rebate_within_commission CHECK ((((maker_rebate)::numeric <= (rebate_ceiling)::numeric) AND ((rebate_ceiling)::numeric <= (taker_rate)::numeric)))
);
CREATE TABLE fee_schedule (
    market code NOT NULL,
    rebate_ceiling rate NOT NULL,
    begins_at amount DEFAULT 0 NOT NULL,
    CONSTRAINT fee_schedule_begins_at_check CHECK (((begins_at)::numeric = (0)::numeric))
);
CREATE TABLE fee_tier (
    market code NOT NULL,
    minimum_gross amount NOT NULL,
    taker_rate rate NOT NULL,
    maker_rebate rate NOT NULL,
    rebate_ceiling rate NOT NULL,
    CONSTRAINT fee_tier_minimum_gross_check CHECK (((minimum_gross)::numeric >= (0)::numeric)),
    CONSTRAINT rebate_within_commission CHECK ((((maker_rebate)::numeric <= (rebate_ceiling)::numeric) AND ((rebate_ceiling)::numeric <= (taker_rate)::numeric)))
);
CREATE TABLE lease (
    name text NOT NULL COLLATE pg_catalog."C",
    holder text NOT NULL,
    fence bigint NOT NULL,
    expires_at timestamp with time zone NOT NULL
);
CREATE TABLE market (
    code code NOT NULL,
    number smallint NOT NULL,
    base code NOT NULL,
    quote code NOT NULL,
    price_decimals smallint NOT NULL,
    base_decimals smallint NOT NULL,
    tick amount NOT NULL,
    min_base_amount amount NOT NULL,
    max_base_amount amount NOT NULL,
    min_quote_amount amount NOT NULL,
    max_quote_amount amount NOT NULL,
    max_notional_value amount NOT NULL,
    status market_status NOT NULL,
    seq bigint NOT NULL,
    slot smallint,
    batch bigint,
    CONSTRAINT market_base_decimals_check CHECK ((base_decimals >= 0)),
    CONSTRAINT market_check CHECK (((price_decimals + base_decimals) <= 14)),
    CONSTRAINT market_check1 CHECK ((((max_base_amount)::numeric >= (min_base_amount)::numeric) AND (((max_base_amount)::numeric * ((10)::numeric ^ (base_decimals)::numeric)) < ((2)::numeric ^ (53)::numeric)))),
    CONSTRAINT market_check2 CHECK (((max_quote_amount)::numeric >= (min_quote_amount)::numeric)),
    CONSTRAINT market_max_notional_value_check CHECK (((max_notional_value)::numeric > (0)::numeric)),
    CONSTRAINT market_min_base_amount_check CHECK (((min_base_amount)::numeric > (0)::numeric)),
    CONSTRAINT market_min_quote_amount_check CHECK (((min_quote_amount)::numeric > (0)::numeric)),
    CONSTRAINT market_number_check CHECK (((number >= 1) AND (number <= 255))),
    CONSTRAINT market_price_decimals_check CHECK ((price_decimals >= 0)),
    CONSTRAINT market_tick_check CHECK (((tick)::numeric > (0)::numeric))
);
CREATE TABLE market_head (
    market code NOT NULL,
    fence bigint NOT NULL,
    last_price amount,
    last_execution_id bigint NOT NULL,
    last_sequence bigint NOT NULL,
    seq bigint NOT NULL,
    slot smallint,
    batch bigint
);
CREATE TABLE migration (
    number integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone NOT NULL
);
CREATE TABLE order_cancel (
    profile_id uuid NOT NULL,
    order_id uuid NOT NULL,
    market code NOT NULL,
    requested_at timestamp with time zone NOT NULL,
    caller json
);
CREATE TABLE orders (
    profile_id uuid NOT NULL,
    id uuid NOT NULL,
    customer_id uuid NOT NULL,
    market code NOT NULL,
    side order_side NOT NULL,
    type order_type NOT NULL,
    time_in_force time_in_force NOT NULL,
    base_amount amount,
    quote_amount amount,
    price amount,
    stop_price amount,
    expiration_date timestamp with time zone,
    taker_rate amount NOT NULL,
    maker_rebate amount NOT NULL,
    recipient_profile_id uuid,
    ref_id text,
    identity_id text,
    identity_account_id text,
    metadata jsonb,
    created_at timestamp with time zone NOT NULL,
    status order_status NOT NULL,
    sequence bigint,
    priority bigint,
    filled amount NOT NULL,
    filled_gross amount NOT NULL,
    held amount NOT NULL,
    is_triggered boolean NOT NULL,
    reject_reason reject_reason,
    modified_at timestamp with time zone NOT NULL,
    closed_at timestamp with time zone,
    seq bigint NOT NULL,
    slot smallint,
    batch bigint,
    CONSTRAINT closed_orders_hold_nothing CHECK ((((closed_at IS NOT NULL) = (status = ANY (ARRAY['FILLED'::order_status, 'CANCELLED'::order_status, 'REJECTED'::order_status, 'EXPIRED'::order_status]))) AND ((closed_at IS NULL) OR ((held)::numeric = (0)::numeric)))),
    CONSTRAINT orders_base_amount_check CHECK (((base_amount)::numeric > (0)::numeric)),
    CONSTRAINT orders_check CHECK ((num_nonnulls(base_amount, quote_amount) = 1)),
    CONSTRAINT orders_check1 CHECK (((filled)::numeric <= (base_amount)::numeric)),
    CONSTRAINT orders_check2 CHECK (((status = 'REJECTED'::order_status) = (reject_reason IS NOT NULL))),
    CONSTRAINT orders_filled_check CHECK (((filled)::numeric >= (0)::numeric)),
    CONSTRAINT orders_filled_gross_check CHECK (((filled_gross)::numeric >= (0)::numeric)),
    CONSTRAINT orders_held_check CHECK (((held)::numeric >= (0)::numeric)),
    CONSTRAINT orders_price_check CHECK (((price)::numeric > (0)::numeric)),
    CONSTRAINT orders_quote_amount_check CHECK (((quote_amount)::numeric > (0)::numeric)),
    CONSTRAINT orders_stop_price_check CHECK (((stop_price)::numeric > (0)::numeric))
)
WITH (fillfactor='80');
CREATE TABLE posting (
    owner_id uuid NOT NULL,
    asset code NOT NULL,
    seq bigint NOT NULL,
    journal_id uuid NOT NULL,
    cause journal_cause NOT NULL,
    part account_part NOT NULL,
    amount amount NOT NULL,
    available amount NOT NULL,
    trading amount NOT NULL,
    pending amount NOT NULL,
    at timestamp with time zone NOT NULL,
    slot smallint NOT NULL,
    batch bigint NOT NULL,
    CONSTRAINT posting_amount_check CHECK (((amount)::numeric <> (0)::numeric)),
    CONSTRAINT posting_seq_check CHECK ((seq > 0))
);
CREATE TABLE profile (
    id uuid NOT NULL,
    customer_id uuid NOT NULL,
    kind profile_kind NOT NULL,
    nickname text NOT NULL,
    description text,
    status profile_status NOT NULL,
    awaited integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    seq bigint NOT NULL,
    slot smallint,
    batch bigint,
    CONSTRAINT profile_awaited_check CHECK ((awaited >= 0))
)
WITH (fillfactor='80');
CREATE TABLE refusal (
    id uuid NOT NULL,
    kind text NOT NULL,
    client_id text COLLATE pg_catalog."C",
    token_id uuid,
    address text,
    operation text,
    first_at timestamp with time zone NOT NULL,
    last_at timestamp with time zone NOT NULL,
    count bigint NOT NULL,
    CONSTRAINT refusal_address_check CHECK ((length(address) <= 100)),
    CONSTRAINT refusal_check CHECK ((last_at >= first_at)),
    CONSTRAINT refusal_client_id_check CHECK ((length(client_id) <= 100)),
    CONSTRAINT refusal_count_check CHECK ((count > 0)),
    CONSTRAINT refusal_kind_check CHECK ((kind = ANY (ARRAY['no_token'::text, 'invalid_token'::text, 'insufficient_scope'::text, 'invalid_client'::text]))),
    CONSTRAINT refusal_operation_check CHECK ((length(operation) <= 200))
);
CREATE TABLE signing_key (
    kid text NOT NULL COLLATE pg_catalog."C",
    algorithm text NOT NULL,
    private_jwk jsonb NOT NULL,
    public_jwk jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    retired_at timestamp with time zone
);
CREATE TABLE traded_day (
    customer_id uuid NOT NULL,
    day date NOT NULL,
    market code NOT NULL,
    gross amount NOT NULL,
    seq bigint NOT NULL,
    slot smallint,
    batch bigint,
    CONSTRAINT traded_day_gross_check CHECK (((gross)::numeric > (0)::numeric))
)
WITH (fillfactor='80');
CREATE TABLE transfer (
    profile_id uuid NOT NULL,
    id uuid NOT NULL,
    customer_id uuid NOT NULL,
    type transfer_type NOT NULL,
    direction direction NOT NULL,
    asset code NOT NULL,
    amount amount NOT NULL,
    fee amount NOT NULL,
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
    created_at timestamp with time zone NOT NULL,
    slot smallint NOT NULL,
    batch bigint NOT NULL,
    caller smallint,
    CONSTRAINT transfer_amount_check CHECK (((amount)::numeric > (0)::numeric)),
    CONSTRAINT transfer_fee_check CHECK (((fee)::numeric >= (0)::numeric))
);
INSERT INTO account VALUES ('00000000-0000-8000-8000-000000000101', 'BTC', 'world', -20, 0, 0, '2026-11-21 15:21:13.611+00', 2);
INSERT INTO account VALUES ('00000000-0000-8000-8000-000000000101', 'ETH', 'world', -100, 0, 0, '2026-11-21 15:21:13.639+00', 1);
INSERT INTO account VALUES ('00000000-0000-8000-8000-000000000101', 'USD', 'world', -200019.340001, 0, 0, '2026-11-21 15:21:20.217+00', 4);
INSERT INTO account VALUES ('00000000-0000-8000-8000-000000000201', 'USD', 'reserve', 507.000001, 0, 0, '2026-11-21 15:21:28.11+00', 2);
INSERT INTO account VALUES ('00000000-0000-8000-8000-000000000301', 'PYUSD', 'issuance', -500, 0, 0, '2026-11-21 15:21:28.11+00', 1);
INSERT INTO account VALUES ('00000000-0000-8000-8000-000000000301', 'USDP', 'issuance', -7.000001, 0, 0, '2026-11-21 15:21:20.217+00', 1);
INSERT INTO account VALUES ('00000000-0000-8000-8000-000000000401', 'USD', 'fees', 83.2, 0, 0, '2026-11-21 15:21:20.657+00', 4);
INSERT INTO account VALUES ('0190d5a4-0000-7000-8000-000000000001', 'BTC', NULL, 10.4, 0.1, 0, '2026-11-21 15:21:20.875+00', 4);
INSERT INTO account VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', NULL, 69286.84, 4014, 20, '2026-11-21 15:21:28.308+00', 32);
INSERT INTO account VALUES ('0190d5a4-0000-7000-8000-000000000002', 'BTC', NULL, 0.02, 0, 0, '2026-11-21 15:21:20.657+00', 1);
INSERT INTO account VALUES ('0190d5a4-0000-7000-8000-000000000002', 'PYUSD', NULL, 500, 0, 0, '2026-11-21 15:21:28.11+00', 1);
INSERT INTO account VALUES ('0190d5a4-0000-7000-8000-000000000002', 'USD', NULL, 100.25, 0, 0, '2026-11-21 15:21:20.287+00', 2);
INSERT INTO account VALUES ('0190d5a4-0000-7000-8000-000000000002', 'USDP', NULL, 7.000001, 0, 0, '2026-11-21 15:21:20.217+00', 1);
INSERT INTO account VALUES ('0190d5a4-0000-7000-8000-000000000003', 'BTC', NULL, 7, 2.48, 0, '2026-11-21 15:21:20.657+00', 7);
INSERT INTO account VALUES ('0190d5a4-0000-7000-8000-000000000003', 'ETH', NULL, 100, 0, 0, '2026-11-21 15:21:13.639+00', 1);
INSERT INTO account VALUES ('0190d5a4-0000-7000-8000-000000000003', 'USD', NULL, 126008.05, 0, 0, '2026-11-21 15:21:20.657+00', 4);
INSERT INTO asset VALUES ('AAVE', 'crypto', 8);
INSERT INTO asset VALUES ('ARB', 'crypto', 8);
INSERT INTO asset VALUES ('BCH', 'crypto', 8);
INSERT INTO asset VALUES ('BONK', 'crypto', 8);
INSERT INTO asset VALUES ('BTC', 'crypto', 8);
INSERT INTO asset VALUES ('ENA', 'crypto', 8);
INSERT INTO asset VALUES ('ETH', 'crypto', 18);
INSERT INTO asset VALUES ('EUR', 'fiat', 2);
INSERT INTO asset VALUES ('LINK', 'crypto', 8);
INSERT INTO asset VALUES ('LTC', 'crypto', 8);
INSERT INTO asset VALUES ('MATIC', 'crypto', 8);
INSERT INTO asset VALUES ('MNT', 'crypto', 8);
INSERT INTO asset VALUES ('ONDO', 'crypto', 8);
INSERT INTO asset VALUES ('PENGU', 'crypto', 8);
INSERT INTO asset VALUES ('PEPE', 'crypto', 8);
INSERT INTO asset VALUES ('PLATFORMG', 'crypto', 8);
INSERT INTO asset VALUES ('PYUSD', 'stablecoin', 6);
INSERT INTO asset VALUES ('QNT', 'crypto', 8);
INSERT INTO asset VALUES ('RENDER', 'crypto', 8);
INSERT INTO asset VALUES ('SGD', 'fiat', 2);
INSERT INTO asset VALUES ('SHIB', 'crypto', 8);
INSERT INTO asset VALUES ('SKY', 'crypto', 8);
INSERT INTO asset VALUES ('TRUMP', 'crypto', 8);
INSERT INTO asset VALUES ('UNI', 'crypto', 8);
INSERT INTO asset VALUES ('USD', 'fiat', 2);
INSERT INTO asset VALUES ('USDG', 'stablecoin', 8);
INSERT INTO asset VALUES ('USDP', 'stablecoin', 8);
INSERT INTO asset VALUES ('WIF', 'crypto', 8);
INSERT INTO asset VALUES ('WLD', 'crypto', 8);
INSERT INTO batch VALUES (1, 0, '\x87a32b04c7061582b9f2f0a53abb3f63938331a0dfe9718dbaa51f072c3f83e6', '2026-11-21 15:21:10.968+00', true, 0, 0, 0, 0, 0, true, NULL, NULL, NULL);
INSERT INTO batch VALUES (1, 1, '\x681f9de1b14fbef74a41a4b77c70111417e749110c296a2e59c623baf7e373be', '2026-11-21 15:21:11.02+00', false, 1, 1, 1, 1, 1, true, '{"profile":{"01a1feb2-7668-73f0-be57-7d8d0c4a883c":"1 068d5a97436524e3afb963356fed4107"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 10, '\x6df1deb21ce53442885f2d30a8871d32fed2d53c81ac5d88ed9d71ecb27d2099', '2026-11-21 15:21:13.639+00', false, 3, 3, 1, 1, 1, true, NULL, NULL, NULL);
INSERT INTO batch VALUES (1, 11, '\x74f83fd0d93583a79397a3bfd85a33ad3fbc6fdfedeb90bbd96a7a2282e6d433', '2026-11-21 15:21:14.458+00', false, 1, 1, 0, 0, 1, true, '{"market_head":{"AAVEUSD":"1 51bcce2bef9d57c9056248dfc9bff80f"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 12, '\x1bc3fc15d0f5e405cf26720c0ee100fdea01a0471a7c4afc5f13040afa978899', '2026-11-21 15:21:14.478+00', false, 17, 17, 0, 0, 1, true, '{"market_head":{"ARBUSD":"1 b12703ff4a1e103302cc1326b11705fb","BCHUSD":"1 81ed9e3974e210602e55d21e4a57fc79","BONKUSD":"1 ca8848080a1e316fde96890bf2f48563","BTCEUR":"1 c9f073ad9a1debf9cba06cbf61468766","BTCSGD":"1 2feddf8024e08ef66110fca6d4c8c1eb","BTCUSD":"1 0fee19c6a975faf4308d48bb31faff04","ENAUSD":"1 b2cc07720c8400c167527da731b7d286","ETHSGD":"1 c350993a5ec79a994162d24904c15d2c","ETHUSD":"1 f612f8bc305f0db9c1a6e20d29d41277","QNTUSD":"1 cdf2c98353745fd7c712e3eeefdc5925","RENDERUSD":"1 ee31f48d6a180abf4cb7b88d31c8b06a","SHIBUSD":"1 0f08d70ee519a72bc2542f6a0715450a","SKYUSD":"1 f85a5fdad0528ba53f577b49c7d36cfd","TRUMPUSD":"1 28a36a0082c5f173268ba539f4330677","UNIUSD":"1 140d88fa28ebf0cffe526680397822d6","USDPUSD":"1 9e7c243207b15eee268f72d2a2c4dd44","WIFUSD":"1 2eff15251a7015a828199b0db549e0ed"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 13, '\x83502b3c4c50781e1c44c0b0bfd2a1d074194460818a589b7d689d480358f7a3', '2026-11-21 15:21:14.486+00', false, 5, 5, 0, 0, 1, true, '{"market_head":{"ETHEUR":"1 787b9d21b56293303d4e36fee3c98cfc","LINKUSD":"1 406970bb3c3d5fe2731a2203f12d56bb","LTCUSD":"1 ffc3cf47319b7eabc97932e953fb5e51","PENGUUSD":"1 4fb8ba432e8419cc73dfc570b7a6b250","WLDUSD":"1 b081dc8cbd019cb57c0f01337ebcaae6"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 14, '\x5a5d8cfad5b1689ddf2d1472bf9a648f5c157a312ec561c6e32b6ec08a9f82dd', '2026-11-21 15:21:14.639+00', false, 4, 4, 0, 0, 1, true, '{"market_head":{"MATICUSD":"1 655dd15d92219a856342e339f86e3fbd","ONDOUSD":"1 70af60c342b9d929b295536e72353ea4","PEPEUSD":"1 08ef09099a5350c64a5f2799d4e07350","PLATFORMGUSD":"1 ca7a47ea9427da41ee8b4322578c0ae9"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 15, '\x1ad209f7901a8ddfc4a97f9a70f64844e2cf6bbac1f213a5dac0aa1da20c39db', '2026-11-21 15:21:14.699+00', false, 1, 1, 0, 0, 1, true, '{"market_head":{"MNTUSD":"1 32ea2859b917b250147b4528ae56e30f"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 16, '\xc6d5a159fdecfd0014dc782df161856a250d2678568674521c88a98117019e5c', '2026-11-21 15:21:20.108+00', false, 4, 4, 1, 1, 1, true, '{"conversion":{"0190d5a4-0000-7000-8000-000000000001/01a1feb2-99cf-7124-aa8b-a98e7e2d57f6":"1 9e4dc4df3c936c08b6463ba49a1be081"},"profile":{"0190d5a4-0000-7000-8000-000000000002":"2 58b27ff512e9be29eac5736d568b8037"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 17, '\xd515b912e9d5379fd23faa87c0769a811b8b3d5c5096b62e17a2e8274bf5f2df', '2026-11-21 15:21:20.173+00', false, 3, 3, 0, 0, 1, true, NULL, NULL, NULL);
INSERT INTO batch VALUES (1, 18, '\xb832455909090b6fce95598b1a1089d42d4db0ce6a928228f2e7f6e2c815bc09', '2026-11-21 15:21:20.217+00', false, 5, 5, 0, 0, 1, true, NULL, NULL, NULL);
INSERT INTO batch VALUES (1, 19, '\x12f6230c440ca0333ed7d2950144b96ae4429d8f65b878f16e11640fcd2746cd', '2026-11-21 15:21:20.258+00', false, 4, 4, 1, 1, 1, true, NULL, NULL, NULL);
INSERT INTO batch VALUES (1, 2, '\xeb0da9560ed6b744abfd871d99b6aa199828607b03b63ea5a731cbacc891050c', '2026-11-21 15:21:11.932+00', false, 1, 1, 1, 1, 1, true, '{"profile":{"0190d5a4-0000-7000-8000-000000000001":"1 1ad68d78aad60e82d4147dda2891c22a"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 20, '\x174b9bc91cd1b3db93442609a9d163559c9f05f3d103ff631afe263416cd9d13', '2026-11-21 15:21:20.287+00', false, 4, 4, 1, 1, 1, true, NULL, NULL, NULL);
INSERT INTO batch VALUES (1, 21, '\x53c64470f5e6d5b3084b691e8d84379aa9987ac1b026ef48aa943359cc2a5cfd', '2026-11-21 15:21:20.331+00', false, 4, 4, 1, 1, 1, true, '{"orders":{"0190d5a4-0000-7000-8000-000000000003/01a1feb2-9abf-732c-809d-a96fa5dd2330":"1 3b85404a115d3e1e6d760543b0909fbd"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 22, '\x937c53acd308f47a536ef7ab934c034cd2ebce42a7110627097f2e0c8fa60234', '2026-11-21 15:21:20.375+00', false, 3, 3, 0, 0, 1, true, '{"market_head":{"BTCUSD":"2 558a28e4666bf833bd95155a20b2e7eb"},"orders":{"0190d5a4-0000-7000-8000-000000000003/01a1feb2-9abf-732c-809d-a96fa5dd2330":"2 cd5ba11e6bd4926849d0594f46adf251"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 23, '\x7341e7d36852756ba1ab6c1f870e369fb76e9a9bdfab76495e80c539ffdbebf4', '2026-11-21 15:21:20.399+00', false, 4, 4, 0, 0, 1, true, '{"orders":{"0190d5a4-0000-7000-8000-000000000003/01a1feb2-9b0f-735c-8dbc-258197ee915a":"1 a2f33d3fbb1ea61e23d129141594a08e"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 24, '\x160142d9cc131b8055f06e97e8dba306e2c929d9d5f513b2f444c4f193bdcb7a', '2026-11-21 15:21:20.486+00', false, 3, 3, 0, 0, 1, true, '{"market_head":{"BTCUSD":"3 bc65898c4025942b22cecd58fd753d67"},"orders":{"0190d5a4-0000-7000-8000-000000000003/01a1feb2-9b0f-735c-8dbc-258197ee915a":"2 5b1301fe4f2c29a76864e55addb50d7a"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 25, '\x836c5c53d59bd0b9feab9ed02d6e713fb16f7e19930c1345b504d2e781d3d405', '2026-11-21 15:21:20.515+00', false, 4, 4, 1, 1, 1, true, '{"orders":{"0190d5a4-0000-7000-8000-000000000001/01a1feb2-9b64-7054-bf46-b04b68fdbda2":"1 8ea9ecfa6abdd2b0b5d392f074a65a9d"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 26, '\x9eee39b7c169580ff904cfbde84485d6af226a91e3204b6074e724a29bedbf86', '2026-11-21 15:21:20.568+00', false, 5, 5, 0, 0, 1, true, '{"orders":{"0190d5a4-0000-7000-8000-000000000001/01a1feb2-9bb7-7168-a46b-d89dad0177e6":"1 eda12bee361686869ed85b42a370d677"},"profile":{"0190d5a4-0000-7000-8000-000000000002":"3 2054a9c3430c397fca2807185e4a7d2d"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 27, '\x5a00d29639daa7088ab848438897b076050a3fad8a1335136e22d81ae634a415', '2026-11-21 15:21:20.619+00', false, 13, 13, 0, 0, 1, true, '{"market_head":{"BTCUSD":"4 c0d3003874dc56674f7495d18df2d4fb"},"orders":{"0190d5a4-0000-7000-8000-000000000001/01a1feb2-9b64-7054-bf46-b04b68fdbda2":"2 06045ce4dd30b58ed3b3c1d8b6e87645","0190d5a4-0000-7000-8000-000000000003/01a1feb2-9abf-732c-809d-a96fa5dd2330":"3 4d98f4d2fe7a5d79288b83a7951ff0f6"},"traded_day":{"28ea5df6-5f8c-858b-88e9-c562b5bca515/2026-11-21/BTCUSD":"1 d7e48884c7dea81a1c1385e652a0a6ee","9f424f0c-2af9-8b96-806c-06f9e4209213/2026-11-21/BTCUSD":"1 2161db0dc25ae46a10ff2b222d617f4a"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 28, '\x99d433cdba0092778e9fde3dcee1937af5348a933c1d5a620fc92884b054b51a', '2026-11-21 15:21:20.657+00', false, 13, 13, 0, 0, 1, true, '{"market_head":{"BTCUSD":"5 cdaea547780e491526e515806a70e49e"},"orders":{"0190d5a4-0000-7000-8000-000000000001/01a1feb2-9bb7-7168-a46b-d89dad0177e6":"2 55539f113f133e97a7a58b3766cf3490","0190d5a4-0000-7000-8000-000000000003/01a1feb2-9abf-732c-809d-a96fa5dd2330":"4 6a19d75047ecc346c9d0590e4051017d"},"profile":{"0190d5a4-0000-7000-8000-000000000002":"4 9f2dbbe11a711ed2e4b3237f6c354150"},"traded_day":{"28ea5df6-5f8c-858b-88e9-c562b5bca515/2026-11-21/BTCUSD":"2 bee5c39cfc9f1f5a5aefe21a78adfaf5","9f424f0c-2af9-8b96-806c-06f9e4209213/2026-11-21/BTCUSD":"2 177333428fccd0651831e8b39860d351"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 29, '\x384f99e0f47132a434b6e3dbbc6f99ca539e6b2b6ac90ad827bfe67410c65582', '2026-11-21 15:21:20.727+00', false, 4, 4, 1, 1, 1, true, '{"orders":{"0190d5a4-0000-7000-8000-000000000001/01a1feb2-9c57-7170-8801-d29ab420ecea":"1 e52504d13e549702aeabc6d1f615aee0"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 3, '\x38b42a858d95aec9e29abfa80de82a62acc3ae6a0effe2d08a2f65661248e8ca', '2026-11-21 15:21:11.978+00', false, 3, 3, 1, 1, 1, true, NULL, NULL, NULL);
INSERT INTO batch VALUES (1, 30, '\x91a1a261631054cfef6619e70898af8fca230748f98d886ffc62f9056fec1a9c', '2026-11-21 15:21:20.759+00', false, 3, 3, 0, 0, 1, true, '{"market_head":{"BTCUSD":"6 a4143f40be775d5deae95432a3763ba2"},"orders":{"0190d5a4-0000-7000-8000-000000000001/01a1feb2-9c57-7170-8801-d29ab420ecea":"2 417cb5bebec77f695a04344f89f2ad7f"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 31, '\x0072516396935efe31ceda3e1bc50474b8116eea1131885b3ec56822472b8eae', '2026-11-21 15:21:20.78+00', false, 4, 4, 0, 0, 1, true, '{"orders":{"0190d5a4-0000-7000-8000-000000000001/01a1feb2-9c8c-73c8-b6c9-24247624ccd0":"1 6c7061daddedf59305d7b552b9cb09d0"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 32, '\x1fa7566d9cfb35b12ad78eaa7f7eaf0fc85d4fd094dcf8c9ab7a0d2bd0cd3c8d', '2026-11-21 15:21:20.827+00', false, 5, 5, 0, 0, 1, true, '{"market_head":{"BTCUSD":"7 da3975f86a8648dee62c185df94b87cf"},"orders":{"0190d5a4-0000-7000-8000-000000000001/01a1feb2-9c8c-73c8-b6c9-24247624ccd0":"2 931a2d8bd489f3ef648155271a41e9ef"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 33, '\xaec19c52e56087f369998cd76ecafecbe1b7250ac3e1022af2d4d313a7043611', '2026-11-21 15:21:20.839+00', false, 4, 4, 0, 0, 1, true, '{"orders":{"0190d5a4-0000-7000-8000-000000000001/01a1feb2-9cc7-7030-b540-05bb3573c8de":"1 91e57cb63d4479794fc0b51cb6561724"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 34, '\x3f1abbbe09db826a4cd9491faeb5bab55ff27be8c762868683b6415f632392f0', '2026-11-21 15:21:20.875+00', false, 4, 4, 0, 0, 1, true, '{"orders":{"0190d5a4-0000-7000-8000-000000000001/01a1feb2-9ceb-7040-99fd-57b61ff8e250":"1 dd10299c18af7c575d962e2e805b0e71"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 35, '\xd8376442977bc5d06d48e209c87b46d9fa2dcd7568a990ca29f786229f47551b', '2026-11-21 15:21:20.896+00', false, 5, 5, 0, 0, 1, true, '{"market_head":{"BTCUSD":"8 8d41a384719b7e8cecfcb214f842f833"},"orders":{"0190d5a4-0000-7000-8000-000000000001/01a1feb2-9cc7-7030-b540-05bb3573c8de":"2 2890402366d1061e4d0bb23e86669e98"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 36, '\xd2fa73ccb6cfccff74e17595180d6b20048b0342b6c04bd2e97a5298f791490c', '2026-11-21 15:21:20.919+00', false, 4, 4, 1, 1, 1, true, '{"orders":{"0190d5a4-0000-7000-8000-000000000001/01a1feb2-9d17-73bc-9a21-30da0924f71c":"1 24dcb7664a18db9db82e65b414593470"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 37, '\xcf8dc9872c1efb45be6977c0875ea6af27de0fb14a2083ed4b6450f4eb0db221', '2026-11-21 15:21:20.952+00', false, 4, 4, 0, 0, 1, true, '{"market_head":{"BTCUSD":"9 25f4bde78b3695ed1cfcc77ef2feaaf2"},"orders":{"0190d5a4-0000-7000-8000-000000000001/01a1feb2-9ceb-7040-99fd-57b61ff8e250":"2 4bc3d3ab27e81cac5ed2a39762debd15","0190d5a4-0000-7000-8000-000000000001/01a1feb2-9d17-73bc-9a21-30da0924f71c":"2 be8555aae560b5accaea3898abd22348"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 38, '\xadac328162cc859faa11220df9bd941f9ad431477af73bf267a921c2461aa81a', '2026-11-21 15:21:21.01+00', false, 5, 5, 0, 0, 1, true, '{"market_head":{"BTCUSD":"10 b54a960ea868daf838d488ca62e0c89b"},"orders":{"0190d5a4-0000-7000-8000-000000000001/01a1feb2-9d17-73bc-9a21-30da0924f71c":"3 9ae0df050081768e233f89f0803797c1"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 39, '\x4bcf47d56a927db3c0493e8573db59af9eb09faba2fd8306ee2fba65b931169d', '2026-11-21 15:21:21.028+00', false, 3, 3, 1, 1, 1, true, '{"conversion":{"0190d5a4-0000-7000-8000-000000000001/01a1feb2-9d79-716c-86d4-8a464fd96c90":"1 744a7bc15109764c11b32a2a40943ea3"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 4, '\x230e23ca6d90fe673d897c2ce63fc97bae7c3a283df0c08dd8d84a75579f6c7f', '2026-11-21 15:21:12.011+00', false, 3, 3, 1, 1, 1, true, NULL, NULL, NULL);
INSERT INTO batch VALUES (1, 40, '\x6bad43cc1b8e13b7b32568b0689a27a535f02c927c66ca720f3c38ca690771a5', '2026-11-21 15:21:21.084+00', false, 5, 5, 0, 0, 1, true, '{"conversion":{"0190d5a4-0000-7000-8000-000000000001/01a1feb2-9d79-716c-86d4-8a464fd96c90":"2 327aa958324e2a5f6bff06d4ce846aaa"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 41, '\x97c96a974aa9769f4e192583fb66b8a9a7081fa409509cdc0f42fd698d81c0a2', '2026-11-21 15:21:28.11+00', false, 6, 6, 0, 0, 1, true, '{"conversion":{"0190d5a4-0000-7000-8000-000000000001/01a1feb2-99cf-7124-aa8b-a98e7e2d57f6":"2 6f97b0b0e942ec3272310ff45189245f"},"profile":{"0190d5a4-0000-7000-8000-000000000002":"5 4b6d92673e36ec9b1971bad1e2e6bc87"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 42, '\xde6b442dcfd5a39610592658d1c6d37c84b23e0e07278f080146ab8d5de1d4cc', '2026-11-21 15:21:28.308+00', false, 3, 3, 1, 1, 1, true, '{"conversion":{"0190d5a4-0000-7000-8000-000000000001/01a1feb2-b9f3-7130-a052-a4da5851d204":"1 de72139b502a9d03ebaf4df52d9bd4c6"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 5, '\xc0d8c20514d0b006907b85f2598498bb52eb8ea4db0af68fff6c40a84f9b9602', '2026-11-21 15:21:12.046+00', false, 1, 1, 1, 1, 1, true, '{"profile":{"0190d5a4-0000-7000-8000-000000000002":"1 e2ee4935d1f81713038be76f5e688fde"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 6, '\x8f966d8b1aa47018a9a7d1b8790f46417d8e2b83ef0a08abd590e81d65f0a84e', '2026-11-21 15:21:12.071+00', false, 1, 1, 1, 1, 1, true, '{"profile":{"01a1feb2-7a86-7264-a53c-d7f8eb2afaa2":"1 35091dddce6fecea1bd25ef2e4a079fd"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 7, '\xdd510d3c7aabd55561bf2d2cd239260447f687c89b197e7abac958d71642922f', '2026-11-21 15:21:13.532+00', false, 1, 1, 1, 1, 1, true, '{"profile":{"0190d5a4-0000-7000-8000-000000000003":"1 3ae7b9023602b7ea11fe56bd49da45c9"}}', NULL, NULL);
INSERT INTO batch VALUES (1, 8, '\xec7dad8f8783701ca00b0c0337c306f84e09c51fb7d6d6f712cb0d6b59ddebfe', '2026-11-21 15:21:13.576+00', false, 3, 3, 1, 1, 1, true, NULL, NULL, NULL);
INSERT INTO batch VALUES (1, 9, '\x220d3240eb66604e207a8eaf4093bc7fcca083d2a5710ba02ebcc6cf37c1d25d', '2026-11-21 15:21:13.611+00', false, 3, 3, 1, 1, 1, true, NULL, NULL, NULL);
INSERT INTO books VALUES ('6a643ffe-436f-42f4-921b-bc695eac87b6', true);
INSERT INTO claim VALUES ('28ea5df6-5f8c-858b-88e9-c562b5bca515', 'conversion', 'mint-1', '01a1feb2-99cf-7124-aa8b-a98e7e2d57f6');
INSERT INTO claim VALUES ('28ea5df6-5f8c-858b-88e9-c562b5bca515', 'conversion', 'mint-2', '01a1feb2-b9f3-7130-a052-a4da5851d204');
INSERT INTO claim VALUES ('28ea5df6-5f8c-858b-88e9-c562b5bca515', 'conversion', 'redeem-1', '01a1feb2-9d79-716c-86d4-8a464fd96c90');
INSERT INTO claim VALUES ('28ea5df6-5f8c-858b-88e9-c562b5bca515', 'nickname', 'default', '01a1feb2-7668-73f0-be57-7d8d0c4a883c');
INSERT INTO claim VALUES ('28ea5df6-5f8c-858b-88e9-c562b5bca515', 'nickname', 'shop', '0190d5a4-0000-7000-8000-000000000002');
INSERT INTO claim VALUES ('28ea5df6-5f8c-858b-88e9-c562b5bca515', 'nickname', 'treasury', '0190d5a4-0000-7000-8000-000000000001');
INSERT INTO claim VALUES ('28ea5df6-5f8c-858b-88e9-c562b5bca515', 'opening', '0190d5a4-0000-7000-8000-000000000001/BTC', '01a1feb2-7a47-7344-a779-c1ca77881ba6');
INSERT INTO claim VALUES ('28ea5df6-5f8c-858b-88e9-c562b5bca515', 'opening', '0190d5a4-0000-7000-8000-000000000001/USD', '01a1feb2-7a02-7170-a36b-e47cf55f5028');
INSERT INTO claim VALUES ('28ea5df6-5f8c-858b-88e9-c562b5bca515', 'order', 'bid-1', '01a1feb2-9c57-7170-8801-d29ab420ecea');
INSERT INTO claim VALUES ('28ea5df6-5f8c-858b-88e9-c562b5bca515', 'order', 'buy-1', '01a1feb2-9b64-7054-bf46-b04b68fdbda2');
INSERT INTO claim VALUES ('28ea5df6-5f8c-858b-88e9-c562b5bca515', 'order', 'taken-back', '01a1feb2-9d17-73bc-9a21-30da0924f71c');
INSERT INTO claim VALUES ('28ea5df6-5f8c-858b-88e9-c562b5bca515', 'transfer', 'internal-1', '01a1feb2-9a7c-73d8-b4ec-392406ebc662');
INSERT INTO claim VALUES ('28ea5df6-5f8c-858b-88e9-c562b5bca515', 'transfer', 'platform-1', '01a1feb2-9a9f-70e8-acd3-5185733da738');
INSERT INTO claim VALUES ('9f424f0c-2af9-8b96-806c-06f9e4209213', 'nickname', 'default', '01a1feb2-7a86-7264-a53c-d7f8eb2afaa2');
INSERT INTO claim VALUES ('9f424f0c-2af9-8b96-806c-06f9e4209213', 'nickname', 'desk', '0190d5a4-0000-7000-8000-000000000003');
INSERT INTO claim VALUES ('9f424f0c-2af9-8b96-806c-06f9e4209213', 'opening', '0190d5a4-0000-7000-8000-000000000003/BTC', '01a1feb2-8082-733c-83f5-c9cb4856715e');
INSERT INTO claim VALUES ('9f424f0c-2af9-8b96-806c-06f9e4209213', 'opening', '0190d5a4-0000-7000-8000-000000000003/ETH', '01a1feb2-809a-71e0-a8d5-6a29cf9a1cec');
INSERT INTO claim VALUES ('9f424f0c-2af9-8b96-806c-06f9e4209213', 'opening', '0190d5a4-0000-7000-8000-000000000003/USD', '01a1feb2-8066-7000-be6c-f09f1ac53dfc');
INSERT INTO claim VALUES ('9f424f0c-2af9-8b96-806c-06f9e4209213', 'order', 'ask-1', '01a1feb2-9abf-732c-809d-a96fa5dd2330');
INSERT INTO client VALUES ('acme', '28ea5df6-5f8c-858b-88e9-c562b5bca515', '{*}', '2026-11-21 15:21:11.918+00', NULL, NULL);
INSERT INTO client VALUES ('desk', '9f424f0c-2af9-8b96-806c-06f9e4209213', '{*}', '2026-11-21 15:21:13.523+00', NULL, NULL);
INSERT INTO client_secret VALUES ('acme', '01a1feb2-7683-70f4-9277-13ae8fc30a0c', 'scrypt', '\x04196f48eca00997529274c975d7d735', '\x0581f29d2ceef51575c0ca3eb67c9fb5ca1d4b547877d225a438fa63fd2fb5a4', '2026-11-21 15:21:11.918+00', NULL, '2026-11-21 15:21:17.639+00');
INSERT INTO client_secret VALUES ('desk', '01a1feb2-7a8c-70bc-8420-d50459562266', 'scrypt', '\x6c084a7bfe9538f784c8055b76f86118', '\xaa2d7b5b751f2d409f6dfbf9d9bc7fb6abec361ade7ea7ebbaac7963f7024f39', '2026-11-21 15:21:13.523+00', NULL, '2026-11-21 15:21:18.746+00');
INSERT INTO conversion VALUES ('0190d5a4-0000-7000-8000-000000000001', '01a1feb2-99cf-7124-aa8b-a98e7e2d57f6', '28ea5df6-5f8c-858b-88e9-c562b5bca515', 'USD', 'PYUSD', 500, '0190d5a4-0000-7000-8000-000000000002', 'mint-1', NULL, NULL, '{"why": "mint"}', 'SETTLED', '2026-11-21 15:21:20.079+00', '2026-11-21 15:21:28.11+00', '2026-11-21 15:21:28.11+00', NULL, 2, 1, 41);
INSERT INTO conversion VALUES ('0190d5a4-0000-7000-8000-000000000001', '01a1feb2-9d79-716c-86d4-8a464fd96c90', '28ea5df6-5f8c-858b-88e9-c562b5bca515', 'USD', 'USDP', 3, NULL, 'redeem-1', NULL, NULL, NULL, 'CANCELLED', '2026-11-21 15:21:21.017+00', '2026-11-21 15:21:21.084+00', NULL, '2026-11-21 15:21:21.084+00', 2, 1, 40);
INSERT INTO conversion VALUES ('0190d5a4-0000-7000-8000-000000000001', '01a1feb2-b9f3-7130-a052-a4da5851d204', '28ea5df6-5f8c-858b-88e9-c562b5bca515', 'USD', 'PYUSD', 20, NULL, 'mint-2', NULL, NULL, NULL, 'CREATED', '2026-11-21 15:21:28.307+00', '2026-11-21 15:21:28.307+00', NULL, NULL, 1, 1, 42);
INSERT INTO customer VALUES ('28ea5df6-5f8c-858b-88e9-c562b5bca515', 'acme', '2026-11-21 15:21:11.001+00');
INSERT INTO customer VALUES ('9f424f0c-2af9-8b96-806c-06f9e4209213', 'desk', '2026-11-21 15:21:12.058+00');
INSERT INTO execution VALUES ('0190d5a4-0000-7000-8000-000000000001', 911999733571092481, '28ea5df6-5f8c-858b-88e9-c562b5bca515', '01a1feb2-9b64-7054-bf46-b04b68fdbda2', 'BTCUSD', 'BUY', 0.5, 50000, 87.5, 0, NULL, '2026-11-21 15:21:20.619+00', 1, 27);
INSERT INTO execution VALUES ('0190d5a4-0000-7000-8000-000000000001', 911999733730476033, '28ea5df6-5f8c-858b-88e9-c562b5bca515', '01a1feb2-9bb7-7168-a46b-d89dad0177e6', 'BTCUSD', 'BUY', 0.02, 50000, 3.5, 0, NULL, '2026-11-21 15:21:20.657+00', 1, 28);
INSERT INTO execution VALUES ('0190d5a4-0000-7000-8000-000000000003', 911999733571092480, '9f424f0c-2af9-8b96-806c-06f9e4209213', '01a1feb2-9abf-732c-809d-a96fa5dd2330', 'BTCUSD', 'SELL', 0.5, 50000, 0, 7.5, NULL, '2026-11-21 15:21:20.619+00', 1, 27);
INSERT INTO execution VALUES ('0190d5a4-0000-7000-8000-000000000003', 911999733730476032, '9f424f0c-2af9-8b96-806c-06f9e4209213', '01a1feb2-9abf-732c-809d-a96fa5dd2330', 'BTCUSD', 'SELL', 0.02, 50000, 0, 0.3, NULL, '2026-11-21 15:21:20.657+00', 1, 28);
INSERT INTO fee_schedule VALUES ('AAVEUSD', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('ARBUSD', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('BCHUSD', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('BONKUSD', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('BTCEUR', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('BTCSGD', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('BTCUSD', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('ENAUSD', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('ETHEUR', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('ETHSGD', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('ETHUSD', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('LINKUSD', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('LTCUSD', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('MATICUSD', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('MNTUSD', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('ONDOUSD', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('PENGUUSD', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('PEPEUSD', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('PLATFORMGUSD', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('QNTUSD', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('RENDERUSD', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('SHIBUSD', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('SKYUSD', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('TRUMPUSD', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('UNIUSD', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('USDPUSD', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('WIFUSD', 0.0006, 0);
INSERT INTO fee_schedule VALUES ('WLDUSD', 0.0006, 0);
INSERT INTO fee_tier VALUES ('AAVEUSD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('AAVEUSD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('AAVEUSD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('AAVEUSD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('AAVEUSD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('ARBUSD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('ARBUSD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('ARBUSD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('ARBUSD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('ARBUSD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('BCHUSD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('BCHUSD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('BCHUSD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('BCHUSD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('BCHUSD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('BONKUSD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('BONKUSD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('BONKUSD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('BONKUSD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('BONKUSD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('BTCEUR', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('BTCEUR', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('BTCEUR', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('BTCEUR', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('BTCEUR', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('BTCSGD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('BTCSGD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('BTCSGD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('BTCSGD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('BTCSGD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('BTCUSD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('BTCUSD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('BTCUSD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('BTCUSD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('BTCUSD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('ENAUSD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('ENAUSD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('ENAUSD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('ENAUSD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('ENAUSD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('ETHEUR', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('ETHEUR', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('ETHEUR', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('ETHEUR', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('ETHEUR', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('ETHSGD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('ETHSGD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('ETHSGD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('ETHSGD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('ETHSGD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('ETHUSD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('ETHUSD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('ETHUSD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('ETHUSD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('ETHUSD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('LINKUSD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('LINKUSD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('LINKUSD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('LINKUSD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('LINKUSD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('LTCUSD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('LTCUSD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('LTCUSD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('LTCUSD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('LTCUSD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('MATICUSD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('MATICUSD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('MATICUSD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('MATICUSD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('MATICUSD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('MNTUSD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('MNTUSD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('MNTUSD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('MNTUSD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('MNTUSD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('ONDOUSD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('ONDOUSD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('ONDOUSD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('ONDOUSD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('ONDOUSD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('PENGUUSD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('PENGUUSD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('PENGUUSD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('PENGUUSD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('PENGUUSD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('PEPEUSD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('PEPEUSD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('PEPEUSD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('PEPEUSD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('PEPEUSD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('PLATFORMGUSD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('PLATFORMGUSD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('PLATFORMGUSD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('PLATFORMGUSD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('PLATFORMGUSD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('QNTUSD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('QNTUSD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('QNTUSD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('QNTUSD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('QNTUSD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('RENDERUSD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('RENDERUSD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('RENDERUSD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('RENDERUSD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('RENDERUSD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('SHIBUSD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('SHIBUSD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('SHIBUSD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('SHIBUSD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('SHIBUSD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('SKYUSD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('SKYUSD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('SKYUSD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('SKYUSD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('SKYUSD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('TRUMPUSD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('TRUMPUSD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('TRUMPUSD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('TRUMPUSD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('TRUMPUSD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('UNIUSD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('UNIUSD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('UNIUSD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('UNIUSD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('UNIUSD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('USDPUSD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('USDPUSD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('USDPUSD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('USDPUSD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('USDPUSD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('WIFUSD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('WIFUSD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('WIFUSD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('WIFUSD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('WIFUSD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO fee_tier VALUES ('WLDUSD', 0, 0.0035, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('WLDUSD', 100000, 0.0025, 0.0003, 0.0006);
INSERT INTO fee_tier VALUES ('WLDUSD', 1000000, 0.0018, 0.0004, 0.0006);
INSERT INTO fee_tier VALUES ('WLDUSD', 10000000, 0.0012, 0.0005, 0.0006);
INSERT INTO fee_tier VALUES ('WLDUSD', 100000000, 0.0008, 0.0006, 0.0006);
INSERT INTO lease VALUES ('market/AAVEUSD', 'embedded', 1, '2026-11-21 15:21:39.331239+00');
INSERT INTO lease VALUES ('market/ARBUSD', 'embedded', 1, '2026-11-21 15:21:39.351918+00');
INSERT INTO lease VALUES ('market/BCHUSD', 'embedded', 1, '2026-11-21 15:21:39.398408+00');
INSERT INTO lease VALUES ('market/BONKUSD', 'embedded', 1, '2026-11-21 15:21:39.351071+00');
INSERT INTO lease VALUES ('market/BTCEUR', 'embedded', 1, '2026-11-21 15:21:39.396836+00');
INSERT INTO lease VALUES ('market/BTCSGD', 'embedded', 1, '2026-11-21 15:21:39.40652+00');
INSERT INTO lease VALUES ('market/BTCUSD', 'embedded', 1, '2026-11-21 15:21:39.397136+00');
INSERT INTO lease VALUES ('market/ENAUSD', 'embedded', 1, '2026-11-21 15:21:39.406713+00');
INSERT INTO lease VALUES ('market/ETHEUR', 'embedded', 1, '2026-11-21 15:21:39.479081+00');
INSERT INTO lease VALUES ('market/ETHSGD', 'embedded', 1, '2026-11-21 15:21:39.39732+00');
INSERT INTO lease VALUES ('market/ETHUSD', 'embedded', 1, '2026-11-21 15:21:39.443399+00');
INSERT INTO lease VALUES ('market/LINKUSD', 'embedded', 1, '2026-11-21 15:21:39.47785+00');
INSERT INTO lease VALUES ('market/LTCUSD', 'embedded', 1, '2026-11-21 15:21:39.478394+00');
INSERT INTO lease VALUES ('market/MATICUSD', 'embedded', 1, '2026-11-21 15:21:39.509557+00');
INSERT INTO lease VALUES ('market/MNTUSD', 'embedded', 1, '2026-11-21 15:21:39.505897+00');
INSERT INTO lease VALUES ('market/ONDOUSD', 'embedded', 1, '2026-11-21 15:21:39.498688+00');
INSERT INTO lease VALUES ('market/PENGUUSD', 'embedded', 1, '2026-11-21 15:21:39.478027+00');
INSERT INTO lease VALUES ('market/PEPEUSD', 'embedded', 1, '2026-11-21 15:21:39.509881+00');
INSERT INTO lease VALUES ('market/PLATFORMGUSD', 'embedded', 1, '2026-11-21 15:21:39.498331+00');
INSERT INTO lease VALUES ('market/QNTUSD', 'embedded', 1, '2026-11-21 15:21:39.330931+00');
INSERT INTO lease VALUES ('market/RENDERUSD', 'embedded', 1, '2026-11-21 15:21:39.346462+00');
INSERT INTO lease VALUES ('market/SHIBUSD', 'embedded', 1, '2026-11-21 15:21:39.346741+00');
INSERT INTO lease VALUES ('market/SKYUSD', 'embedded', 1, '2026-11-21 15:21:39.346433+00');
INSERT INTO lease VALUES ('market/TRUMPUSD', 'embedded', 1, '2026-11-21 15:21:39.409628+00');
INSERT INTO lease VALUES ('market/UNIUSD', 'embedded', 1, '2026-11-21 15:21:39.403216+00');
INSERT INTO lease VALUES ('market/USDPUSD', 'embedded', 1, '2026-11-21 15:21:39.444491+00');
INSERT INTO lease VALUES ('market/WIFUSD', 'embedded', 1, '2026-11-21 15:21:39.406869+00');
INSERT INTO lease VALUES ('market/WLDUSD', 'embedded', 1, '2026-11-21 15:21:39.482415+00');
INSERT INTO lease VALUES ('slot/1', 'embedded', 1, '2026-11-21 15:21:42.162935+00');
INSERT INTO market VALUES ('AAVEUSD', 13, 'AAVE', 'USD', 6, 8, 0.01, 0.01, 20000, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('ARBUSD', 18, 'ARB', 'USD', 6, 8, 0.0001, 1, 5000000, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('BCHUSD', 8, 'BCH', 'USD', 6, 8, 0.01, 0.001, 20000, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('BONKUSD', 19, 'BONK', 'USD', 10, 4, 0.0000000001, 10000, 100000000000, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('BTCEUR', 4, 'BTC', 'EUR', 6, 8, 1, 0.0001, 500, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('BTCSGD', 5, 'BTC', 'SGD', 6, 8, 1, 0.0001, 500, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('BTCUSD', 6, 'BTC', 'USD', 6, 8, 1, 0.0001, 500, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('ENAUSD', 20, 'ENA', 'USD', 6, 8, 0.0001, 1, 5000000, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('ETHEUR', 1, 'ETH', 'EUR', 6, 8, 0.01, 0.001, 10000, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('ETHSGD', 2, 'ETH', 'SGD', 6, 8, 0.01, 0.001, 10000, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('ETHUSD', 3, 'ETH', 'USD', 6, 8, 0.01, 0.001, 10000, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('LINKUSD', 11, 'LINK', 'USD', 6, 8, 0.001, 0.1, 200000, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('LTCUSD', 9, 'LTC', 'USD', 6, 8, 0.01, 0.01, 50000, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('MATICUSD', 12, 'MATIC', 'USD', 6, 8, 0.0001, 1, 5000000, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('MNTUSD', 21, 'MNT', 'USD', 6, 8, 0.0001, 1, 3000000, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('ONDOUSD', 22, 'ONDO', 'USD', 6, 8, 0.0001, 1, 3000000, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('PENGUUSD', 23, 'PENGU', 'USD', 6, 8, 0.000001, 10, 60000000, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('PEPEUSD', 15, 'PEPE', 'USD', 10, 4, 0.0000000001, 10000, 100000000000, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('PLATFORMGUSD', 7, 'PLATFORMG', 'USD', 6, 8, 0.01, 0.001, 5000, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('QNTUSD', 24, 'QNT', 'USD', 6, 8, 0.01, 0.01, 20000, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('RENDERUSD', 25, 'RENDER', 'USD', 6, 8, 0.001, 0.1, 500000, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('SHIBUSD', 17, 'SHIB', 'USD', 10, 4, 0.0000000001, 10000, 100000000000, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('SKYUSD', 26, 'SKY', 'USD', 6, 8, 0.00001, 1, 30000000, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('TRUMPUSD', 16, 'TRUMP', 'USD', 6, 8, 0.001, 0.1, 300000, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('UNIUSD', 14, 'UNI', 'USD', 6, 8, 0.001, 0.1, 300000, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('USDPUSD', 10, 'USDP', 'USD', 6, 8, 0.0001, 1, 5000000, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('WIFUSD', 27, 'WIF', 'USD', 6, 8, 0.0001, 1, 3000000, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market VALUES ('WLDUSD', 28, 'WLD', 'USD', 6, 8, 0.0001, 1, 3000000, 1, 5000000, 5000000, 'OPEN', 1, NULL, NULL);
INSERT INTO market_head VALUES ('AAVEUSD', 1, NULL, 0, 0, 1, 1, 11);
INSERT INTO market_head VALUES ('ARBUSD', 1, NULL, 0, 0, 1, 1, 12);
INSERT INTO market_head VALUES ('BCHUSD', 1, NULL, 0, 0, 1, 1, 12);
INSERT INTO market_head VALUES ('BONKUSD', 1, NULL, 0, 0, 1, 1, 12);
INSERT INTO market_head VALUES ('BTCEUR', 1, NULL, 0, 0, 1, 1, 12);
INSERT INTO market_head VALUES ('BTCSGD', 1, NULL, 0, 0, 1, 1, 12);
INSERT INTO market_head VALUES ('BTCUSD', 1, 50000, 911999733730476033, 9, 10, 1, 38);
INSERT INTO market_head VALUES ('ENAUSD', 1, NULL, 0, 0, 1, 1, 12);
INSERT INTO market_head VALUES ('ETHEUR', 1, NULL, 0, 0, 1, 1, 13);
INSERT INTO market_head VALUES ('ETHSGD', 1, NULL, 0, 0, 1, 1, 12);
INSERT INTO market_head VALUES ('ETHUSD', 1, NULL, 0, 0, 1, 1, 12);
INSERT INTO market_head VALUES ('LINKUSD', 1, NULL, 0, 0, 1, 1, 13);
INSERT INTO market_head VALUES ('LTCUSD', 1, NULL, 0, 0, 1, 1, 13);
INSERT INTO market_head VALUES ('MATICUSD', 1, NULL, 0, 0, 1, 1, 14);
INSERT INTO market_head VALUES ('MNTUSD', 1, NULL, 0, 0, 1, 1, 15);
INSERT INTO market_head VALUES ('ONDOUSD', 1, NULL, 0, 0, 1, 1, 14);
INSERT INTO market_head VALUES ('PENGUUSD', 1, NULL, 0, 0, 1, 1, 13);
INSERT INTO market_head VALUES ('PEPEUSD', 1, NULL, 0, 0, 1, 1, 14);
INSERT INTO market_head VALUES ('PLATFORMGUSD', 1, NULL, 0, 0, 1, 1, 14);
INSERT INTO market_head VALUES ('QNTUSD', 1, NULL, 0, 0, 1, 1, 12);
INSERT INTO market_head VALUES ('RENDERUSD', 1, NULL, 0, 0, 1, 1, 12);
INSERT INTO market_head VALUES ('SHIBUSD', 1, NULL, 0, 0, 1, 1, 12);
INSERT INTO market_head VALUES ('SKYUSD', 1, NULL, 0, 0, 1, 1, 12);
INSERT INTO market_head VALUES ('TRUMPUSD', 1, NULL, 0, 0, 1, 1, 12);
INSERT INTO market_head VALUES ('UNIUSD', 1, NULL, 0, 0, 1, 1, 12);
INSERT INTO market_head VALUES ('USDPUSD', 1, NULL, 0, 0, 1, 1, 12);
INSERT INTO market_head VALUES ('WIFUSD', 1, NULL, 0, 0, 1, 1, 12);
INSERT INTO market_head VALUES ('WLDUSD', 1, NULL, 0, 0, 1, 1, 13);
INSERT INTO migration VALUES (1, '0001-core.sql', 'ddce33eb647318804cbfa7ab34b18c185d53f6ec74ec57e6a0587e525e85f351', '2026-11-21 15:21:10.537073+00');
INSERT INTO migration VALUES (2, '0002-fee-tiers.sql', 'd6787963e12ecbe2a90bb28e91135cf93527c66efa72f3d43f09d2157f337a21', '2026-11-21 15:21:10.646408+00');
INSERT INTO migration VALUES (3, '0003-book-changes.sql', 'e13e05f4c3e8ffd9613543268934d329e89b30baed041876bf6bbad66b0cd06f', '2026-11-21 15:21:10.678739+00');
INSERT INTO migration VALUES (4, '0004-networks-of-a-client.sql', '5f3cde15de9c0e8baec79c07bfd856c8576b13fbe1a292b6e43678a7d764fd4b', '2026-11-21 15:21:10.703711+00');
INSERT INTO migration VALUES (5, '0005-order-lists.sql', '547b44e05ab022d1215696f9f36efa27b1b73ab07a14ab6c39941d2d4f6680f2', '2026-11-21 15:21:10.724124+00');
INSERT INTO migration VALUES (6, '0006-refusals.sql', 'eed57f6509605617848baa38b0a4f5b106c8aa65d6991c54753ccdcf517bbcca', '2026-11-21 15:21:10.759735+00');
INSERT INTO migration VALUES (7, '0007-callers.sql', '23f6ee28a5e35bb5b7f8e8fa65c9f3127c9effe3e3e7eee5853bc4ae079ce8e4', '2026-11-22 17:17:13.483985+00');
INSERT INTO migration VALUES (8, '0008-books.sql', '4a9a5abad3145e4af2f0aa3fe803a4a76ee2f18908f20fa7b21829968a7f2070', '2026-11-22 17:17:13.598705+00');
INSERT INTO migration VALUES (9, '0009-clock.sql', '49c80d2690f64153ba16810faad12aadb8ddcaa1bdd0dc0586831c9974e66c4b', '2026-11-22 17:17:13.798788+00');
INSERT INTO orders VALUES ('0190d5a4-0000-7000-8000-000000000001', '01a1feb2-9b64-7054-bf46-b04b68fdbda2', '28ea5df6-5f8c-858b-88e9-c562b5bca515', 'BTCUSD', 'BUY', 'LIMIT', 'GTC', 0.5, NULL, 50000, NULL, NULL, 0.0035, 0.0003, NULL, 'buy-1', NULL, NULL, NULL, '2026-11-21 15:21:20.484+00', 'FILLED', 3, NULL, 0.5, 25000, 0, false, NULL, '2026-11-21 15:21:20.619+00', '2026-11-21 15:21:20.619+00', 2, 1, 27);
INSERT INTO orders VALUES ('0190d5a4-0000-7000-8000-000000000001', '01a1feb2-9bb7-7168-a46b-d89dad0177e6', '28ea5df6-5f8c-858b-88e9-c562b5bca515', 'BTCUSD', 'BUY', 'MARKET', 'IOC', NULL, 1000, NULL, NULL, NULL, 0.0035, 0.0003, '0190d5a4-0000-7000-8000-000000000002', NULL, NULL, NULL, NULL, '2026-11-21 15:21:20.567+00', 'FILLED', 4, NULL, 0.02, 1000, 0, false, NULL, '2026-11-21 15:21:20.657+00', '2026-11-21 15:21:20.657+00', 2, 1, 28);
INSERT INTO orders VALUES ('0190d5a4-0000-7000-8000-000000000001', '01a1feb2-9c57-7170-8801-d29ab420ecea', '28ea5df6-5f8c-858b-88e9-c562b5bca515', 'BTCUSD', 'BUY', 'LIMIT', 'GTC', 0.1, NULL, 40000, NULL, NULL, 0.0035, 0.0003, NULL, 'bid-1', NULL, NULL, NULL, '2026-11-21 15:21:20.727+00', 'OPEN', 5, 1, 0, 0, 4014, false, NULL, '2026-11-21 15:21:20.759+00', NULL, 2, 1, 30);
INSERT INTO orders VALUES ('0190d5a4-0000-7000-8000-000000000001', '01a1feb2-9c8c-73c8-b6c9-24247624ccd0', '28ea5df6-5f8c-858b-88e9-c562b5bca515', 'BTCUSD', 'BUY', 'POST_ONLY_LIMIT', 'GTC', 0.1, NULL, 50000, NULL, NULL, 0.0035, 0.0003, NULL, NULL, NULL, NULL, NULL, '2026-11-21 15:21:20.78+00', 'REJECTED', 6, NULL, 0, 0, 0, false, 'post_only_would_cross', '2026-11-21 15:21:20.827+00', '2026-11-21 15:21:20.827+00', 2, 1, 32);
INSERT INTO orders VALUES ('0190d5a4-0000-7000-8000-000000000001', '01a1feb2-9cc7-7030-b540-05bb3573c8de', '28ea5df6-5f8c-858b-88e9-c562b5bca515', 'BTCUSD', 'BUY', 'LIMIT', 'FOK', 0.1, NULL, 44000, NULL, NULL, 0.0035, 0.0003, NULL, NULL, NULL, NULL, NULL, '2026-11-21 15:21:20.839+00', 'CANCELLED', 7, NULL, 0, 0, 0, false, NULL, '2026-11-21 15:21:20.896+00', '2026-11-21 15:21:20.896+00', 2, 1, 35);
INSERT INTO orders VALUES ('0190d5a4-0000-7000-8000-000000000001', '01a1feb2-9ceb-7040-99fd-57b61ff8e250', '28ea5df6-5f8c-858b-88e9-c562b5bca515', 'BTCUSD', 'SELL', 'STOP_LIMIT', 'GTC', 0.1, NULL, 39000, 45000, NULL, 0.0035, 0.0003, NULL, NULL, NULL, NULL, NULL, '2026-11-21 15:21:20.875+00', 'SUBMITTED', 8, NULL, 0, 0, 0.1, false, NULL, '2026-11-21 15:21:20.952+00', NULL, 2, 1, 37);
INSERT INTO orders VALUES ('0190d5a4-0000-7000-8000-000000000001', '01a1feb2-9d17-73bc-9a21-30da0924f71c', '28ea5df6-5f8c-858b-88e9-c562b5bca515', 'BTCUSD', 'BUY', 'LIMIT', 'GTC', 0.2, NULL, 30000, NULL, NULL, 0.0035, 0.0003, NULL, 'taken-back', NULL, NULL, NULL, '2026-11-21 15:21:20.919+00', 'CANCELLED', 9, 1, 0, 0, 0, false, NULL, '2026-11-21 15:21:21.01+00', '2026-11-21 15:21:21.01+00', 3, 1, 38);
INSERT INTO orders VALUES ('0190d5a4-0000-7000-8000-000000000003', '01a1feb2-9abf-732c-809d-a96fa5dd2330', '9f424f0c-2af9-8b96-806c-06f9e4209213', 'BTCUSD', 'SELL', 'LIMIT', 'GTC', 2, NULL, 50000, NULL, NULL, 0.0035, 0.0003, NULL, 'ask-1', NULL, NULL, '{"a": "b"}', '2026-11-21 15:21:20.319+00', 'OPEN', 1, 1, 0.52, 26000, 1.48, false, NULL, '2026-11-21 15:21:20.657+00', NULL, 4, 1, 28);
INSERT INTO orders VALUES ('0190d5a4-0000-7000-8000-000000000003', '01a1feb2-9b0f-735c-8dbc-258197ee915a', '9f424f0c-2af9-8b96-806c-06f9e4209213', 'BTCUSD', 'SELL', 'LIMIT', 'GTC', 1, NULL, 60000, NULL, NULL, 0.0035, 0.0003, NULL, NULL, 'i-1', 'a-1', NULL, '2026-11-21 15:21:20.399+00', 'OPEN', 2, 1, 0, 0, 1, false, NULL, '2026-11-21 15:21:20.486+00', NULL, 2, 1, 24);
INSERT INTO posting VALUES ('00000000-0000-8000-8000-000000000101', 'BTC', 1, '01a1feb2-7a47-7344-a779-c1ca77881ba6', 'deposit', 'available', -10, -10, 0, 0, '2026-11-21 15:21:12.011+00', 1, 4);
INSERT INTO posting VALUES ('00000000-0000-8000-8000-000000000101', 'BTC', 2, '01a1feb2-8082-733c-83f5-c9cb4856715e', 'deposit', 'available', -10, -20, 0, 0, '2026-11-21 15:21:13.611+00', 1, 9);
INSERT INTO posting VALUES ('00000000-0000-8000-8000-000000000101', 'ETH', 1, '01a1feb2-809a-71e0-a8d5-6a29cf9a1cec', 'deposit', 'available', -100, -100, 0, 0, '2026-11-21 15:21:13.639+00', 1, 10);
INSERT INTO posting VALUES ('00000000-0000-8000-8000-000000000101', 'USD', 1, '01a1feb2-7a02-7170-a36b-e47cf55f5028', 'deposit', 'available', -100000, -100000, 0, 0, '2026-11-21 15:21:11.978+00', 1, 3);
INSERT INTO posting VALUES ('00000000-0000-8000-8000-000000000101', 'USD', 2, '01a1feb2-8066-7000-be6c-f09f1ac53dfc', 'deposit', 'available', -100000, -200000, 0, 0, '2026-11-21 15:21:13.576+00', 1, 8);
INSERT INTO posting VALUES ('00000000-0000-8000-8000-000000000101', 'USD', 3, '01a1feb2-9a2d-71b8-bd92-32cd84bf2f7c', 'deposit', 'available', -12.34, -200012.34, 0, 0, '2026-11-21 15:21:20.173+00', 1, 17);
INSERT INTO posting VALUES ('00000000-0000-8000-8000-000000000101', 'USD', 4, '01a1feb2-9a55-7070-bc81-b598d840c6e8', 'deposit', 'available', -7.000001, -200019.340001, 0, 0, '2026-11-21 15:21:20.217+00', 1, 18);
INSERT INTO posting VALUES ('00000000-0000-8000-8000-000000000201', 'USD', 1, '01a1feb2-9a55-7070-bc81-b598d840c6e8', 'deposit', 'available', 7.000001, 7.000001, 0, 0, '2026-11-21 15:21:20.217+00', 1, 18);
INSERT INTO posting VALUES ('00000000-0000-8000-8000-000000000201', 'USD', 2, '01a1feb2-99cf-7124-aa8b-a98e7e2d57f7', 'conversion_settled', 'available', 500, 507.000001, 0, 0, '2026-11-21 15:21:28.11+00', 1, 41);
INSERT INTO posting VALUES ('00000000-0000-8000-8000-000000000301', 'PYUSD', 1, '01a1feb2-99cf-7124-aa8b-a98e7e2d57f7', 'conversion_settled', 'available', -500, -500, 0, 0, '2026-11-21 15:21:28.11+00', 1, 41);
INSERT INTO posting VALUES ('00000000-0000-8000-8000-000000000301', 'USDP', 1, '01a1feb2-9a55-7070-bc81-b598d840c6e8', 'deposit', 'available', -7.000001, -7.000001, 0, 0, '2026-11-21 15:21:20.217+00', 1, 18);
INSERT INTO posting VALUES ('00000000-0000-8000-8000-000000000401', 'USD', 1, '0ca812ec-fac1-8800-8000-000000000000', 'order_filled', 'available', 87.5, 87.5, 0, 0, '2026-11-21 15:21:20.619+00', 1, 27);
INSERT INTO posting VALUES ('00000000-0000-8000-8000-000000000401', 'USD', 2, '0ca812ec-fac1-8800-8000-000000000000', 'order_filled', 'available', -7.5, 80, 0, 0, '2026-11-21 15:21:20.619+00', 1, 27);
INSERT INTO posting VALUES ('00000000-0000-8000-8000-000000000401', 'USD', 3, '0ca812ed-0441-8800-8000-000000000000', 'order_filled', 'available', 3.5, 83.5, 0, 0, '2026-11-21 15:21:20.657+00', 1, 28);
INSERT INTO posting VALUES ('00000000-0000-8000-8000-000000000401', 'USD', 4, '0ca812ed-0441-8800-8000-000000000000', 'order_filled', 'available', -0.3, 83.2, 0, 0, '2026-11-21 15:21:20.657+00', 1, 28);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'BTC', 1, '01a1feb2-7a47-7344-a779-c1ca77881ba6', 'deposit', 'available', 10, 10, 0, 0, '2026-11-21 15:21:12.011+00', 1, 4);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'BTC', 2, '0ca812ec-fac1-8800-8000-000000000000', 'order_filled', 'available', 0.5, 10.5, 0, 0, '2026-11-21 15:21:20.619+00', 1, 27);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'BTC', 3, '01a1feb2-9ceb-7040-99fd-57b61ff8e250', 'order_held', 'available', -0.1, 10.4, 0, 0, '2026-11-21 15:21:20.875+00', 1, 34);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'BTC', 4, '01a1feb2-9ceb-7040-99fd-57b61ff8e250', 'order_held', 'trading', 0.1, 10.4, 0.1, 0, '2026-11-21 15:21:20.875+00', 1, 34);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 1, '01a1feb2-7a02-7170-a36b-e47cf55f5028', 'deposit', 'available', 100000, 100000, 0, 0, '2026-11-21 15:21:11.978+00', 1, 3);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 10, '0ca812ec-fac1-8800-8000-000000000000', 'order_filled', 'trading', -25087.5, 73320.84, 1003.5, 500, '2026-11-21 15:21:20.619+00', 1, 27);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 11, '0ca812ed-0441-8800-8000-000000000000', 'order_filled', 'trading', -1003.5, 73320.84, 0, 500, '2026-11-21 15:21:20.657+00', 1, 28);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 12, '01a1feb2-9c57-7170-8801-d29ab420ecea', 'order_held', 'available', -4014, 69306.84, 0, 500, '2026-11-21 15:21:20.727+00', 1, 29);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 13, '01a1feb2-9c57-7170-8801-d29ab420ecea', 'order_held', 'trading', 4014, 69306.84, 4014, 500, '2026-11-21 15:21:20.727+00', 1, 29);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 14, '01a1feb2-9c8c-73c8-b6c9-24247624ccd0', 'order_held', 'available', -5017.5, 64289.34, 4014, 500, '2026-11-21 15:21:20.78+00', 1, 31);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 15, '01a1feb2-9c8c-73c8-b6c9-24247624ccd0', 'order_held', 'trading', 5017.5, 64289.34, 9031.5, 500, '2026-11-21 15:21:20.78+00', 1, 31);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 16, '01a1feb2-9c8c-73c8-b6c9-24247624ccd1', 'order_released', 'trading', -5017.5, 64289.34, 4014, 500, '2026-11-21 15:21:20.827+00', 1, 32);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 17, '01a1feb2-9c8c-73c8-b6c9-24247624ccd1', 'order_released', 'available', 5017.5, 69306.84, 4014, 500, '2026-11-21 15:21:20.827+00', 1, 32);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 18, '01a1feb2-9cc7-7030-b540-05bb3573c8de', 'order_held', 'available', -4415.4, 64891.44, 4014, 500, '2026-11-21 15:21:20.839+00', 1, 33);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 19, '01a1feb2-9cc7-7030-b540-05bb3573c8de', 'order_held', 'trading', 4415.4, 64891.44, 8429.4, 500, '2026-11-21 15:21:20.839+00', 1, 33);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 2, '01a1feb2-99cf-7124-aa8b-a98e7e2d57f6', 'conversion_created', 'available', -500, 99500, 0, 0, '2026-11-21 15:21:20.108+00', 1, 16);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 20, '01a1feb2-9cc7-7030-b540-05bb3573c8df', 'order_released', 'trading', -4415.4, 64891.44, 4014, 500, '2026-11-21 15:21:20.896+00', 1, 35);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 21, '01a1feb2-9cc7-7030-b540-05bb3573c8df', 'order_released', 'available', 4415.4, 69306.84, 4014, 500, '2026-11-21 15:21:20.896+00', 1, 35);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 22, '01a1feb2-9d17-73bc-9a21-30da0924f71c', 'order_held', 'available', -6021, 63285.84, 4014, 500, '2026-11-21 15:21:20.919+00', 1, 36);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 23, '01a1feb2-9d17-73bc-9a21-30da0924f71c', 'order_held', 'trading', 6021, 63285.84, 10035, 500, '2026-11-21 15:21:20.919+00', 1, 36);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 24, '01a1feb2-9d17-73bc-9a21-30da0924f71d', 'order_released', 'trading', -6021, 63285.84, 4014, 500, '2026-11-21 15:21:21.01+00', 1, 38);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 25, '01a1feb2-9d17-73bc-9a21-30da0924f71d', 'order_released', 'available', 6021, 69306.84, 4014, 500, '2026-11-21 15:21:21.01+00', 1, 38);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 26, '01a1feb2-9d79-716c-86d4-8a464fd96c90', 'conversion_created', 'available', -3, 69303.84, 4014, 500, '2026-11-21 15:21:21.028+00', 1, 39);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 27, '01a1feb2-9d79-716c-86d4-8a464fd96c90', 'conversion_created', 'pending', 3, 69303.84, 4014, 503, '2026-11-21 15:21:21.028+00', 1, 39);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 28, '01a1feb2-9d79-716c-86d4-8a464fd96c91', 'conversion_cancelled', 'pending', -3, 69303.84, 4014, 500, '2026-11-21 15:21:21.084+00', 1, 40);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 29, '01a1feb2-9d79-716c-86d4-8a464fd96c91', 'conversion_cancelled', 'available', 3, 69306.84, 4014, 500, '2026-11-21 15:21:21.084+00', 1, 40);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 3, '01a1feb2-99cf-7124-aa8b-a98e7e2d57f6', 'conversion_created', 'pending', 500, 99500, 0, 500, '2026-11-21 15:21:20.108+00', 1, 16);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 30, '01a1feb2-99cf-7124-aa8b-a98e7e2d57f7', 'conversion_settled', 'pending', -500, 69306.84, 4014, 0, '2026-11-21 15:21:28.11+00', 1, 41);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 31, '01a1feb2-b9f3-7130-a052-a4da5851d204', 'conversion_created', 'available', -20, 69286.84, 4014, 0, '2026-11-21 15:21:28.308+00', 1, 42);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 32, '01a1feb2-b9f3-7130-a052-a4da5851d204', 'conversion_created', 'pending', 20, 69286.84, 4014, 20, '2026-11-21 15:21:28.308+00', 1, 42);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 4, '01a1feb2-9a2d-71b8-bd92-32cd84bf2f7c', 'deposit', 'available', 12.34, 99512.34, 0, 500, '2026-11-21 15:21:20.173+00', 1, 17);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 5, '01a1feb2-9a7c-73d8-b4ec-392406ebc662', 'transfer', 'available', -100.5, 99411.84, 0, 500, '2026-11-21 15:21:20.258+00', 1, 19);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 6, '01a1feb2-9b64-7054-bf46-b04b68fdbda2', 'order_held', 'available', -25087.5, 74324.34, 0, 500, '2026-11-21 15:21:20.515+00', 1, 25);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 7, '01a1feb2-9b64-7054-bf46-b04b68fdbda2', 'order_held', 'trading', 25087.5, 74324.34, 25087.5, 500, '2026-11-21 15:21:20.515+00', 1, 25);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 8, '01a1feb2-9bb7-7168-a46b-d89dad0177e6', 'order_held', 'available', -1003.5, 73320.84, 25087.5, 500, '2026-11-21 15:21:20.568+00', 1, 26);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000001', 'USD', 9, '01a1feb2-9bb7-7168-a46b-d89dad0177e6', 'order_held', 'trading', 1003.5, 73320.84, 26091, 500, '2026-11-21 15:21:20.568+00', 1, 26);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000002', 'BTC', 1, '0ca812ed-0441-8800-8000-000000000000', 'order_filled', 'available', 0.02, 0.02, 0, 0, '2026-11-21 15:21:20.657+00', 1, 28);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000002', 'PYUSD', 1, '01a1feb2-99cf-7124-aa8b-a98e7e2d57f7', 'conversion_settled', 'available', 500, 500, 0, 0, '2026-11-21 15:21:28.11+00', 1, 41);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000002', 'USD', 1, '01a1feb2-9a7c-73d8-b4ec-392406ebc662', 'transfer', 'available', 100.5, 100.5, 0, 0, '2026-11-21 15:21:20.258+00', 1, 19);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000002', 'USD', 2, '01a1feb2-9a9f-70e8-acd3-5185733da738', 'transfer', 'available', -0.25, 100.25, 0, 0, '2026-11-21 15:21:20.287+00', 1, 20);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000002', 'USDP', 1, '01a1feb2-9a55-7070-bc81-b598d840c6e8', 'deposit', 'available', 7.000001, 7.000001, 0, 0, '2026-11-21 15:21:20.217+00', 1, 18);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000003', 'BTC', 1, '01a1feb2-8082-733c-83f5-c9cb4856715e', 'deposit', 'available', 10, 10, 0, 0, '2026-11-21 15:21:13.611+00', 1, 9);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000003', 'BTC', 2, '01a1feb2-9abf-732c-809d-a96fa5dd2330', 'order_held', 'available', -2, 8, 0, 0, '2026-11-21 15:21:20.331+00', 1, 21);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000003', 'BTC', 3, '01a1feb2-9abf-732c-809d-a96fa5dd2330', 'order_held', 'trading', 2, 8, 2, 0, '2026-11-21 15:21:20.331+00', 1, 21);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000003', 'BTC', 4, '01a1feb2-9b0f-735c-8dbc-258197ee915a', 'order_held', 'available', -1, 7, 2, 0, '2026-11-21 15:21:20.399+00', 1, 23);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000003', 'BTC', 5, '01a1feb2-9b0f-735c-8dbc-258197ee915a', 'order_held', 'trading', 1, 7, 3, 0, '2026-11-21 15:21:20.399+00', 1, 23);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000003', 'BTC', 6, '0ca812ec-fac1-8800-8000-000000000000', 'order_filled', 'trading', -0.5, 7, 2.5, 0, '2026-11-21 15:21:20.619+00', 1, 27);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000003', 'BTC', 7, '0ca812ed-0441-8800-8000-000000000000', 'order_filled', 'trading', -0.02, 7, 2.48, 0, '2026-11-21 15:21:20.657+00', 1, 28);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000003', 'ETH', 1, '01a1feb2-809a-71e0-a8d5-6a29cf9a1cec', 'deposit', 'available', 100, 100, 0, 0, '2026-11-21 15:21:13.639+00', 1, 10);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000003', 'USD', 1, '01a1feb2-8066-7000-be6c-f09f1ac53dfc', 'deposit', 'available', 100000, 100000, 0, 0, '2026-11-21 15:21:13.576+00', 1, 8);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000003', 'USD', 2, '01a1feb2-9a9f-70e8-acd3-5185733da738', 'transfer', 'available', 0.25, 100000.25, 0, 0, '2026-11-21 15:21:20.287+00', 1, 20);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000003', 'USD', 3, '0ca812ec-fac1-8800-8000-000000000000', 'order_filled', 'available', 25007.5, 125007.75, 0, 0, '2026-11-21 15:21:20.619+00', 1, 27);
INSERT INTO posting VALUES ('0190d5a4-0000-7000-8000-000000000003', 'USD', 4, '0ca812ed-0441-8800-8000-000000000000', 'order_filled', 'available', 1000.3, 126008.05, 0, 0, '2026-11-21 15:21:20.657+00', 1, 28);
INSERT INTO profile VALUES ('0190d5a4-0000-7000-8000-000000000001', '28ea5df6-5f8c-858b-88e9-c562b5bca515', 'NORMAL', 'treasury', NULL, 'ACTIVE', 0, '2026-11-21 15:21:11.931+00', '2026-11-21 15:21:11.931+00', 1, 1, 2);
INSERT INTO profile VALUES ('0190d5a4-0000-7000-8000-000000000002', '28ea5df6-5f8c-858b-88e9-c562b5bca515', 'NORMAL', 'shop', NULL, 'ACTIVE', 0, '2026-11-21 15:21:12.042+00', '2026-11-21 15:21:12.042+00', 5, 1, 41);
INSERT INTO profile VALUES ('0190d5a4-0000-7000-8000-000000000003', '9f424f0c-2af9-8b96-806c-06f9e4209213', 'NORMAL', 'desk', NULL, 'ACTIVE', 0, '2026-11-21 15:21:13.531+00', '2026-11-21 15:21:13.531+00', 1, 1, 7);
INSERT INTO profile VALUES ('01a1feb2-7668-73f0-be57-7d8d0c4a883c', '28ea5df6-5f8c-858b-88e9-c562b5bca515', 'DEFAULT', 'default', NULL, 'ACTIVE', 0, '2026-11-21 15:21:11.016+00', '2026-11-21 15:21:11.016+00', 1, 1, 1);
INSERT INTO profile VALUES ('01a1feb2-7a86-7264-a53c-d7f8eb2afaa2', '9f424f0c-2af9-8b96-806c-06f9e4209213', 'DEFAULT', 'default', NULL, 'ACTIVE', 0, '2026-11-21 15:21:12.07+00', '2026-11-21 15:21:12.07+00', 1, 1, 6);
INSERT INTO traded_day VALUES ('28ea5df6-5f8c-858b-88e9-c562b5bca515', '2026-11-21', 'BTCUSD', 26000, 2, 1, 28);
INSERT INTO traded_day VALUES ('9f424f0c-2af9-8b96-806c-06f9e4209213', '2026-11-21', 'BTCUSD', 26000, 2, 1, 28);
INSERT INTO transfer VALUES ('0190d5a4-0000-7000-8000-000000000001', '01a1feb2-7a02-7170-a36b-e47cf55f5028', '28ea5df6-5f8c-858b-88e9-c562b5bca515', 'WIRE_DEPOSIT', 'CREDIT', 'USD', 100000, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-21 15:21:11.938+00', 1, 3, NULL);
INSERT INTO transfer VALUES ('0190d5a4-0000-7000-8000-000000000001', '01a1feb2-7a47-7344-a779-c1ca77881ba6', '28ea5df6-5f8c-858b-88e9-c562b5bca515', 'CRYPTO_DEPOSIT', 'CREDIT', 'BTC', 10, 0, NULL, NULL, NULL, NULL, 'ETHEREUM', '0xe84a4e677b7be7c130277ce01aa109fea9314873', '2dd1f26cc434751691e096ef35ecceda8ea20c5877a909066e7a9872179abcd6', '0', NULL, NULL, '2026-11-21 15:21:12.007+00', 1, 4, NULL);
INSERT INTO transfer VALUES ('0190d5a4-0000-7000-8000-000000000001', '01a1feb2-9a2d-71b8-bd92-32cd84bf2f7c', '28ea5df6-5f8c-858b-88e9-c562b5bca515', 'WIRE_DEPOSIT', 'CREDIT', 'USD', 12.34, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-21 15:21:20.173+00', 1, 17, NULL);
INSERT INTO transfer VALUES ('0190d5a4-0000-7000-8000-000000000001', '01a1feb2-9a7c-73d8-b4ec-392406ebc662', '28ea5df6-5f8c-858b-88e9-c562b5bca515', 'INTERNAL_TRANSFER_DEBIT', 'DEBIT', 'USD', 100.5, 0, 'internal-1', NULL, NULL, '{"purpose": "wages"}', NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-21 15:21:20.252+00', 1, 19, NULL);
INSERT INTO transfer VALUES ('0190d5a4-0000-7000-8000-000000000002', '01a1feb2-9a55-7070-bc81-b598d840c6e8', '28ea5df6-5f8c-858b-88e9-c562b5bca515', 'CRYPTO_DEPOSIT', 'CREDIT', 'USDP', 7.000001, 0, NULL, NULL, NULL, NULL, 'SOLANA', '0xb1d9735ee9906c5cec655a789e44daaa553af0c8', '8392956fd0ca11889e6d13e45bc32a61109a604b1ba34c71fddb32d585633688', '0', 7.000001, NULL, '2026-11-21 15:21:20.213+00', 1, 18, NULL);
INSERT INTO transfer VALUES ('0190d5a4-0000-7000-8000-000000000002', '01a1feb2-9a7c-73d8-b4ec-392406ebc663', '28ea5df6-5f8c-858b-88e9-c562b5bca515', 'INTERNAL_TRANSFER_CREDIT', 'CREDIT', 'USD', 100.5, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-21 15:21:20.252+00', 1, 19, NULL);
INSERT INTO transfer VALUES ('0190d5a4-0000-7000-8000-000000000002', '01a1feb2-9a9f-70e8-acd3-5185733da738', '28ea5df6-5f8c-858b-88e9-c562b5bca515', 'PLATFORM_TRANSFER_DEBIT', 'DEBIT', 'USD', 0.25, 0, 'platform-1', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-21 15:21:20.287+00', 1, 20, NULL);
INSERT INTO transfer VALUES ('0190d5a4-0000-7000-8000-000000000003', '01a1feb2-8066-7000-be6c-f09f1ac53dfc', '9f424f0c-2af9-8b96-806c-06f9e4209213', 'WIRE_DEPOSIT', 'CREDIT', 'USD', 100000, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-21 15:21:13.574+00', 1, 8, NULL);
INSERT INTO transfer VALUES ('0190d5a4-0000-7000-8000-000000000003', '01a1feb2-8082-733c-83f5-c9cb4856715e', '9f424f0c-2af9-8b96-806c-06f9e4209213', 'CRYPTO_DEPOSIT', 'CREDIT', 'BTC', 10, 0, NULL, NULL, NULL, NULL, 'ETHEREUM', '0x9d1357e091bb4d9163e23b68157e502651d6f088', 'ce669c53a0de49a2f238fd331a4b9af62759c6f402358c1f76c2dcf655e7d1e5', '0', NULL, NULL, '2026-11-21 15:21:13.602+00', 1, 9, NULL);
INSERT INTO transfer VALUES ('0190d5a4-0000-7000-8000-000000000003', '01a1feb2-809a-71e0-a8d5-6a29cf9a1cec', '9f424f0c-2af9-8b96-806c-06f9e4209213', 'CRYPTO_DEPOSIT', 'CREDIT', 'ETH', 100, 0, NULL, NULL, NULL, NULL, 'ETHEREUM', '0x9d1357e091bb4d9163e23b68157e502651d6f088', '9aeecd5a95a94e113f39c3d1422f889f604e38d7f9f0f635cca543ed28a1a242', '0', NULL, NULL, '2026-11-21 15:21:13.626+00', 1, 10, NULL);
INSERT INTO transfer VALUES ('0190d5a4-0000-7000-8000-000000000003', '01a1feb2-9a9f-70e8-acd3-5185733da739', '9f424f0c-2af9-8b96-806c-06f9e4209213', 'PLATFORM_TRANSFER_CREDIT', 'CREDIT', 'USD', 0.25, 0, NULL, NULL, NULL, '{"invoice": "7"}', NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-21 15:21:20.287+00', 1, 20, NULL);
ALTER TABLE ONLY account
    ADD CONSTRAINT account_pkey PRIMARY KEY (owner_id, asset);
ALTER TABLE ONLY asset
    ADD CONSTRAINT asset_pkey PRIMARY KEY (code);
ALTER TABLE ONLY batch
    ADD CONSTRAINT batch_pkey PRIMARY KEY (slot, n);
ALTER TABLE ONLY book_change
    ADD CONSTRAINT book_change_pkey PRIMARY KEY (market, number);
ALTER TABLE ONLY books
    ADD CONSTRAINT books_only_one_key UNIQUE (only_one);
ALTER TABLE ONLY books
    ADD CONSTRAINT books_pkey PRIMARY KEY (id);
ALTER TABLE ONLY claim
    ADD CONSTRAINT claim_pkey PRIMARY KEY (customer_id, kind, ref_id);
ALTER TABLE ONLY client
    ADD CONSTRAINT client_pkey PRIMARY KEY (client_id);
ALTER TABLE ONLY client_secret
    ADD CONSTRAINT client_secret_pkey PRIMARY KEY (client_id, id);
ALTER TABLE batch
    ADD CONSTRAINT clock_ahead CHECK (not_ahead) NOT VALID;
ALTER TABLE ONLY conversion
    ADD CONSTRAINT conversion_pkey PRIMARY KEY (profile_id, id);
ALTER TABLE ONLY customer
    ADD CONSTRAINT customer_pkey PRIMARY KEY (id);
ALTER TABLE ONLY execution
    ADD CONSTRAINT execution_pkey PRIMARY KEY (profile_id, id);
ALTER TABLE ONLY fee_agreement
    ADD CONSTRAINT fee_agreement_pkey PRIMARY KEY (customer_id, market);
ALTER TABLE ONLY fee_schedule
    ADD CONSTRAINT fee_schedule_market_rebate_ceiling_key UNIQUE (market, rebate_ceiling);
ALTER TABLE ONLY fee_schedule
    ADD CONSTRAINT fee_schedule_pkey PRIMARY KEY (market);
ALTER TABLE ONLY fee_tier
    ADD CONSTRAINT fee_tier_pkey PRIMARY KEY (market, minimum_gross);
ALTER TABLE ONLY lease
    ADD CONSTRAINT lease_pkey PRIMARY KEY (name);
ALTER TABLE ONLY market_head
    ADD CONSTRAINT market_head_pkey PRIMARY KEY (market);
ALTER TABLE ONLY market
    ADD CONSTRAINT market_number_key UNIQUE (number);
ALTER TABLE ONLY market
    ADD CONSTRAINT market_pkey PRIMARY KEY (code);
ALTER TABLE ONLY migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (number);
ALTER TABLE ONLY order_cancel
    ADD CONSTRAINT order_cancel_pkey PRIMARY KEY (profile_id, order_id);
ALTER TABLE ONLY orders
    ADD CONSTRAINT orders_pkey PRIMARY KEY (profile_id, id);
ALTER TABLE ONLY posting
    ADD CONSTRAINT posting_pkey PRIMARY KEY (owner_id, asset, seq);
ALTER TABLE ONLY profile
    ADD CONSTRAINT profile_pkey PRIMARY KEY (id);
ALTER TABLE ONLY refusal
    ADD CONSTRAINT refusal_pkey PRIMARY KEY (id);
ALTER TABLE ONLY signing_key
    ADD CONSTRAINT signing_key_pkey PRIMARY KEY (kid);
ALTER TABLE ONLY traded_day
    ADD CONSTRAINT traded_day_pkey PRIMARY KEY (customer_id, day, market);
ALTER TABLE ONLY transfer
    ADD CONSTRAINT transfer_pkey PRIMARY KEY (profile_id, id);
CREATE INDEX account_house ON account USING btree (house, asset) WHERE (house IS NOT NULL);
CREATE INDEX client_customer ON client USING btree (customer_id, client_id);
CREATE INDEX client_disabled ON client USING btree (disabled_at) WHERE (disabled_at IS NOT NULL);
CREATE INDEX client_restricted ON client USING btree (client_id) WHERE (networks IS NOT NULL);
CREATE INDEX conversion_created ON conversion USING btree (created_at) WHERE (status = 'CREATED'::conversion_status);
CREATE INDEX conversion_customer ON conversion USING btree (customer_id, id);
CREATE INDEX execution_account ON execution USING btree (customer_id, account_id, id) WHERE (account_id IS NOT NULL);
CREATE INDEX execution_batch ON execution USING brin (batch int8_minmax_multi_ops) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX execution_customer ON execution USING btree (customer_id, id);
CREATE INDEX execution_match ON execution USING btree (market, id) INCLUDE (price, amount) WHERE ((id & (1)::bigint) = 1);
CREATE INDEX execution_order ON execution USING btree (order_id, id);
CREATE INDEX fee_agreement_market ON fee_agreement USING btree (market, customer_id);
CREATE INDEX order_cancel_market ON order_cancel USING btree (market, requested_at);
CREATE INDEX orders_account ON orders USING btree (customer_id, identity_account_id, id) WHERE (identity_account_id IS NOT NULL);
CREATE INDEX orders_book ON orders USING btree (market, side, price) WHERE (status = 'OPEN'::order_status);
CREATE INDEX orders_customer ON orders USING btree (customer_id, id);
CREATE INDEX orders_pending ON orders USING btree (market, created_at, id) WHERE (status = 'PENDING_SUBMISSION'::order_status);
CREATE INDEX orders_ref ON orders USING btree (customer_id, ref_id) WHERE (ref_id IS NOT NULL);
CREATE INDEX orders_waiting ON orders USING btree (market) WHERE (status = 'SUBMITTED'::order_status);
CREATE INDEX posting_batch ON posting USING brin (batch int8_minmax_multi_ops) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX profile_customer ON profile USING btree (customer_id, created_at, id);
CREATE UNIQUE INDEX signing_key_current ON signing_key USING btree (((retired_at IS NULL))) WHERE (retired_at IS NULL);
CREATE INDEX transfer_batch ON transfer USING brin (batch int8_minmax_multi_ops) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX transfer_customer ON transfer USING btree (customer_id, id);
ALTER TABLE ONLY client
    ADD CONSTRAINT client_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customer(id);
ALTER TABLE ONLY client_secret
    ADD CONSTRAINT client_secret_client_id_fkey FOREIGN KEY (client_id) REFERENCES client(client_id);
ALTER TABLE ONLY fee_agreement
    ADD CONSTRAINT fee_agreement_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customer(id);
ALTER TABLE ONLY fee_agreement
    ADD CONSTRAINT fee_agreement_market_rebate_ceiling_fkey FOREIGN KEY (market, rebate_ceiling) REFERENCES fee_schedule(market, rebate_ceiling) ON UPDATE CASCADE;
ALTER TABLE ONLY fee_schedule
    ADD CONSTRAINT fee_schedule_market_fkey FOREIGN KEY (market) REFERENCES market(code);
ALTER TABLE ONLY fee_tier
    ADD CONSTRAINT fee_tier_market_rebate_ceiling_fkey FOREIGN KEY (market, rebate_ceiling) REFERENCES fee_schedule(market, rebate_ceiling) ON UPDATE CASCADE;
ALTER TABLE ONLY market
    ADD CONSTRAINT fees_are_scheduled FOREIGN KEY (code) REFERENCES fee_schedule(market) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ONLY market
    ADD CONSTRAINT market_base_fkey FOREIGN KEY (base) REFERENCES asset(code);
ALTER TABLE ONLY market_head
    ADD CONSTRAINT market_head_market_fkey FOREIGN KEY (market) REFERENCES market(code);
ALTER TABLE ONLY market
    ADD CONSTRAINT market_quote_fkey FOREIGN KEY (quote) REFERENCES asset(code);
ALTER TABLE ONLY profile
    ADD CONSTRAINT profile_customer_id_fkey FOREIGN KEY (customer_id) REFERENCES customer(id);
ALTER TABLE ONLY fee_schedule
    ADD CONSTRAINT tier_from_zero FOREIGN KEY (market, begins_at) REFERENCES fee_tier(market, minimum_gross) DEFERRABLE INITIALLY DEFERRED;
