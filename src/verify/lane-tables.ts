/**
 * Every table that lanes write. A table with a column `batch` that is missing here fails test/verify/every-column.test.ts.
 * From this list verify, the check of the service's privileges, the tampering tests and the simulation take theirs.
 */
import { conversionTable } from "../conversions/conversion.ts";
import { legalHoldTable } from "../customers/legal-holds/store.ts";
import { profileTable } from "../customers/profiles/profiles.ts";
import { webhookDisablingTable } from "../customers/webhooks/disablings/disablings.ts";
import { customerVolumeTable } from "../exchange/customer-volume.ts";
import { executionTable } from "../exchange/execution.ts";
import { marketHeadTable, marketTable } from "../exchange/market-state.ts";
import { orderTable } from "../exchange/order.ts";
import { accountTable, postingTable } from "../ledger/accounts.ts";
import { configurationWriteTable } from "../ledger/configuration-writes.ts";
import type { LaneTables } from "../ledger/tables.ts";
import { externalTransferTable } from "../transfers/external-transfer.ts";
import { transferTable } from "../transfers/transfer.ts";

export const LANE_TABLES: LaneTables = {
  records: [executionTable, postingTable, transferTable],
  states: [
    ...[
      accountTable,
      configurationWriteTable,
      conversionTable,
      customerVolumeTable,
      externalTransferTable,
      legalHoldTable,
      marketTable,
    ],
    ...[marketHeadTable, orderTable, profileTable, webhookDisablingTable],
  ],
};

/** What the service may add to, and never change or remove. */
export const APPEND_ONLY: readonly string[] = [
  "batch",
  "event_cut",
  ...LANE_TABLES.records.map(({ name }) => name),
].sort();
