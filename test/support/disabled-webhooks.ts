import type { CustomerId } from "../../src/customers/customer-id.ts";
import { recordDisablings } from "../../src/customers/webhooks/disablings/disablings.ts";
import type { DisablingReason } from "../../src/customers/webhooks/webhook.ts";
import type { Lane } from "../../src/ledger/writer/lane.ts";
import { type Queryable, sqlTime } from "../../src/postgres/database.ts";
import { systemClock } from "../../src/std/clock.ts";
import { untilNextMillisecond } from "./until.ts";

/** A webhook of this id that the service disables now, again if it is there already. */
export async function disableWebhook(
  { database, lane }: { readonly database: Queryable; readonly lane: Lane },
  { id, customerId, name }: { readonly id: string; readonly customerId: CustomerId; readonly name: string },
  reason: DisablingReason,
): Promise<void> {
  // Once disabled it is disabled again only at another time.
  await untilNextMillisecond();
  await database.rows(
    `insert into webhook (id, customer_id, name, url, types, body, delivery_order, deliveries_per_second,
                          disabled_reason, disabled_at, created_at, updated_at, version)
     values ($1, $2, $3, 'https://acme.example/events', '{*}', 'thin', 'per_object', 10, $4, $5, $5, $5, 1)
     on conflict (id) do update set disabled_reason = $4, disabled_at = $5, version = webhook.version + 1`,
    [id, customerId, name, reason, sqlTime(systemClock.now())],
  );
  await recordDisablings({ database, lane });
}
