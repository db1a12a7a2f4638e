/**
 * What only a checkpoint shows: the ledger is sound in itself afterwards. `remade`: all hashes are recomputed to
 * fit. The batch that is named is the first of its slot that is known from outside: the checkpoint's head. Which one
 * before it was changed nobody can know, because nothing of those was noted elsewhere.
 */
import type { Tampering } from "./tampering.ts";

export interface CheckpointTampering extends Tampering {
  readonly remade: boolean;
}

/** Takes the last batch away, a transfer, as if it had never been. */
const CUT_OFF = `
  update account a set available = p.available, at = p.at, version = p.version
    from posting p join posting gone on gone.batch = 44
     and gone.owner_id = p.owner_id and gone.asset = p.asset and gone.version = p.version + 1
   where a.owner_id = p.owner_id and a.asset = p.asset;
  delete from posting where batch = 44;
  delete from transfer where batch = 44;
  delete from batch where n = 44;`;

const IS_MISSING = ["chain: batch 1/44 is missing, but the checkpoint has it"];
const IS_ANOTHER = ["chain: batch 1/44 is not the batch in the checkpoint"];

export const CHECKPOINT_TAMPERINGS: readonly CheckpointTampering[] = [
  { title: "the last batch is cut off with all that it wrote", sql: CUT_OFF, remade: false, findings: IS_MISSING },
  {
    title: "the last batch is cut off, and its number declared void",
    sql: `${CUT_OFF}
          insert into batch (slot, n, hash, at, void, rows_found, rows_expected, claims_made, claims_expected, predecessor, in_time)
          select slot, n + 1, sha256(hash || convert_to('1/' || (n + 1) || '/void', 'UTF8')), at, true, 0, 0, 0, 0, 1, true
            from batch order by n desc limit 1`,
    remade: false,
    findings: IS_ANOTHER,
  },
  {
    title: "a journal is made larger on both of its sides with all that follows from it, and the slot made again",
    sql: `update posting set amount = amount + sign(amount) * 5 where journal_id = :rent;
          update posting set available = available + 5 where owner_id = :shop and asset = 'USD';
          update posting set available = available - 5 where owner_id = :treasury and asset = 'USD'
             and version >= (select version from posting where journal_id = :rent and owner_id = :treasury);
          update account set available = available + 5 where owner_id = :shop and asset = 'USD';
          update account set available = available - 5 where owner_id = :treasury and asset = 'USD';
          update transfer set amount = 30 where id = :rent`,
    remade: true,
    findings: IS_ANOTHER,
  },
  {
    title: "the metadata of a transfer is changed, and the slot made again",
    sql: `update transfer set from_metadata = '{"a": "b"}' where id = :rent`,
    remade: true,
    findings: IS_ANOTHER,
  },
  {
    title: "a deposit's time is set back in its batch, its postings and its record, and the slot made again",
    sql: `update batch set at = at - interval '1 hour' where n = 6;
          update posting set at = b.at from batch b where b.n = 6 and batch = 6;
          update transfer set created_at = created_at - interval '1 hour' where batch = 6`,
    remade: true,
    findings: IS_ANOTHER,
  },
  {
    title: "two batches change places, and the slot is made again",
    sql: `update batch set n = 100 where n = 2; update batch set n = 2 where n = 3; update batch set n = 3 where n = 100;
          update profile set batch = 5 - batch where batch in (2, 3)`,
    remade: true,
    findings: IS_ANOTHER,
  },
  {
    title: "everything is taken away",
    sql: [
      ..."posting, transfer, execution, orders, pending_order, booked_order, conversion, external_transfer, legal_hold, customer_volume, webhook_disabling, configuration_write, profile, claim, account, batch"
        .split(", ")
        .map((table) => `delete from ${table}`),
      "update market set version = 1, slot = null, batch = null",
    ].join(";"),
    remade: false,
    findings: IS_MISSING,
  },
];
