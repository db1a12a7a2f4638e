/** Each of these is noticed by a check, or by a branch of one, that no other kind of tampering needs. */
import type { Tampering } from "./tampering.ts";

export const FURTHER_TAMPERINGS: readonly Tampering[] = [
  {
    title: "an account is of an infinite time",
    sql: "update account set at = 'infinity' where owner_id = :treasury and asset = 'USD'",
    findings: ["accounts: account treasury/USD has the time +100000-01-01T00:00:00.000Z, but its last posting today"],
  },
  {
    title: "times are infinite, before year 1 and after year 9999",
    sql: `update batch set at = '0044-03-15 BC' where n = 9;
          update posting set at = '-infinity' where journal_id = :rent;
          update transfer set created_at = '10000-01-01' where id = :rent;
          update customer_volume set day = 'infinity'`,
    findings: [
      "chain: batch 1/9 does not match its hash: the batch, its rows or its predecessor were changed",
      "changing rows: customer_volume acme/today/BTCUSD is missing, but a batch wrote it",
      "accounts: posting treasury/USD/3 is earlier than the posting before it",
      "executions: execution treasury/match+1 is not counted in its customer's volume",
      "customer volumes: customer volume acme/infinity/BTCUSD is 40000, but its executions sum to 0",
    ],
  },
  {
    title: "two batches change places",
    sql: `update batch set n = 1000 where n = 9;
          update batch set n = 9 where n = 10;
          update batch set n = 10 where n = 1000`,
    findings: ["chain: batch 1/9 does not match its hash: the batch, its rows or its predecessor were changed"],
  },
  {
    title: "the sides of a transfer are swapped",
    sql: "update transfer set from_profile_id = to_profile_id, to_profile_id = from_profile_id where id = :rent",
    findings: [
      "chain: batch 1/10 does not match its hash: the batch, its rows or its predecessor were changed",
      "transfers: transfer shop/treasury/rent requires -25 USD to available of shop, 25 USD to available of treasury, but its journal posts -25 USD to available of treasury, 25 USD to available of shop",
    ],
  },
  {
    title: "a transfer is of another asset",
    sql: "update transfer set asset = 'BTC' where id = :rent",
    findings: [
      "chain: batch 1/10 does not match its hash: the batch, its rows or its predecessor were changed",
      "transfers: transfer treasury/shop/rent requires -25 BTC to available of treasury, 25 BTC to available of shop, but its journal posts -25 USD to available of treasury, 25 USD to available of shop",
    ],
  },
  {
    title: "a transfer and its journal are given the id of the credit",
    sql: `update transfer set id = :rent+1 where id = :rent;
          update posting set journal_id = :rent+1 where journal_id = :rent`,
    findings: [
      "chain: batch 1/10 does not match its hash: the batch, its rows or its predecessor were changed",
      "transfers: transfer treasury/shop/rent+1 has an odd id",
    ],
  },
  {
    title: "the journal of a transfer is declared a deposit",
    sql: "update posting set cause = 'deposit' where journal_id = :rent",
    findings: [
      "chain: batch 1/10 does not match its hash: the batch, its rows or its predecessor were changed",
      "transfers: transfer treasury/shop/rent is a transfer, but its journal is a deposit",
    ],
  },
  {
    title: "a second transfer has the ref_id of a first, and no index rejects it",
    sql: `drop index transfer_ref_id_already_used;
          update transfer set ref_id = 'rent' where id = :payout`,
    findings: [
      "chain: batch 1/9 does not match its hash: the batch, its rows or its predecessor were changed",
      'claims: transfer rent has the ref_id "rent", which transfer payout has too',
    ],
  },
  {
    title: "what created a conversion is removed",
    sql: "delete from posting where journal_id = :redeem",
    findings: [
      "chain: batch 1/15 does not match its hash: the batch, its rows or its predecessor were changed",
      "conversions: conversion treasury/redeem requires -50 PYUSD to available of treasury, 50 PYUSD to pending of treasury for version 1 in batch 1/15, but its journal posts nothing",
      "accounts: account treasury/PYUSD has version 7, but its last posting has 5",
    ],
  },
  {
    title: "what closed a conversion is removed",
    sql: "delete from posting where journal_id = :mint+1",
    findings: [
      "chain: batch 1/12 does not match its hash: the batch, its rows or its predecessor were changed",
      "conversions: conversion treasury/mint requires -100 USD to pending of treasury, 100 USDP to available of treasury for version 2 in batch 1/12, but its journal posts nothing",
      "accounts: posting treasury/USD/7 follows a gap: 6 is missing",
    ],
  },
  {
    title: "the price of a match is changed on one side",
    sql: "update execution set price = 20001 where id = :match+1",
    findings: [
      "chain: batch 1/18 does not match its hash: the batch, its rows or its predecessor were changed",
      "matches: match match requires -1 BTC to trading of desk, -21073.5 USD to trading of treasury, 1 BTC to available of treasury, 1002.5 USD to available of treasury, 20006 USD to available of vault, but its journal posts -1 BTC to trading of desk, -21073.5 USD to trading of treasury, 1 BTC to available of treasury, 1003.5 USD to available of treasury, 20006 USD to available of vault",
      "orders: order treasury/bid has filled 20000 gross, but its executions sum to 20001",
      "executions: execution treasury/match+1 does not match its counterpart",
      "customer volumes: customer volume acme/today/BTCUSD is 40000, but its executions sum to 40001",
    ],
  },
  {
    title: "a match is given a third side",
    sql: `create temporary table third as select * from execution where id = :match;
          update third set profile_id = :shop;
          insert into execution select * from third;
          drop table third`,
    findings: [
      "chain: batch 1/18 does not match its hash: the batch, its rows or its predecessor were changed",
      "executions: execution treasury/match+1 has 2 counterparts",
      "customer volumes: customer volume acme/today/BTCUSD is 40000, but its executions sum to 60000",
    ],
  },
  {
    title: "the sides of a match are exchanged",
    sql: "update execution set side = case side when 'BUY' then cast('SELL' as order_side) else 'BUY' end",
    findings: [
      "chain: batch 1/18 does not match its hash: the batch, its rows or its predecessor were changed",
      "matches: match match requires -1 BTC to trading of treasury, -20070 USD to trading of desk, 1 BTC to available of vault, 19930 USD to available of treasury, 76 USD to available of desk, but its journal posts -1 BTC to trading of desk, -21073.5 USD to trading of treasury, 1 BTC to available of treasury, 1003.5 USD to available of treasury, 20006 USD to available of vault",
      "executions: execution treasury/match+1 differs from its order in market, side, customer or annotations",
    ],
  },
  {
    title: "an execution is given an account that its order does not name",
    sql: "update execution set account_id = 'other' where id = :match",
    findings: [
      "chain: batch 1/18 does not match its hash: the batch, its rows or its predecessor were changed",
      "executions: execution desk/match differs from its order in market, side, customer or annotations",
    ],
  },
  {
    title: "a rebate is raised",
    sql: "update execution set rebate = rebate + 1 where id = :match",
    findings: [
      "chain: batch 1/18 does not match its hash: the batch, its rows or its predecessor were changed",
      "matches: match match requires -1 BTC to trading of desk, -21073.5 USD to trading of treasury, 1 BTC to available of treasury, 1003.5 USD to available of treasury, 20007 USD to available of vault, but its journal posts -1 BTC to trading of desk, -21073.5 USD to trading of treasury, 1 BTC to available of treasury, 1003.5 USD to available of treasury, 20006 USD to available of vault",
      "executions: execution desk/match has a rebate of 7, but 6 is due",
    ],
  },
  {
    title: "the time of an account is changed",
    sql: "update account set at = at + interval '1 second' where owner_id = :shop",
    findings: ["accounts: account shop/USD has the time today, but its last posting today"],
  },
  {
    title: "what a posting left in trading is changed",
    sql: "update posting set trading = trading + 1 where journal_id = :low and part = 'available'",
    findings: [
      "chain: batch 1/38 does not match its hash: the batch, its rows or its predecessor were changed",
      "accounts: posting treasury/USD/11 leaves trading at 1, but it was 0 and is changed by 0",
    ],
  },
  {
    title: "what a posting left in pending is changed",
    sql: "update posting set pending = pending + 1 where journal_id = :redeem and part = 'available'",
    findings: [
      "chain: batch 1/15 does not match its hash: the batch, its rows or its predecessor were changed",
      "accounts: posting treasury/PYUSD/6 leaves pending at 1, but it was 0 and is changed by 0",
    ],
  },
  {
    title: "what is held by orders is raised in an account",
    sql: "update account set trading = trading + 1 where owner_id = :treasury and asset = 'USD'",
    findings: [
      "accounts: account treasury/USD has 7527.25 trading, but its last posting leaves 7526.25",
      "reserve: asset USD sums to 1 over all accounts, not to zero",
      "trading: account treasury/USD has 7527.25 trading, but 7526.25 is held",
    ],
  },
  {
    title: "what is held by conversions is raised in an account",
    sql: "update account set pending = pending + 1 where owner_id = :treasury and asset = 'PYUSD'",
    findings: [
      "accounts: account treasury/PYUSD has 51 pending, but its last posting leaves 50",
      "reserve: asset PYUSD sums to 1 over all accounts, not to zero",
      "pending: account treasury/PYUSD has 51 pending, but 50 is held",
    ],
  },
  {
    title: "coins are moved from the issuance to the world",
    sql: `update account set available = available - 5 where house = 'issuance' and asset = 'PYUSD';
          insert into account (owner_id, asset, house, may_be_negative, available, trading, pending, at, last_deactivation, version)
            select :world, 'PYUSD', 'world', true, 5, 0, 0, at, 0, 1
            from account where owner_id = :shop`,
    findings: ["accounts: account world/PYUSD has no postings", "reserve: asset PYUSD is held by the world account: 5"],
  },
  {
    title: "coins are taken from a profile for fees",
    sql: `update account set available = available - 5 where owner_id = :treasury and asset = 'PYUSD';
          insert into account (owner_id, asset, house, may_be_negative, available, trading, pending, at, last_deactivation, version)
            select :fees, 'PYUSD', 'fees', false, 5, 0, 0, at, 0, 1
            from account where owner_id = :shop`,
    findings: ["accounts: account treasury/PYUSD has 445 available, but its last posting leaves 450"],
  },
  {
    title: "what is no stablecoin is issued",
    sql: `update account set available = available + 5 where owner_id = :desk;
          insert into account (owner_id, asset, house, may_be_negative, available, trading, pending, at, last_deactivation, version)
            select :issuance, 'BTC', 'issuance', true, -5, 0, 0, at, 0, 1
            from account where owner_id = :shop`,
    findings: [
      "accounts: account desk/BTC has 13 available, but its last posting leaves 8",
      "reserve: asset BTC is issued: 5, but is not a stablecoin",
    ],
  },
  {
    title: "what is no USD is put into the reserve",
    sql: `update account set available = available - 5 where owner_id = :desk;
          insert into account (owner_id, asset, house, coin, custodian, may_be_negative, available, trading, pending, at, last_deactivation, version)
            select owner_id, 'BTC', house, coin, custodian, true, 5, 0, 0, at, 0, 1 from account where owner_id = :reserve`,
    findings: [
      "accounts: account desk/BTC has 3 available, but its last posting leaves 8",
      "reserve: asset BTC is in the reserve: 5",
    ],
  },
  {
    title: "fees are spent that were never taken",
    sql: `alter table account drop constraint not_overdrawn;
          update account set available = available - 65 where house = 'fees';
          update account set available = available + 65 where owner_id = :shop;
          alter table account add constraint not_overdrawn
            check (available >= 0 or may_be_negative is true) not valid`,
    findings: [
      "accounts: account shop/USD has 90 available, but its last posting leaves 25",
      "reserve: asset USD has fees of -1",
    ],
  },
  {
    title: "an asset is invented",
    sql: `insert into account (owner_id, asset, house, may_be_negative, available, trading, pending, at, last_deactivation, version)
            select :world, 'XYZ', 'world', true, -5, 0, 0, at, 0, 1
            from account where owner_id = :shop;
          insert into account (owner_id, asset, available, trading, pending, at, last_deactivation, version)
            select owner_id, 'XYZ', 5, 0, 0, at, 0, 1 from account where owner_id = :shop`,
    findings: ["accounts: account shop/XYZ has no postings", "reserve: asset XYZ is not in the catalogue"],
  },
  {
    title: "fees are allowed to be overdrawn, and are",
    sql: `alter table account drop constraint if exists house_kind_exists_with_this_sign;
          update house_kind set may_be_negative = true where kind = 'fees';
          update account set available = available - 65, may_be_negative = true where house = 'fees';
          update account set available = available + 65 where owner_id = :shop`,
    findings: [
      "accounts: account shop/USD has 90 available, but its last posting leaves 25",
      "reserve: house kind fees may be negative, but must not",
    ],
  },
  {
    title: "one house account may be negative, unlike its kind",
    sql: `alter table account drop constraint if exists house_kind_exists_with_this_sign;
          update account set may_be_negative = true where house = 'fees'`,
    findings: ["accounts: account fees/USD may be negative, but its kind may not"],
  },
  {
    title: "a kind of house accounts is removed",
    sql: `alter table account drop constraint if exists house_kind_exists_with_this_sign;
          delete from house_kind where kind = 'fees'`,
    findings: [
      "accounts: account fees/USD is of the kind fees, which does not exist",
      "reserve: house kind fees is missing",
    ],
  },
  {
    title: "the reserve of a coin is put down to another",
    sql: "update account set coin = 'USDG' where owner_id = :reserve",
    findings: [
      "journals: journal coins of batch 1/7 adds 0 to the supply of USDG, but 500 to its reserve",
      "accounts: account reserve/USD is marked as reserve:USDG:default, but its owner is another",
      "reserve: reserve PYUSD holds 0, but the outstanding supply is 500",
    ],
  },
  {
    title: "the reserve of a coin is put down to another custodian",
    sql: "update account set custodian = 'elsewhere' where owner_id = :reserve",
    findings: ["accounts: account reserve/USD is marked as reserve:PYUSD:elsewhere, but its owner is another"],
  },
  {
    title: "the reserve of a coin is put down to no coin",
    sql: "update account set coin = null where owner_id = :reserve",
    findings: [
      "journals: journal coins of batch 1/7 adds 0 to the supply of no coin, but 500 to its reserve",
      "accounts: account reserve/USD is marked as reserve::default, but its owner is another",
      "reserve: reserve PYUSD holds 0, but the outstanding supply is 500",
    ],
  },
  {
    title: "a house account is marked as a profile's",
    sql: `alter table account drop constraint if exists owner_is_house_from_ffffffff;
          update account set house = null, may_be_negative = null where house = 'fees'`,
    findings: ["accounts: account fees/USD is marked as a profile, but its owner is a house account"],
  },
  {
    title: "a profile's account is given a coin",
    sql: `alter table account drop constraint if exists coin_and_custodian_of_house;
          update account set coin = 'USDG' where owner_id = :shop`,
    findings: ["accounts: account shop/USD is of a profile, but names a coin, a custodian or a sign"],
  },
  {
    title: "USD are moved from the reserve of one coin to that of another",
    sql: `update account set available = available - 1 where house = 'reserve' and coin = 'PYUSD';
          update account set available = available + 1 where house = 'reserve' and coin = 'USDP'`,
    findings: [
      "accounts: account ffffffff-340c-8456-8264-8f1c65245801/USD has 101 available, but its last posting leaves 100",
      "reserve: reserve PYUSD holds 499, but the outstanding supply is 500",
    ],
  },
  {
    title: "what a mint has paid in is posted to the reserve of another coin",
    sql: `update posting set owner_id = :reserve, version = 1000 where journal_id = :mint+1
             and owner_id = (select owner_id from account where house = 'reserve' and coin = 'USDP')`,
    findings: [
      "chain: batch 1/12 does not match its hash: the batch, its rows or its predecessor were changed",
      "journals: journal mint+1 of batch 1/12 adds 100 to the supply of USDP, but 0 to its reserve",
      "accounts: account ffffffff-340c-8456-8264-8f1c65245801/USD has no postings",
    ],
  },
  {
    title: "an account says that its profile was deactivated",
    sql: "update account set last_deactivation = 1 where owner_id = :shop",
    findings: ["accounts: account shop/USD says that its profile was deactivated at version 1, but that was 0"],
  },
];
