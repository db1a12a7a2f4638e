/** What can be done to the ledger's own tables: postings, accounts, batches. */
import type { Tampering } from "./tampering.ts";

export const LEDGER_TAMPERINGS: readonly Tampering[] = [
  {
    title: "an amount of a posting is changed",
    sql: "update posting set amount = -26 where journal_id = :rent and amount < 0",
    findings: [
      "chain: batch 1/10 does not match its hash: the batch, its rows or its predecessor were changed",
      "journals: journal rent of batch 1/10 sums to -1 USD, not to zero",
      "transfers: transfer treasury/shop/rent requires -25 USD to available of treasury, 25 USD to available of shop, but its journal posts -26 USD to available of treasury, 25 USD to available of shop",
      "accounts: posting treasury/USD/3 leaves available at 99965, but it was 99990 and is changed by -26",
    ],
  },
  {
    title: "a posting and what it left are changed together",
    sql: `update posting set amount = amount + 5, available = available + 5 where journal_id = :rent and owner_id = :shop;
          update account set available = available + 5 where owner_id = :shop`,
    findings: [
      "chain: batch 1/10 does not match its hash: the batch, its rows or its predecessor were changed",
      "journals: journal rent of batch 1/10 sums to 5 USD, not to zero",
      "transfers: transfer treasury/shop/rent requires -25 USD to available of treasury, 25 USD to available of shop, but its journal posts -25 USD to available of treasury, 30 USD to available of shop",
      "reserve: asset USD sums to 5 over all accounts, not to zero",
    ],
  },
  {
    title: "a journal is made larger on both of its sides, and its transfer too",
    sql: `update posting set amount = amount + sign(amount) * 5, available = available + sign(amount) * 5 where journal_id = :rent;
          update posting set available = available - 5 where owner_id = :treasury and asset = 'USD'
             and version > (select version from posting where journal_id = :rent and owner_id = :treasury);
          update account set available = available + 5 where owner_id = :shop and asset = 'USD';
          update account set available = available - 5 where owner_id = :treasury and asset = 'USD';
          update transfer set amount = 30 where id = :rent`,
    findings: ["chain: batch 1/10 does not match its hash: the batch, its rows or its predecessor were changed"],
  },
  {
    title: "two postings of an account are swapped",
    sql: `update posting set version = 100 where owner_id = :treasury and asset = 'USD' and version = 2;
          update posting set version = 2 where owner_id = :treasury and asset = 'USD' and version = 3;
          update posting set version = 3 where owner_id = :treasury and asset = 'USD' and version = 100`,
    findings: [
      "chain: batch 1/9 does not match its hash: the batch, its rows or its predecessor were changed",
      "accounts: posting treasury/USD/2 leaves available at 99965, but it was 100000 and is changed by -25",
    ],
  },
  {
    title: "a posting is removed from the middle of an account",
    sql: "delete from posting where owner_id = :treasury and asset = 'USD' and version = 2",
    findings: [
      "chain: batch 1/9 does not match its hash: the batch, its rows or its predecessor were changed",
      "journals: journal payout of batch 1/9 sums to 10 USD, not to zero",
      "transfers: transfer treasury/payout requires -10 USD to available of treasury, but its journal posts nothing",
      "accounts: posting treasury/USD/3 follows a gap: 2 is missing",
    ],
  },
  {
    title: "the last posting of an account is removed, and the account set back",
    sql: `delete from posting where owner_id = :shop;
          delete from account where owner_id = :shop`,
    findings: [
      "chain: batch 1/10 does not match its hash: the batch, its rows or its predecessor were changed",
      "journals: journal rent of batch 1/10 sums to -25 USD, not to zero",
      "transfers: transfer treasury/shop/rent requires -25 USD to available of treasury, 25 USD to available of shop, but its journal posts -25 USD to available of treasury",
      "reserve: asset USD sums to -25 over all accounts, not to zero",
    ],
  },
  {
    title: "a posting is added beside all batches",
    sql: `insert into posting (owner_id, asset, version, journal_id, cause, part, amount, available, trading, pending, at, slot, batch)
          select owner_id, asset, 2, journal_id, cause, part, 7, available + 7, trading, pending, at, slot, 999
            from posting where owner_id = :shop;
          update account set available = available + 7, version = 2 where owner_id = :shop`,
    findings: [
      "append-only rows: posting has 1 row of batch 1/999, which does not exist",
      "reserve: asset USD sums to 7 over all accounts, not to zero",
    ],
  },
  {
    title: "a posting is moved to a void batch",
    sql: "update posting set batch = 0 where journal_id = :rent",
    findings: [
      "chain: batch 1/10 does not match its hash: the batch, its rows or its predecessor were changed",
      "transfers: journal rent of batch 1/0 belongs to a transfer that is missing",
      "append-only rows: posting has 2 rows of batch 1/0, which is void",
    ],
  },
  {
    title: "a posting is moved to another journal",
    sql: "update posting set journal_id = :mint where journal_id = :rent and owner_id = :shop",
    findings: [
      "chain: batch 1/10 does not match its hash: the batch, its rows or its predecessor were changed",
      "journals: journal rent of batch 1/10 sums to -25 USD, not to zero",
      "transfers: transfer treasury/shop/rent requires -25 USD to available of treasury, 25 USD to available of shop, but its journal posts -25 USD to available of treasury",
    ],
  },
  {
    title: "the time of a posting is set back",
    sql: "update posting set at = at - interval '1 day' where journal_id = :payout and owner_id = :treasury",
    findings: [
      "chain: batch 1/9 does not match its hash: the batch, its rows or its predecessor were changed",
      "accounts: posting treasury/USD/2 is earlier than the posting before it",
    ],
  },
  {
    title: "a balance is raised",
    sql: "update account set available = available + 1 where owner_id = :shop",
    findings: [
      "accounts: account shop/USD has 26 available, but its last posting leaves 25",
      "reserve: asset USD sums to 1 over all accounts, not to zero",
    ],
  },
  {
    title: "a balance is moved from one part to another",
    sql: "update account set available = available - 1, trading = trading + 1 where owner_id = :shop",
    findings: [
      "accounts: account shop/USD has 24 available, but its last posting leaves 25",
      "trading: account shop/USD has 1 trading, but 0 is held",
    ],
  },
  {
    title: "a balance is moved from one profile to another",
    sql: `update account set available = available - 1 where owner_id = :treasury and asset = 'USD';
          update account set available = available + 1 where owner_id = :shop`,
    findings: ["accounts: account treasury/USD has 72267.75 available, but its last posting leaves 72268.75"],
  },
  {
    title: "the number of an account is changed",
    sql: "update account set version = version + 1 where owner_id = :shop",
    findings: ["accounts: account shop/USD has version 2, but its last posting has 1"],
  },
  {
    title: "an account is removed",
    sql: "delete from account where owner_id = :desk",
    findings: [
      "accounts: account desk/BTC is missing, but it has postings",
      "reserve: asset BTC sums to -9 over all accounts, not to zero",
      "trading: account desk/BTC is missing, but has trading amounts",
    ],
  },
  {
    title: "one of a profile's accounts is removed",
    sql: "delete from account where owner_id = :treasury and asset = 'PYUSD'",
    findings: [
      "accounts: account treasury/PYUSD is missing, but it has postings",
      "reserve: asset PYUSD sums to -500 over all accounts, not to zero",
      "pending: account treasury/PYUSD is missing, but has pending amounts",
    ],
  },
  {
    title: "an account without postings is added",
    sql: `insert into account (owner_id, asset, available, trading, pending, at, last_deactivation, version)
          select owner_id, 'EUR', 5, 0, 0, at, 0, 1 from account where owner_id = :shop`,
    findings: [
      "accounts: account shop/EUR has no postings",
      "reserve: asset EUR sums to 5 over all accounts, not to zero",
    ],
  },
  {
    title: "a profile's account is marked as the house's",
    sql: `alter table account drop constraint if exists owner_is_house_from_ffffffff;
          update account set house = 'reserve', may_be_negative = true where owner_id = :shop`,
    findings: [
      "journals: journal rent of batch 1/10 adds 0 to the supply of no coin, but 25 to its reserve",
      "accounts: account shop/USD is marked as reserve, but its owner is another",
      "reserve: reserve without a coin holds 25, but the outstanding supply is 0",
    ],
  },
  {
    title: "a batch is removed",
    sql: "delete from batch where n = 9",
    findings: [
      "chain: batch 1/9 is missing: the next one is batch 1/10",
      "append-only rows: posting has 2 rows of batch 1/9, which does not exist",
    ],
  },
  {
    title: "the first batch is removed",
    sql: "delete from batch where n = 0",
    findings: ["chain: batch 1/0 is missing: the next one is batch 1/1"],
  },
  {
    title: "the hash of a batch is changed",
    sql: "update batch set hash = sha256('x') where n = 9",
    findings: ["chain: batch 1/9 does not match its hash: the batch, its rows or its predecessor were changed"],
  },
  {
    title: "the time of a batch is changed",
    sql: "update batch set at = at + interval '1 second' where n = 9",
    findings: ["chain: batch 1/9 does not match its hash: the batch, its rows or its predecessor were changed"],
  },
  {
    title: "a batch is declared void",
    sql: `alter table batch drop constraint if exists void_decides_nothing;
          update batch set void = true where n = 9`,
    findings: [
      "chain: batch 1/9 does not match its hash: the batch, its rows or its predecessor were changed",
      "append-only rows: posting has 2 rows of batch 1/9, which is void",
    ],
  },
  {
    title: "what a batch says about its rows is emptied",
    sql: "update batch set changes = '{}' where n = (select batch from conversion where id = :mint)",
    findings: [
      "chain: batch 1/12 does not match its hash: the batch, its rows or its predecessor were changed",
      "conversions: journal mint+1 of batch 1/12 belongs to a conversion that the batch did not write",
      "changing rows: conversion treasury/mint does not match batch 1/12, which it refers to",
    ],
  },
  {
    title: "what a batch says about its rows is made nonsense",
    sql: `update batch set changes = '{"conversion": [null, 7, {"key": "x", "version": 1}, {"key": {"a": "b"}, "values": [], "version": 1},
                                                      {"key": {"a": "b"}, "values": {}, "version": 1, "digest": 1, "callers": 1}],
                                       "orders": 7, "profile": null}'
           where n = (select batch from conversion where id = :mint)`,
    findings: [
      "chain: batch 1/12 does not match its hash: the batch, its rows or its predecessor were changed",
      "conversions: journal mint+1 of batch 1/12 belongs to a conversion that the batch did not write",
      "changing rows: conversion treasury/mint does not match batch 1/12, which it refers to",
    ],
  },
  {
    title: "a write is put down to another client",
    sql: `update batch set callers = '[{"client": "somebody else"}]' where n = 10`,
    findings: ["chain: batch 1/10 does not match its hash: the batch, its rows or its predecessor were changed"],
  },
  {
    title: "who asked for a batch is struck out",
    sql: `update batch set callers = null where n = 10;
          update transfer set caller = null where id = :rent`,
    findings: ["chain: batch 1/10 does not match its hash: the batch, its rows or its predecessor were changed"],
  },
  {
    title: "a transfer is put down to another caller of its batch",
    sql: "update transfer set caller = caller + 1 where id = :rent",
    findings: ["chain: batch 1/10 does not match its hash: the batch, its rows or its predecessor were changed"],
  },
  {
    title: "the change of a row is put down to another caller of its batch",
    sql: `update batch set changes = cast(replace(cast(changes as text), '[0]', '[1]') as json)
           where n = (select batch from conversion where id = :mint)`,
    findings: ["chain: batch 1/12 does not match its hash: the batch, its rows or its predecessor were changed"],
  },
  {
    title: "a batch is added behind the last one",
    sql: `insert into batch (slot, n, hash, at, void, rows_found, rows_expected, claims_made, claims_expected, predecessor, in_time, not_ahead)
          select slot, max(n) + 1, sha256('x'), max(at), false, 0, 0, 0, 0, 1, true, true from batch group by slot`,
    findings: ["chain: batch 1/44 does not match its hash: the batch, its rows or its predecessor were changed"],
  },
  {
    title: "the reserve is emptied into the world",
    sql: `update account set available = available - 1 where owner_id = :reserve;
          update account set available = available + 1 where house = 'world' and asset = 'USD'`,
    findings: [
      "accounts: account world/USD has -101492 available, but its last posting leaves -101493",
      "reserve: reserve PYUSD holds 499, but the outstanding supply is 500",
    ],
  },
  {
    title: "coins are issued to the world",
    sql: `insert into account (owner_id, asset, house, may_be_negative, available, trading, pending, at, last_deactivation, version)
            select :world, 'PYUSD', 'world', true, 5, 0, 0, at, 0, 1
            from account where owner_id = :shop`,
    findings: [
      "accounts: account world/PYUSD has no postings",
      "reserve: asset PYUSD sums to 5 over all accounts, not to zero",
    ],
  },
];
