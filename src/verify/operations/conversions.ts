/** Conversions: the batches that created and closed each one contain its journals, which moved its amount. */

import { type Conversion, conversionTable } from "../../conversions/conversion.ts";
import { type Entry, entry, type JournalCause } from "../../ledger/accounts.ts";
import { batchName, type StoredBatch } from "../../ledger/stored-batches.ts";
import { columnsOf, type SqlRecord } from "../../ledger/tables.ts";
import { negative } from "../../money/amount.ts";
import type { Database } from "../../postgres/database.ts";
import { parseUuid, siblingId, type Uuid } from "../../std/id.ts";
import type { Tally } from "../check.ts";
import type { BatchCheck } from "../ledger/chain.ts";
import { effectOn, profileEntries } from "../ledger/journals.ts";

const CAUSES = ["conversion_created", "conversion_settled", "conversion_cancelled"] as const satisfies JournalCause[];
type Cause = (typeof CAUSES)[number];

/** Reads conversions later than the batches that wrote them: only fields that cannot have changed since. */
export const conversionCheck: BatchCheck = {
  check: "conversions",
  examine: async (batches, database, tally) => {
    const byId = await readConversions(database, batches.flatMap(conversionIds));
    for (const batch of batches) {
      for (const conversion of writtenIn(batch, byId)) checkJournals(conversion, batch, tally);
      reportStrayJournals(batch, byId, tally);
    }
  },
};

function writtenIn(batch: StoredBatch, byId: ReadonlyMap<Uuid, Conversion>): Conversion[] {
  const keys = [...(batch.written.get(conversionTable.name)?.keys() ?? [])];
  return keys.flatMap((key) => byId.get(key.split("/")[1] as Uuid) ?? []);
}

function checkJournals(conversion: Conversion, batch: StoredBatch, tally: Tally): void {
  tally.examined(1);
  const { id, profileId, status } = conversion;
  const report = (message: string): void => tally.broken(`conversion ${profileId}/${id}`, message);
  const version = batch.written.get(conversionTable.name)?.get(`${profileId}/${id}`)?.version ?? 0n;
  const created = batch.journals.get(id);
  const closed = batch.journals.get(siblingId(id));
  if (version === 1n && created === undefined)
    report(`was created in ${batchName(batch)}, which has no journal for it`);
  if (version === 2n && closed === undefined) report(`was closed in ${batchName(batch)}, which has no journal for it`);
  for (const postings of [created, closed]) {
    const cause = postings?.[0]?.cause;
    if (postings === undefined || !isCause(cause)) continue;
    const required = effectOn(entriesOf(conversion, cause));
    const posted = effectOn(profileEntries(postings));
    if (cause !== "conversion_created" && cause !== `conversion_${status.toLowerCase()}`)
      report(`is ${status}, but its journal is ${cause}`);
    else if (required !== posted) report(`requires ${required}, but its journal posts ${posted}`);
  }
}

function reportStrayJournals(batch: StoredBatch, byId: ReadonlyMap<Uuid, Conversion>, tally: Tally): void {
  const written = batch.written.get(conversionTable.name);
  for (const [id, [posting]] of batch.journals) {
    if (!isCause(posting?.cause)) continue;
    const conversion = byId.get(posting.cause === "conversion_created" ? id : siblingId(id));
    if (conversion !== undefined && written?.has(conversionTable.keyOf(conversion))) continue;
    tally.broken(`journal ${id}`, `of ${batchName(batch)} belongs to a conversion that the batch did not write`);
  }
}

/** The required entries of each step, on profile accounts. */
function entriesOf(conversion: Conversion, cause: Cause): Entry[] {
  const { profileId, recipientProfileId, sourceAsset, targetAsset, amount } = conversion;
  switch (cause) {
    case "conversion_created":
      return [entry(profileId, sourceAsset, negative(amount)), entry(profileId, sourceAsset, amount, "pending")];
    case "conversion_cancelled":
      return [entry(profileId, sourceAsset, negative(amount), "pending"), entry(profileId, sourceAsset, amount)];
    case "conversion_settled":
      return [
        entry(profileId, sourceAsset, negative(amount), "pending"),
        entry(recipientProfileId ?? profileId, targetAsset, amount),
      ];
  }
}

function isCause(cause: string | undefined): cause is Cause {
  return (CAUSES as readonly (string | undefined)[]).includes(cause);
}

/** The conversions that a batch wrote. */
function conversionIds(batch: StoredBatch): { profileId: Uuid; id: Uuid }[] {
  const written = [...(batch.written.get(conversionTable.name)?.keys() ?? [])].map((key) => key.split("/"));
  return written.flatMap(([profile = "", conversion = ""]) => {
    const [profileId, id] = [parseUuid(profile), parseUuid(conversion)];
    return profileId === undefined || id === undefined ? [] : [{ profileId, id }];
  });
}

async function readConversions(
  database: Database,
  keys: readonly { readonly profileId: Uuid; readonly id: Uuid }[],
): Promise<Map<Uuid, Conversion>> {
  if (keys.length === 0) return new Map();
  const rows = await database.rows<SqlRecord>(
    `select ${columnsOf(conversionTable, "t.")}
       from conversion t join (select distinct * from unnest($1::uuid[], $2::uuid[])) as k(profile_id, id)
         on t.profile_id = k.profile_id and t.id = k.id`,
    [keys.map((key) => key.profileId), keys.map((key) => key.id)],
  );
  return new Map(rows.map(conversionTable.read).map((conversion) => [conversion.id, conversion]));
}
