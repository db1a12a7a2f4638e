/**
 * What the small ledger lacks: other slots, 18 decimals, sums that no float and no decimal of 28 digits holds, and assets whose
 * codes a program could take for something else.
 */
import { accountKey, type Entry, entry, type JournalCause, journal } from "../../src/ledger/accounts.ts";
import { accept } from "../../src/ledger/decision.ts";
import { depositEntries } from "../../src/ledger/external-transfer-entries.ts";
import { amountOf, negative } from "../../src/money/amount.ts";
import { type AssetCode, USD } from "../../src/money/asset.ts";
import type { TestDatabase } from "../support/database.ts";
import { newId, newProfiles, startLane, TESTER } from "../support/movements.ts";
import { makeSmallBooks } from "../verify/small-ledger.ts";

const ETH = "ETH" as AssetCode;
const ODD_CODES = ["1INCH", "00", "1E5", "TRUE", "NULL", "FALSE", "ABCDEFGHIJKLMNOP"] as AssetCode[];

export async function makeLargeBooks({ database, owner }: Pick<TestDatabase, "database" | "owner">): Promise<void> {
  await owner.rows("insert into asset (code, kind, precision) select unnest($1::text[]), 'crypto', 18", [ODD_CODES]);
  const books = await makeSmallBooks(database);
  // While the first lane has its slot, this one takes another.
  const { lane } = await startLane(database);
  const post = (cause: JournalCause, entries: readonly Entry[]) =>
    lane.execute({
      queueKey: "house",
      caller: TESTER,
      dependsOn: entries.map(({ owner, asset }) => accountKey(owner, asset)),
      decide: () => accept(undefined, { journals: [journal(newId(), cause, entries)] }),
    });
  const [rich = "world", poor = "world"] = newProfiles(2);
  const all = amountOf("89999999999999999999999999999.123456789012345678");
  const [some, least] = [amountOf("1.123456789012345678"), amountOf("0.000000000000000001")];
  await post("deposit", [entry("world", USD, negative(all)), entry(rich, USD, all)]);
  await post("transfer", [entry(rich, USD, negative(least)), entry(poor, USD, least)]);
  await post("deposit", depositEntries(rich, { code: ETH, kind: "crypto", precision: 18 }, some));
  await post("deposit", depositEntries(poor, { code: "USDG" as AssetCode, kind: "stablecoin", precision: 8 }, some));
  for (const code of ODD_CODES)
    await post("deposit", depositEntries(poor, { code, kind: "crypto", precision: 18 }, some));
  await books.transfer("12.5");
  await post("transfer", [entry(rich, ETH, negative(least)), entry(poor, ETH, least)]);
  await books.deactivate();
  await lane.stop();
  await books.close();
}
