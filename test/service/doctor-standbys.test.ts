import { expect, onTestFinished, test } from "vitest";
import { readStandbys } from "../../src/service/doctor/standbys.ts";
import { testDatabase } from "../support/database.ts";

test("of several standbys the one that is furthest behind counts, and receivers of backups are none", async () => {
  const db = await testDatabase();
  onTestFinished(() => db.close());
  const found = await db.owner.transaction(async (transaction) => {
    await transaction.rows("set local search_path = pg_temp, pg_catalog");
    await transaction.rows(
      `create temp view pg_stat_replication as
         select * from (values (1, 'near', 'streaming', 'sync', interval '0.5 s'), (2, 'far', 'streaming', 'async', interval '40 s'),
                               (3, 'caught up', 'streaming', 'quorum', null), (4, 'pg_basebackup', 'backup', 'async', interval '99 s'))
                as r (pid, application_name, state, sync_state, replay_lag)`,
    );
    const standbys = await readStandbys(transaction);
    await transaction.rows("drop view pg_stat_replication");
    return standbys;
  });
  expect(found).toEqual({ names: "", connected: 3, confirming: 2, behindSeconds: 40 });
});
