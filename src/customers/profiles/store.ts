import type { ProfileId } from "../../ledger/accounts.ts";
import { changing, countColumn, key, textColumn, timeColumn, uuidColumn, versionColumn } from "../../ledger/columns.ts";
import { columnsOf, type SqlRecord, type StateRow, stateTable } from "../../ledger/rows.ts";
import { type Queryable, sqlTime } from "../../postgres/database.ts";
import { must } from "../../std/assert.ts";
import type { Instant } from "../../std/clock.ts";
import type { CustomerId } from "../customer-id.ts";

export interface Profile extends StateRow {
  readonly id: ProfileId;
  readonly customerId: CustomerId;
  readonly kind: "DEFAULT" | "NORMAL";
  readonly nickname: string;
  readonly description: string | undefined;
  readonly status: "ACTIVE" | "INACTIVE";
  /** The number of open orders and CREATED conversions of other profiles that will pay into this one. */
  readonly incomingCount: number;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
}

export const profileTable = stateTable<Profile>({
  name: "profile",
  columns: {
    id: key(uuidColumn("id")),
    customerId: uuidColumn("customer_id"),
    kind: textColumn("kind", "profile_kind"),
    createdAt: timeColumn("created_at"),
    nickname: changing(textColumn("nickname")),
    description: changing(textColumn("description")),
    status: changing(textColumn("status", "profile_status")),
    incomingCount: changing(countColumn("awaited")),
    updatedAt: changing(timeColumn("updated_at")),
    seq: versionColumn,
  },
  digested: true,
  keyOf: (row) => row.id,
  keyValues: (id) => [id],
});

const COLUMNS = columnsOf(profileTable);

export async function findProfile(
  database: Queryable,
  customerId: CustomerId,
  id: ProfileId,
): Promise<Profile | undefined> {
  const [row] = await database.rows<SqlRecord>(`select ${COLUMNS} from profile where id = $1 and customer_id = $2`, [
    id,
    customerId,
  ]);
  return row && profileTable.read(row);
}

/** Every customer has one, from its creation. */
export async function findDefaultProfile(database: Queryable, customerId: CustomerId): Promise<Profile> {
  const [row] = await database.rows<SqlRecord>(
    `select ${COLUMNS} from profile where customer_id = $1 and kind = 'DEFAULT'`,
    [customerId],
  );
  return profileTable.read(must(row, `customer ${customerId} has a default profile`));
}

export interface ProfileFilter {
  readonly customerId: CustomerId;
  readonly ids?: readonly string[] | undefined;
  readonly nicknamePrefix?: string | undefined;
  /** Bounds on the creation time: `createdFrom` inclusive, `createdBefore` exclusive. */
  readonly createdFrom?: Instant | undefined;
  readonly createdBefore?: Instant | undefined;
  readonly order: "ASC" | "DESC";
  /** The last profile of the previous page. */
  readonly after?: { readonly createdAt: Instant; readonly id: string } | undefined;
  readonly limit: number;
}

/** By creation time and id: ids alone do not suffice, because the operator may have chosen them. */
export async function listProfiles(database: Queryable, filter: ProfileFilter): Promise<Profile[]> {
  const ascending = filter.order === "ASC";
  const rows = await database.rows<SqlRecord>(
    `select ${COLUMNS} from profile
      where customer_id = $1
        and ($2::uuid[] is null or id = any($2))
        and ($3::text is null or starts_with(nickname, $3))
        and ($4::timestamptz is null or created_at >= $4)
        and ($5::timestamptz is null or created_at < $5)
        and ($7::uuid is null or (created_at, id) ${ascending ? ">" : "<"} ($6, $7))
      order by created_at ${ascending ? "asc, id asc" : "desc, id desc"} limit $8`,
    [
      filter.customerId,
      filter.ids ?? null,
      filter.nicknamePrefix ?? null,
      sqlTime(filter.createdFrom),
      sqlTime(filter.createdBefore),
      sqlTime(filter.after?.createdAt),
      filter.after?.id ?? null,
      filter.limit,
    ],
  );
  return rows.map(profileTable.read);
}
