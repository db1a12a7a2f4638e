import { expect, test } from "vitest";
import { TESTER } from "../../test/support/movements.ts";
import { profileOf, profileRow, stateOf } from "../../test/support/states.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import { profileTable } from "../customers/profiles/profiles.ts";
import type { Instant } from "../std/clock.ts";
import { IdSource } from "../std/id.ts";
import { deactivateCommand } from "./deactivate-profile.ts";

const NOW = 5_000 as Instant;
const acme = "acme" as CustomerId & string;
const home = profileOf(acme, { kind: "DEFAULT" });

test.each([
  [NOW - 1, NOW],
  [NOW + 1, NOW + 1],
])("deactivating a profile that was updated at %d sets updated_at to %d: it never goes back", async (at, expected) => {
  const profile = profileOf(acme, { updatedAt: at as Instant });
  const database = { rows: async () => [{ ...home, customer_id: acme, last_deactivation: "0" }] };
  const parts = { database: database as never, catalogue: { listAssets: () => [] } as never, ids: new IdSource() };
  const { decide } = await deactivateCommand(parts, acme, profile.id, TESTER);
  const inactive = { ...profile, status: "INACTIVE", updatedAt: expected, lastDeactivation: profile.version + 1n };
  expect(decide(stateOf(profileRow(profile), profileRow(home)), NOW)).toEqual({
    kind: "done",
    value: inactive,
    changes: { journals: [], records: [], states: [{ table: profileTable, row: inactive }] },
  });
});
