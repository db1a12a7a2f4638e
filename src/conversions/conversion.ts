import type { CustomerId } from "../customers/customer-id.ts";
import type { ProfileId } from "../ledger/accounts.ts";
import { type Annotations, annotationColumns, END_USER, METADATA } from "../ledger/annotations.ts";
import { amountColumn, changing, key, textColumn, timeColumn, uuidColumn, versionColumn } from "../ledger/columns.ts";
import { type Key, keyOf, type StateRow, stateTable } from "../ledger/tables.ts";
import type { Amount } from "../money/amount.ts";
import type { AssetCode } from "../money/asset.ts";
import type { Brand } from "../std/brand.ts";
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";

export type ConversionId = Brand<Uuid, "ConversionId">;

export const CONVERSION_STATUSES = ["CREATED", "SETTLED", "CANCELLED"] as const;
export type ConversionStatus = (typeof CONVERSION_STATUSES)[number];

export const CONVERSION_ANNOTATIONS = { ...END_USER, metadata: METADATA };

/** CREATED -> SETTLED or CANCELLED. A closed conversion never changes again. */
export interface Conversion extends StateRow {
  readonly id: ConversionId;
  readonly profileId: ProfileId;
  readonly customerId: CustomerId;
  readonly sourceAsset: AssetCode;
  readonly targetAsset: AssetCode;
  readonly amount: Amount;
  readonly recipientProfileId: ProfileId | undefined;
  readonly refId: string | undefined;
  readonly annotations: Annotations<typeof CONVERSION_ANNOTATIONS>;
  readonly status: ConversionStatus;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly settledAt: Instant | undefined;
  readonly cancelledAt: Instant | undefined;
}

export const conversionTable = stateTable<Conversion>({
  name: "conversion",
  columns: {
    profileId: key(uuidColumn("profile_id")),
    id: key(uuidColumn("id")),
    customerId: uuidColumn("customer_id"),
    sourceAsset: textColumn("source_asset"),
    targetAsset: textColumn("target_asset"),
    amount: amountColumn("amount"),
    recipientProfileId: uuidColumn("recipient_profile_id"),
    refId: textColumn("ref_id"),
    annotations: annotationColumns(CONVERSION_ANNOTATIONS),
    createdAt: timeColumn("created_at"),
    status: changing(textColumn("status", "conversion_status")),
    updatedAt: changing(timeColumn("updated_at")),
    settledAt: changing(timeColumn("settled_at")),
    cancelledAt: changing(timeColumn("cancelled_at")),
    version: versionColumn,
  },
  digested: true,
  keyOf: (row) => `${row.profileId}/${row.id}`,
  keyValues: (text) => text.split("/"),
});

export function conversionKey({ profileId, id }: Pick<Conversion, "profileId" | "id">): Key {
  return keyOf(conversionTable, `${profileId}/${id}`);
}
