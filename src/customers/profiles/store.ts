import type { ProfileId } from "../../ledger/accounts.ts";
import {
  bigintColumn,
  changing,
  countColumn,
  key,
  textColumn,
  timeColumn,
  uuidColumn,
  versionColumn,
} from "../../ledger/columns.ts";
import { columnsOf, type SqlRecord, type StateRow, stateTable } from "../../ledger/tables.ts";
import { type Queryable, sqlTime } from "../../postgres/database.ts";
import { must } from "../../std/assert.ts";
import type { Instant } from "../../std/clock.ts";
import type { Uuid } from "../../std/id.ts";
import type { CustomerId } from "../customer-id.ts";
import { allOf, type Filter, listOf, sql } from "../list-queries.ts";

export interface Profile extends StateRow {
  readonly id: ProfileId;
  readonly customerId: CustomerId;
  readonly kind: "DEFAULT" | "NORMAL";
  readonly nickname: string;
  readonly description: string | undefined;
  readonly status: "ACTIVE" | "INACTIVE";
  /** The number of open orders and CREATED conversions of other profiles that will pay into this one. */
  readonly incomingCount: number;
  /** The version that its last deactivation made; 0 if there was none. Its accounts repeat it. */
  readonly lastDeactivation: bigint;
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
    incomingCount: changing(countColumn("incoming_count")),
    lastDeactivation: changing(bigintColumn("last_deactivation")),
    updatedAt: changing(timeColumn("updated_at")),
    version: versionColumn,
  },
  digested: true,
  owner: { isActive: ({ status }) => status === "ACTIVE", lastDeactivation: (profile) => profile.lastDeactivation },
  keyOf: (row) => row.id,
  keyValues: (id) => [id],
});

const COLUMNS = columnsOf(profileTable);

export async function findProfile(
  database: Queryable,
  customerId: CustomerId,
  id: ProfileId,
): Promise<Profile | undefined> {
  const [row] = await database.rows<SqlRecord>(
    `select ${COLUMNS} from profile where id = $1 and customer_id = $2`,
    [id, customerId],
    "once",
  );
  return row && profileTable.read(row);
}

/** False only while the customer is being created, or if its creation was interrupted. */
export async function hasDefaultProfile(database: Queryable, customerId: CustomerId): Promise<boolean> {
  const found = await database.rows("select 1 from profile where customer_id = $1 and kind = 'DEFAULT'", [customerId]);
  return found.length > 0;
}

/** Every customer has one once it is created (`hasDefaultProfile`). */
export async function findDefaultProfile(database: Queryable, customerId: CustomerId): Promise<Profile> {
  const [row] = await database.rows<SqlRecord>(
    `select ${COLUMNS} from profile where customer_id = $1 and kind = 'DEFAULT'`,
    [customerId],
  );
  return profileTable.read(must(row, `customer ${customerId} has a default profile`));
}

/** Ids alone do not suffice: the operator may have chosen them. */
const BY_CREATION = {
  columns: ["created_at", "id"],
  valuesAt: ({ createdAt, id }: { readonly createdAt: Instant; readonly id: Uuid }) => [sqlTime(createdAt), id],
};

const CONDITIONS = {
  ids: (ids: readonly string[]) => sql`id = any(${ids})`,
  /** In any case. */
  nicknamePrefix: (prefix: string) => sql`starts_with(lower(nickname), lower(${prefix}::text))`,
  /** As it stands in the condition of their index, which a parameter would not match. */
  onlyActive: (_only: true) => sql`status = 'ACTIVE'`,
  createdFrom: (time: Instant) => sql`created_at >= ${sqlTime(time)}`,
  createdBefore: (time: Instant) => sql`created_at < ${sqlTime(time)}`,
};

export type ProfileFilter = Filter<typeof CONDITIONS, Parameters<typeof BY_CREATION.valuesAt>[0]>;

export const listProfiles = listOf({ table: allOf(profileTable), sortKey: BY_CREATION, conditions: CONDITIONS });
