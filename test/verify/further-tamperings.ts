/** Each of these is noticed by a check, or by a branch of one, that no other kind of tampering needs. */
import type { Tampering } from "./tampering.ts";

export const FURTHER_TAMPERINGS: readonly Tampering[] = [
  {
    title: "two batches change places",
    sql: `update batch set n = 1000 where n = 9;
          update batch set n = 9 where n = 10;
          update batch set n = 10 where n = 1000`,
    findings: ["chain: batch 1/9 does not match its hash: the batch, its rows or its predecessor were changed"],
  },
  {
    title: "both directions of a transfer are turned round",
    sql: `update transfer set direction = case direction when 'DEBIT' then cast('CREDIT' as direction) else 'DEBIT' end
           where id in (:rent, :rent+1)`,
    findings: [
      "chain: batch 1/10 does not match its hash: the batch, its rows or its predecessor were changed",
      "transfers: transfer treasury/rent differs from its counterpart rent+1 in direction",
    ],
  },
  {
    title: "a credit is declared a debit",
    sql: "update transfer set direction = 'DEBIT' where id = :rent+1",
    findings: [
      "chain: batch 1/10 does not match its hash: the batch, its rows or its predecessor were changed",
      "transfers: transfer treasury/rent differs from its counterpart rent+1 in direction",
    ],
  },
  {
    title: "one side of a transfer is declared internal",
    sql: "update transfer set type = 'INTERNAL_TRANSFER_CREDIT' where id = :rent+1",
    findings: [
      "chain: batch 1/10 does not match its hash: the batch, its rows or its predecessor were changed",
      "transfers: transfer treasury/rent differs from its counterpart rent+1 in type",
    ],
  },
  {
    title: "one side of a transfer is of another asset",
    sql: "update transfer set asset = 'BTC' where id = :rent+1",
    findings: [
      "chain: batch 1/10 does not match its hash: the batch, its rows or its predecessor were changed",
      "transfers: transfer treasury/rent differs from its counterpart rent+1 in asset",
    ],
  },
  {
    title: "what created a conversion is removed",
    sql: "delete from posting where journal_id = :redeem",
    findings: [
      "chain: batch 1/15 does not match its hash: the batch, its rows or its predecessor were changed",
      "conversions: conversion treasury/redeem was created in batch 1/15, which has no journal for it",
      "accounts: account treasury/PYUSD has version 7, but its last posting has 5",
    ],
  },
  {
    title: "what closed a conversion is removed",
    sql: "delete from posting where journal_id = :mint+1",
    findings: [
      "chain: batch 1/12 does not match its hash: the batch, its rows or its predecessor were changed",
      "conversions: conversion treasury/mint was closed in batch 1/12, which has no journal for it",
      "accounts: account 00000000-0000-8000-8000-000000000201/USD has version 2, but its last posting has 1",
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
    sql: `insert into execution select :shop, id, customer_id, order_id, market, side, amount, price, commission, rebate,
                                   account_id, executed_at, slot, batch from execution where id = :match`,
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
      "executions: execution treasury/match+1 differs from its order in market or side",
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
      "chain: batch 1/19 does not match its hash: the batch, its rows or its predecessor were changed",
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
          insert into account select '00000000-0000-8000-8000-000000000101', 'PYUSD', 'world', 5, 0, 0, at, 1
            from account where owner_id = :shop`,
    findings: [
      "accounts: account 00000000-0000-8000-8000-000000000101/PYUSD has no postings",
      "reserve: asset PYUSD is held by the world account: 5",
    ],
  },
  {
    title: "coins are taken from a profile for fees",
    sql: `update account set available = available - 5 where owner_id = :treasury and asset = 'PYUSD';
          insert into account select '00000000-0000-8000-8000-000000000401', 'PYUSD', 'fees', 5, 0, 0, at, 1
            from account where owner_id = :shop`,
    findings: [
      "accounts: account 00000000-0000-8000-8000-000000000401/PYUSD has no postings",
      "reserve: asset PYUSD has 495 held by profiles, but 500 issued",
    ],
  },
  {
    title: "what is no stablecoin is issued",
    sql: `update account set available = available + 5 where owner_id = :desk;
          insert into account select '00000000-0000-8000-8000-000000000301', 'BTC', 'issuance', -5, 0, 0, at, 1
            from account where owner_id = :shop`,
    findings: [
      "accounts: account 00000000-0000-8000-8000-000000000301/BTC has no postings",
      "reserve: asset BTC is issued: 5, but is not a stablecoin",
    ],
  },
  {
    title: "what is no USD is put into the reserve",
    sql: `update account set available = available - 5 where owner_id = :desk;
          insert into account select '00000000-0000-8000-8000-000000000201', 'BTC', 'reserve', 5, 0, 0, at, 1
            from account where owner_id = :shop`,
    findings: [
      "accounts: account 00000000-0000-8000-8000-000000000201/BTC has no postings",
      "reserve: asset BTC is in the reserve: 5",
    ],
  },
  {
    title: "fees are spent that were never taken",
    sql: `alter table account drop constraint not_overdrawn;
          update account set available = available - 65 where house = 'fees';
          update account set available = available + 65 where owner_id = :shop;
          alter table account add constraint not_overdrawn
            check (available >= 0 or house in ('world', 'reserve', 'issuance')) not valid`,
    findings: [
      "accounts: account 00000000-0000-8000-8000-000000000401/USD has -1 available, but its last posting leaves 64",
      "reserve: asset USD has fees of -1",
    ],
  },
  {
    title: "an asset is invented",
    sql: `insert into account select '00000000-0000-8000-8000-000000000101', 'XYZ', 'world', -5, 0, 0, at, 1
            from account where owner_id = :shop;
          insert into account select owner_id, 'XYZ', null, 5, 0, 0, at, 1 from account where owner_id = :shop`,
    findings: [
      "accounts: account 00000000-0000-8000-8000-000000000101/XYZ has no postings",
      "reserve: asset XYZ is not in the catalogue",
    ],
  },
];
