/**
 * When the service itself disables a webhook its customer is told by an event, and events follow from the chain alone. So
 * a command of the lane records it, after the webhook was disabled: if the process dies between the two, the next one that
 * delivers finds the webhook without its record.
 */
import { accept } from "../../../ledger/decision.ts";
import { change } from "../../../ledger/tables.ts";
import type { Lane } from "../../../ledger/writer/lane.ts";
import type { Queryable } from "../../../postgres/database.ts";
import { listUnrecorded, type WebhookDisabling, webhookDisablingKey, webhookDisablingTable } from "./store.ts";

export { type WebhookDisabling, webhookDisablingTable } from "./store.ts";

/** Recorded at once; there are few. */
const MOST_AT_ONCE = 100;

interface Parts {
  readonly database: Queryable;
  readonly lane: Pick<Lane, "execute">;
}

/**
 * Records every webhook that the service has disabled and that has no record of it. One that was recorded already is not
 * recorded again, whichever process does it.
 *
 * @returns what was recorded, for the log
 */
export async function recordDisablings({ database, lane }: Parts): Promise<WebhookDisabling[]> {
  const recorded: WebhookDisabling[] = [];
  for (;;) {
    const found = await listUnrecorded(database, MOST_AT_ONCE);
    await Promise.all(found.map((disabling) => record(lane, disabling)));
    recorded.push(...found);
    if (found.length < MOST_AT_ONCE) return recorded;
  }
}

async function record(lane: Parts["lane"], disabling: WebhookDisabling): Promise<void> {
  const key = webhookDisablingKey(disabling);
  await lane.execute<undefined, never>({
    queueKey: "house",
    caller: { house: "webhooks" },
    dependsOn: [key],
    decide: (state) => {
      const last = state.get(webhookDisablingTable, key.key);
      if (last?.disabledAt === disabling.disabledAt) return accept(undefined, {});
      return accept(undefined, { states: [change(webhookDisablingTable, disabling)] });
    },
  });
}
