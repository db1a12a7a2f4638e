/** What can be done to records, to what changes, and to the claims that lead to them. */
import type { Tampering } from "./tampering.ts";

export const RECORD_TAMPERINGS: readonly Tampering[] = [
  {
    title: "the amount of a transfer is changed",
    sql: "update transfer set amount = 26 where id = :rent",
    findings: [
      "chain: batch 1/10 does not match its hash: the batch, its rows or its predecessor were changed",
      "transfers: transfer treasury/shop/rent requires -26 USD to available of treasury, 26 USD to available of shop, but its journal posts -25 USD to available of treasury, 25 USD to available of shop",
    ],
  },
  {
    title: "a deposit is declared a withdrawal",
    sql: `update transfer set type = 'WIRE_WITHDRAWAL', from_profile_id = to_profile_id, to_profile_id = null, to_customer_id = null
           where id = :wire`,
    findings: [
      "chain: batch 1/6 does not match its hash: the batch, its rows or its predecessor were changed",
      "transfers: transfer treasury/wire requires -100000 USD to available of treasury, but its journal posts 100000 USD to available of treasury",
    ],
  },
  {
    title: "a transfer is given to another profile",
    sql: "update transfer set to_profile_id = :vault where id = :rent",
    findings: [
      "chain: batch 1/10 does not match its hash: the batch, its rows or its predecessor were changed",
      "transfers: transfer treasury/vault/rent requires -25 USD to available of treasury, 25 USD to available of vault, but its journal posts -25 USD to available of treasury, 25 USD to available of shop",
    ],
  },
  {
    title: "a transfer is removed",
    sql: "delete from transfer where id = :rent",
    findings: [
      "chain: batch 1/10 does not match its hash: the batch, its rows or its predecessor were changed",
      "transfers: journal rent of batch 1/10 belongs to a transfer that is missing",
    ],
  },
  {
    title: "a deposit is added that was never made",
    sql: `insert into transfer (customer_id, id, type, to_profile_id, to_customer_id, asset, amount, created_at, slot, batch)
          select customer_id, :acme, type, to_profile_id, to_customer_id, asset, amount, created_at, slot, batch
            from transfer where id = :wire`,
    findings: [
      "chain: batch 1/6 does not match its hash: the batch, its rows or its predecessor were changed",
      "transfers: transfer treasury/acme requires 100000 USD to available of treasury, but its journal posts nothing",
    ],
  },
  {
    title: "the metadata of a transfer is changed",
    sql: `update transfer set from_metadata = '{"a": "b"}' where id = :rent`,
    findings: ["chain: batch 1/10 does not match its hash: the batch, its rows or its predecessor were changed"],
  },
  {
    title: "a settled conversion is declared cancelled",
    sql: "update conversion set status = 'CANCELLED', cancelled_at = settled_at, settled_at = null where id = :mint",
    findings: ["changing rows: conversion treasury/mint does not match batch 1/12, which it refers to"],
  },
  {
    title: "the amount of an open conversion is changed",
    sql: "update conversion set amount = 60 where id = :redeem",
    findings: [
      "conversions: conversion treasury/redeem requires -60 PYUSD to available of treasury, 60 PYUSD to pending of treasury for version 1 in batch 1/15, but its journal posts -50 PYUSD to available of treasury, 50 PYUSD to pending of treasury",
      "changing rows: conversion treasury/redeem does not match batch 1/15, which it refers to",
      "pending: account treasury/PYUSD has 50 pending, but 60 is held",
    ],
  },
  {
    title: "the amount of a closed conversion is changed",
    sql: "update conversion set amount = 60 where id = :undone",
    findings: [
      "conversions: conversion treasury/undone requires -60 PYUSD to available of treasury, 60 PYUSD to pending of treasury for version 1 in batch 1/13, but its journal posts -100 PYUSD to available of treasury, 100 PYUSD to pending of treasury",
      "changing rows: conversion treasury/undone does not match batch 1/14, which it refers to",
    ],
  },
  {
    title: "an open conversion is removed",
    sql: "delete from conversion where id = :redeem",
    findings: [
      "changing rows: conversion treasury/redeem is missing, but a batch wrote it",
      "pending: account treasury/PYUSD has 50 pending, but 0 is held",
      "incoming counts: profile vault counts 2 incoming orders and conversions, but there are 1",
      'claims: claim acme/conversion/"redeem" refers to a record that is missing',
    ],
  },
  {
    title: "a closed conversion is removed",
    sql: "delete from conversion where id = :mint",
    findings: ["changing rows: conversion treasury/mint is missing, but a batch wrote it"],
  },
  {
    title: "a conversion is added beside all batches",
    sql: `alter table conversion drop constraint if exists closed_in_second_version;
          insert into conversion (profile_id, id, customer_id, source_asset, target_asset, amount, status, created_at,
                                  updated_at, settled_at, version, slot, batch)
          select profile_id, :acme, customer_id, source_asset, target_asset, amount, status, created_at, updated_at,
                 settled_at, 1, slot, batch from conversion where id = :mint`,
    findings: ["changing rows: conversion treasury/acme does not match batch 1/12, which it refers to"],
  },
  {
    title: "a conversion is set back to an earlier number",
    sql: `alter table conversion drop constraint if exists closed_in_second_version;
          update conversion set version = 1 where id = :mint`,
    findings: ["changing rows: conversion treasury/mint has gone back to version 1"],
  },
  {
    title: "the hold of an open order is lowered",
    sql: "update orders set held = held - 0.000000000000000001 where id = :low",
    findings: [
      "changing rows: orders treasury/low does not match batch 1/38, which it refers to",
      "trading: account treasury/USD has 7526.25 trading, but 7526.249999999999999999 is held",
      "orders: order treasury/low is PENDING_SUBMISSION and holds 7526.249999999999999999, but needs 7526.25",
    ],
  },
  {
    title: "the filled amount of an order is changed",
    sql: "update orders set filled = 0.5 where id = :offer",
    findings: [
      "changing rows: orders desk/offer does not match batch 1/18, which it refers to",
      "orders: order desk/offer is OPEN and holds 1, but needs 1.5",
    ],
  },
  {
    title: "the gross of an order is changed",
    sql: "update orders set filled_gross = filled_gross + 1 where id = :bid",
    findings: [
      "changing rows: orders treasury/bid does not match batch 1/18, which it refers to",
      "orders: order treasury/bid has filled 20001 gross, but its executions sum to 20000",
    ],
  },
  {
    title: "the rate of an order is changed",
    sql: "update orders set taker_rate = 0.001 where id = :bid",
    findings: [
      "matches: match match requires -1 BTC to trading of desk, -21021 USD to trading of treasury, 1 BTC to available of treasury, 20006 USD to available of vault, 951 USD to available of treasury, but its journal posts -1 BTC to trading of desk, -21073.5 USD to trading of treasury, 1 BTC to available of treasury, 1003.5 USD to available of treasury, 20006 USD to available of vault",
      "changing rows: orders treasury/bid does not match batch 1/18, which it refers to",
      "executions: execution treasury/match+1 has a commission of 70, but 20 is due",
    ],
  },
  {
    title: "an open order is removed",
    sql: "delete from orders where id = :low",
    findings: [
      "changing rows: orders treasury/low is missing, but a batch wrote it",
      "trading: account treasury/USD has 7526.25 trading, but 0 is held",
      "orders: pending_order BTCUSD/low has no order of such a status",
    ],
  },
  {
    title: "a pending order is hidden from its engine",
    sql: "delete from pending_order where id = :low",
    findings: [
      "trading: account treasury/USD has 7526.25 trading, but 0 is held",
      "orders: order treasury/low is PENDING_SUBMISSION, but has no row in the table of such orders",
    ],
  },
  {
    title: "an order on the book is shown at another price",
    sql: "update booked_order set price = price + 1 where id = :offer",
    findings: ["orders: booked_order BTCUSD/offer differs from its order"],
  },
  {
    title: "a closed order is shown as open",
    sql: `insert into booked_order (market, id, profile_id, customer_id, version, side, status, price, base_amount, filled)
          select market, id, profile_id, customer_id, version, side, 'OPEN', price, base_amount, filled
            from orders where id = :bid`,
    findings: ["orders: booked_order BTCUSD/bid has no order of such a status"],
  },
  {
    title: "a closed order is removed",
    sql: "delete from orders where id = :bid",
    findings: [
      "changing rows: orders treasury/bid is missing, but a batch wrote it",
      "executions: execution treasury/match+1 has no order",
      'claims: claim acme/order/"bid" refers to a record that is missing',
    ],
  },
  {
    title: "an execution is removed",
    sql: "delete from execution where id = :match",
    findings: [
      "chain: batch 1/18 does not match its hash: the batch, its rows or its predecessor were changed",
      "matches: journal matched of batch 1/18 belongs to a match whose executions are missing",
      "orders: order desk/offer has filled 1, but its executions sum to 0",
      "executions: execution treasury/match+1 has no counterpart",
      "customer volumes: customer volume acme/today/BTCUSD is 40000, but its executions sum to 20000",
    ],
  },
  {
    title: "both executions of a match are removed",
    sql: "delete from execution",
    findings: [
      "chain: batch 1/18 does not match its hash: the batch, its rows or its predecessor were changed",
      "matches: journal matched of batch 1/18 belongs to a match whose executions are missing",
      "orders: order treasury/bid has filled 1, but its executions sum to 0",
      "customer volumes: customer volume acme/today/BTCUSD is 40000, but its executions sum to 0",
    ],
  },
  {
    title: "the price of a match is changed on both sides",
    sql: "update execution set price = 20001",
    findings: [
      "chain: batch 1/18 does not match its hash: the batch, its rows or its predecessor were changed",
      "matches: match match requires -1 BTC to trading of desk, -21073.5 USD to trading of treasury, 1 BTC to available of treasury, 1002.5 USD to available of treasury, 20007 USD to available of vault, but its journal posts -1 BTC to trading of desk, -21073.5 USD to trading of treasury, 1 BTC to available of treasury, 1003.5 USD to available of treasury, 20006 USD to available of vault",
      "orders: order treasury/bid has filled 20000 gross, but its executions sum to 20001",
      "executions: execution treasury/match+1 has a commission of 70, but 70.0035 is due",
      "customer volumes: customer volume acme/today/BTCUSD is 40000, but its executions sum to 40002",
    ],
  },
  {
    title: "a commission is changed",
    sql: "update execution set commission = 1 where id = :match+1",
    findings: [
      "chain: batch 1/18 does not match its hash: the batch, its rows or its predecessor were changed",
      "matches: match match requires -1 BTC to trading of desk, -21073.5 USD to trading of treasury, 1 BTC to available of treasury, 1072.5 USD to available of treasury, 20006 USD to available of vault, but its journal posts -1 BTC to trading of desk, -21073.5 USD to trading of treasury, 1 BTC to available of treasury, 1003.5 USD to available of treasury, 20006 USD to available of vault",
      "executions: execution treasury/match+1 has a commission of 1, but 70 is due",
    ],
  },
  {
    title: "an execution is given to another order",
    sql: "update execution set order_id = :low where id = :match+1",
    findings: [
      "chain: batch 1/18 does not match its hash: the batch, its rows or its predecessor were changed",
      "matches: match match requires -1 BTC to trading of desk, -15052.5 USD to trading of treasury, -5017.5 USD to available of treasury, 1 BTC to available of treasury, 20006 USD to available of vault, but its journal posts -1 BTC to trading of desk, -21073.5 USD to trading of treasury, 1 BTC to available of treasury, 1003.5 USD to available of treasury, 20006 USD to available of vault",
      "orders: order treasury/bid has filled 1, but its executions sum to 0",
    ],
  },
  {
    title: "an execution is added",
    sql: `insert into execution (profile_id, id, customer_id, order_id, market, side, amount, price, commission, rebate,
                                 executed_at, slot, batch)
          select profile_id, 2, customer_id, order_id, market, side, 1, 1, 0, 0, executed_at, slot, batch
            from execution where id = :match`,
    findings: [
      "chain: batch 1/18 does not match its hash: the batch, its rows or its predecessor were changed",
      "orders: order desk/offer has filled 1, but its executions sum to 2",
      "executions: execution desk/2 has no counterpart",
    ],
  },
  {
    title: "an execution is added to a profile that has no order",
    sql: `insert into execution (profile_id, id, customer_id, order_id, market, side, amount, price, commission, rebate,
                                 executed_at, slot, batch)
          select :vault, 2, customer_id, order_id, market, side, 1, 1, 0, 0, executed_at, slot, batch
            from execution where id = :match`,
    findings: [
      "chain: batch 1/18 does not match its hash: the batch, its rows or its predecessor were changed",
      "executions: execution vault/2 has no counterpart",
    ],
  },
  {
    title: "an order is added that holds nothing",
    sql: `insert into orders (profile_id, id, customer_id, market, side, type, time_in_force, base_amount, price, taker_rate,
                              maker_rebate, created_at, status, sequence, priority, filled, filled_gross, held, is_triggered,
                              updated_at, version, slot, batch)
          select profile_id, :acme, customer_id, market, side, type, time_in_force, base_amount, price, taker_rate,
                 maker_rebate, created_at, 'OPEN', 1, 1, 0, 0, 0, false, updated_at, 1, slot, batch
            from orders where id = :low`,
    findings: [
      "changing rows: orders treasury/acme does not match batch 1/38, which it refers to",
      "orders: order treasury/acme is OPEN and holds 0, but needs 7526.25",
    ],
  },
  {
    title: "a profile is declared inactive",
    sql: "update profile set status = 'INACTIVE', last_deactivation = version where id = :shop",
    findings: [
      "changing rows: profile shop does not match batch 1/3, which it refers to",
      "accounts: account shop/USD says that its profile was deactivated at version 0, but that was 1",
    ],
  },
  {
    title: "what a customer traded in a day is raised",
    sql: "update customer_volume set gross = 1000000",
    findings: [
      "changing rows: customer_volume acme/today/BTCUSD does not match batch 1/18, which it refers to",
      "customer volumes: customer volume acme/today/BTCUSD is 1000000, but its executions sum to 40000",
    ],
  },
  {
    title: "what a customer traded in a day is removed",
    sql: "delete from customer_volume",
    findings: [
      "changing rows: customer_volume acme/today/BTCUSD is missing, but a batch wrote it",
      "executions: execution treasury/match+1 is not counted in its customer's volume",
    ],
  },
  {
    title: "a customer is given a traded day without trading",
    sql: "insert into customer_volume select :acme, '2026-01-01', 'ETHUSD', 5, 1, 1, 99",
    findings: [
      "changing rows: customer_volume acme/today/ETHUSD does not match batch 1/99, which it refers to",
      "customer volumes: customer volume acme/today/ETHUSD is 5, but its executions sum to 0",
    ],
  },
  {
    title: "what a customer traded in a day is changed, behind more days than are read at once",
    sql: `create temporary table day as select at from generate_series(timestamptz '2021-01-01Z', '2021-01-20Z', '1 day') at;
          insert into customer_volume select :acme, at, 'BTCUSD', 1, 1, 1, 1 from day;
          insert into execution (profile_id, id, customer_id, order_id, market, side, amount, price, commission, rebate,
                                 executed_at, slot, batch)
          select profile_id, cast(extract(epoch from at) * 1000 - 1577836800000 as bigint) << 22 | 16384, customer_id, order_id,
                 market, side, 1, 1, 0, 0, at, slot, batch from execution, day where id = :match;
          update customer_volume set gross = 1000000 where gross > 1;
          drop table day`,
    findings: [
      "chain: batch 1/18 does not match its hash: the batch, its rows or its predecessor were changed",
      "changing rows: customer_volume acme/today/BTCUSD does not match batch 1/1, which it refers to",
      "orders: order desk/offer has filled 1, but its executions sum to 21",
      "executions: execution desk/132633958809616384 has no counterpart",
      "customer volumes: customer volume acme/today/BTCUSD is 1000000, but its executions sum to 40000",
    ],
  },
  {
    title: "a batch is made to name a row of a day that there is not",
    sql: `update batch set changes = cast(
            '{"customer_volume": [{"key": {"customer_id": "' || :acme || '", "day": "2026-02-30", "market": "BTCUSD"},
                                   "version": 1, "values": {}, "digest": "x", "callers": []}]}' as json)
           where slot = 1 and n = 18`,
    findings: [
      "chain: batch 1/18 does not match its hash: the batch, its rows or its predecessor were changed",
      "changing rows: customer_volume acme/today/BTCUSD does not match batch 1/18, which it refers to",
    ],
  },
  {
    title: "a profile is removed",
    sql: "delete from profile where id = :shop",
    findings: [
      "changing rows: profile shop is missing, but a batch wrote it",
      'claims: claim acme/nickname/"shop" refers to a record that is missing',
    ],
  },
  {
    title: "a profile's count of what it awaits is changed",
    sql: "update profile set incoming_count = 0 where id = :vault",
    findings: [
      "changing rows: profile vault does not match batch 1/16, which it refers to",
      "incoming counts: profile vault counts 0 incoming orders and conversions, but there are 2",
    ],
  },
  {
    title: "a market is halted beside the lane",
    sql: "update market set status = 'HALTED', version = 4, slot = 1, batch = 1 where code = 'BTCUSD'",
    findings: ["changing rows: market BTCUSD does not match batch 1/1, which it refers to"],
  },
  {
    title: "a market is halted without a batch, and without the constraint that requires one",
    sql: `alter table market drop constraint if exists no_batch_at_version_1_only;
          update market set status = 'HALTED', version = 4, slot = null, batch = null where code = 'BTCUSD'`,
    findings: ["changing rows: market BTCUSD refers to no batch"],
  },
  {
    title: "a claim is removed",
    sql: "delete from claim where ref_id = 'redeem'",
    findings: ['claims: conversion treasury/redeem has the ref_id "redeem", which is not claimed'],
  },
  {
    title: "a claim is given to another record",
    sql: "update claim set id = :mint where ref_id = 'redeem'",
    findings: ['claims: conversion treasury/redeem has the ref_id "redeem", which another record holds'],
  },
  {
    title: "a claim is added that leads nowhere",
    sql: "insert into claim select customer_id, 'order', 'nothing', :acme from claim where ref_id = 'redeem'",
    findings: ['claims: claim acme/order/"nothing" refers to a record that is missing'],
  },
  {
    title: "the amount of a withdrawal that is sent is made smaller",
    sql: "update transfer set amount = 6 where id = :sent",
    findings: [
      "chain: batch 1/29 does not match its hash: the batch, its rows or its predecessor were changed",
      "external transfers: external transfer acme/sent requires -6 USD to available of depot, 6 USD to pending of depot for version 1 in batch 1/29, but its journal posts -7 USD to available of depot, 7 USD to pending of depot",
      "pending: account depot/USD has 18 pending, but 17 is held",
    ],
  },
  {
    title: "a withdrawal that failed is declared completed",
    sql: "update external_transfer set status = 'completed', reason = null where id = :returned",
    findings: ["changing rows: external_transfer acme/returned does not match batch 1/28, which it refers to"],
  },
  {
    title: "an announced deposit is declared complete when it was recorded",
    sql: "update transfer set has_steps = null where id = :announced; delete from external_transfer where id = :announced",
    findings: [
      "chain: batch 1/34 does not match its hash: the batch, its rows or its predecessor were changed",
      "transfers: transfer depot/announced has no steps, but batch 1/34 has written one",
      "changing rows: external_transfer acme/announced is missing, but a batch wrote it",
    ],
  },
  {
    title: "a legal hold is declared lifted",
    sql: "update legal_hold set lifted_by = 'olga', lifted_at = created_at, version = 2 where id = :blocked",
    findings: [
      "changing rows: legal_hold depot/blocked does not match batch 1/35, which it refers to",
      "pending: account depot/USD has 18 pending, but 7 is held",
    ],
  },
  {
    title: "what placed a legal hold is declared to have lifted it",
    sql: "update posting set cause = 'legal_hold_lifted' where journal_id = :blocked",
    findings: [
      "chain: batch 1/35 does not match its hash: the batch, its rows or its predecessor were changed",
      "legal holds: legal hold depot/blocked requires a legal_hold_placed for version 1 in batch 1/35, but its journal is a legal_hold_lifted",
    ],
  },
  {
    title: "the amount of a legal hold is changed",
    sql: "update legal_hold set amount = 1 where id = :blocked",
    findings: [
      "legal holds: legal hold depot/blocked requires -1 USD to available of depot, 1 USD to pending of depot for version 1 in batch 1/35, but its journal posts -11 USD to available of depot, 11 USD to pending of depot",
      "changing rows: legal_hold depot/blocked does not match batch 1/35, which it refers to",
      "pending: account depot/USD has 18 pending, but 8 is held",
    ],
  },
];
