import { changing, key, textColumn, timeColumn, uuidColumn, versionColumn } from "../../../ledger/columns.ts";
import { type Key, keyOf, type SqlRecord, type StateRow, stateTable } from "../../../ledger/tables.ts";
import type { Queryable } from "../../../postgres/database.ts";
import type { Instant } from "../../../std/clock.ts";
import type { CustomerId } from "../../customer-id.ts";
import type { DisablingReason, WebhookId } from "../webhook.ts";

/** That the service disabled a webhook, and how it was set then. Its next time is the next version. */
export interface WebhookDisabling extends StateRow {
  readonly customerId: CustomerId;
  /** The webhook's. */
  readonly id: WebhookId;
  readonly name: string;
  readonly url: string;
  readonly reason: DisablingReason;
  readonly disabledAt: Instant;
}

/** All but the key is in the chain, so that an event has it even when the webhook was changed or disabled again. */
export const webhookDisablingTable = stateTable<WebhookDisabling>({
  name: "webhook_disabling",
  columns: {
    customerId: key(uuidColumn("customer_id")),
    id: key(uuidColumn("id")),
    name: changing(textColumn("name")),
    url: changing(textColumn("url")),
    reason: changing(textColumn("reason")),
    disabledAt: changing(timeColumn("disabled_at")),
    version: versionColumn,
  },
  digested: true,
  keyOf: (row) => `${row.customerId}/${row.id}`,
  keyValues: (text) => text.split("/"),
});

export function webhookDisablingKey({ customerId, id }: Pick<WebhookDisabling, "customerId" | "id">): Key {
  return keyOf(webhookDisablingTable, `${customerId}/${id}`);
}

/** Webhooks that the service has disabled and whose customers were not told, the longest disabled first. */
export async function listUnrecorded(database: Queryable, limit: number): Promise<WebhookDisabling[]> {
  const rows = await database.rows<SqlRecord>(
    `select w.customer_id, w.id, w.name, w.url, w.disabled_reason as reason, w.disabled_at, 0 as version
       from webhook w
            left join webhook_disabling d on d.customer_id = w.customer_id and d.id = w.id
      where w.disabled_reason in ('gone', 'failing') and w.deleted_at is null
        and d.disabled_at is distinct from w.disabled_at
      order by w.disabled_at limit $1`,
    [limit],
  );
  return rows.map(webhookDisablingTable.read);
}
