/** What the columns of a row say of each other: a row that contradicts itself is rejected, by the name of what it breaks. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { makeSmallBooks } from "../verify/small-ledger.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
  const books = await makeSmallBooks(db.database);
  await books.close();
});
afterAll(() => db.close());

const LIMIT = "type = 'LIMIT' and time_in_force = 'GTC'";

test.each([
  ["base_and_quote_differ", "update market set quote = base"],
  // The engines count lots in numbers that are exact below it.
  ["base_amounts_in_range", "update market set max_base_amount = 2::numeric ^ 53 / 10::numeric ^ base_decimals"],
  ["default_is_never_deactivated", "update profile set last_deactivation = 1 where kind = 'DEFAULT'"],
  ["hash_of_32_bytes", "update batch set hash = '\\x00'"],
  ["void_decides_nothing", "update batch set not_ahead = null where not void"],
  ["void_decides_nothing", "update batch set void = true where changes is not null"],
  ["not_overdrawn", "update posting set available = -1 where owner_id in (select id from profile)"],
  ["trading_not_negative", "update posting set trading = -1"],
  ["pending_not_negative", "update posting set pending = -1"],
  ["sides_fit_type", "update transfer set type = 'CRYPTO_DEPOSIT' where type = 'PLATFORM_TRANSFER'"],
  ["sides_fit_type", "update transfer set type = 'WIRE_WITHDRAWAL' where type = 'WIRE_DEPOSIT'"],
  ["sides_fit_type", "update transfer set type = 'WIRE_DEPOSIT' where type = 'WIRE_WITHDRAWAL'"],
  ["chain_details_of_crypto_only", "update transfer set notional_value = 1 where type = 'PLATFORM_TRANSFER'"],
  [
    "network_of_transaction",
    "update transfer set type = 'CRYPTO_DEPOSIT', crypto_tx_hash = 'new', crypto_tx_index = '0' where type = 'WIRE_DEPOSIT'",
  ],
  [
    "index_of_transaction",
    "update transfer set type = 'CRYPTO_DEPOSIT', crypto_tx_index = '1' where type = 'WIRE_DEPOSIT'",
  ],
  [
    "deposit_names_output",
    "update transfer set type = 'CRYPTO_DEPOSIT', crypto_network = 'ETHEREUM', crypto_tx_hash = 'ab' where type = 'WIRE_DEPOSIT'",
  ],
  ["assets_differ", "update conversion set target_asset = source_asset"],
  ["closed_in_second_version", "update conversion set version = 1 where status = 'SETTLED'"],
  ["last_price_of_last_match", "insert into market_head values ('BTCUSD', 1, 5, 0, 0, 1, 1, 0)"],
  ["price_fits_type", `update orders set price = null where ${LIMIT}`],
  ["stop_price_fits_type", `update orders set stop_price = 5 where ${LIMIT}`],
  [
    "quote_amount_of_market_buys_only",
    `update orders set quote_amount = base_amount, base_amount = null where ${LIMIT} and side = 'SELL'`,
  ],
  ["expiration_date_of_gtt_only", `update orders set expiration_date = created_at where ${LIMIT}`],
  [
    "time_in_force_fits_type",
    `update orders set type = 'STOP_LIMIT', stop_price = price, time_in_force = 'IOC' where ${LIMIT}`,
  ],
  ["triggered_only_at_stop_price", `update orders set is_triggered = true where ${LIMIT}`],
  ["submitted_was_taken", `update orders set status = 'SUBMITTED' where status = 'PENDING_SUBMISSION' and ${LIMIT}`],
  [
    "open_has_its_place",
    "update orders set status = 'OPEN', sequence = 1, priority = null where status = 'PENDING_SUBMISSION'",
  ],
  ["filled_in_full", "update orders set filled = 0.5 where status = 'FILLED' and base_amount is not null"],
  [
    "rejected_has_filled_nothing",
    `update orders set status = 'REJECTED', reject_reason = 'identity_pair' where status = 'FILLED'`,
  ],
  ["commission_of_taker_only", "update execution set commission = 1, rebate = 0 where id % 2 = 0"],
  ["rebate_of_maker_only", "update execution set rebate = 1, commission = 0 where id % 2 = 1"],
])("%s: %s", async (constraint, sql) => {
  await expect(db.owner.rows(sql)).rejects.toThrow(`violates check constraint "${constraint}"`);
});

test("a customer has one DEFAULT profile: an index finds it among however many, and allows no second one", async () => {
  const second = "update profile set kind = 'DEFAULT' where last_deactivation = 0";
  await expect(db.owner.rows(second)).rejects.toThrow('violates unique constraint "profile_default"');
});

test("an output of a transaction is deposited once, with 0x or without", async () => {
  const again = `update transfer set type = 'CRYPTO_DEPOSIT', crypto_network = 'ETHEREUM', crypto_tx_index = '7',
                      crypto_tx_hash = case when id = (select min(id::text)::uuid from transfer where type = 'WIRE_DEPOSIT')
                                         then '0xab' else 'ab' end
                where type = 'WIRE_DEPOSIT'`;
  const unique = 'violates unique constraint "chain_transaction_already_deposited"';
  await expect(db.owner.rows(again)).rejects.toThrow(unique);
});
