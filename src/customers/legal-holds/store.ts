import type { ProfileId } from "../../ledger/accounts.ts";
import {
  amountColumn,
  changing,
  key,
  textColumn,
  timeColumn,
  uuidColumn,
  versionColumn,
} from "../../ledger/columns.ts";
import { columnsOf, type Key, keyOf, type SqlRecord, type StateRow, stateTable } from "../../ledger/tables.ts";
import type { Amount } from "../../money/amount.ts";
import type { AssetCode } from "../../money/asset.ts";
import type { Queryable } from "../../postgres/database.ts";
import type { Instant } from "../../std/clock.ts";
import type { Uuid } from "../../std/id.ts";
import type { CustomerId } from "../customer-id.ts";

/** Placed, and then perhaps lifted. A lifted hold never changes again. */
export interface LegalHold extends StateRow {
  /** Even. Also the id of the journal that holds the money. */
  readonly id: Uuid;
  readonly profileId: ProfileId;
  readonly customerId: CustomerId;
  readonly asset: AssetCode;
  readonly amount: Amount;
  readonly refId: string | undefined;
  readonly reason: string;
  /** The operator. */
  readonly placedBy: string;
  readonly createdAt: Instant;
  readonly liftedBy: string | undefined;
  readonly liftedAt: Instant | undefined;
}

export const legalHoldTable = stateTable<LegalHold>({
  name: "legal_hold",
  columns: {
    profileId: key(uuidColumn("profile_id")),
    id: key(uuidColumn("id")),
    customerId: uuidColumn("customer_id"),
    asset: textColumn("asset"),
    amount: amountColumn("amount"),
    refId: textColumn("ref_id"),
    reason: textColumn("reason"),
    placedBy: textColumn("placed_by"),
    createdAt: timeColumn("created_at"),
    liftedBy: changing(textColumn("lifted_by")),
    liftedAt: changing(timeColumn("lifted_at")),
    version: versionColumn,
  },
  digested: true,
  keyOf: (row) => `${row.profileId}/${row.id}`,
  keyValues: (text) => text.split("/"),
});

export function legalHoldKey({ profileId, id }: Pick<LegalHold, "profileId" | "id">): Key {
  return keyOf(legalHoldTable, `${profileId}/${id}`);
}

export async function findLegalHold(
  database: Queryable,
  profileId: ProfileId,
  id: Uuid,
): Promise<LegalHold | undefined> {
  const [row] = await database.rows<SqlRecord>(
    `select ${columnsOf(legalHoldTable)} from legal_hold where profile_id = $1 and id = $2`,
    [profileId, id],
  );
  return row && legalHoldTable.read(row);
}

/** Whose hold it is. Reads all holds, of which there are few. */
export async function findHeldProfile(database: Queryable, id: Uuid): Promise<ProfileId | undefined> {
  const [row] = await database.rows<{ profile_id: ProfileId }>("select profile_id from legal_hold where id = $1", [id]);
  return row?.profile_id;
}
