/** The chart of accounts (docs/accounting.md): profiles have one account per part, house accounts one per slot. */
import { PARTS, type Part } from "../ledger/accounts.ts";
import {
  type HouseAccount,
  isHouseOwner,
  readHouseAccounts,
  readHouseKinds,
  type StoredHouseKind,
  slotOfOwner,
} from "../ledger/house-accounts.ts";
import type { Queryable } from "../postgres/database.ts";
import { must } from "../std/assert.ts";
import type { Uuid } from "../std/id.ts";

export class ChartOfAccounts {
  readonly #houses: ReadonlyMap<Uuid, HouseAccount>;
  readonly #kinds: readonly StoredHouseKind[];

  constructor(houses: ReadonlyMap<Uuid, HouseAccount>, kinds: readonly StoredHouseKind[]) {
    this.#houses = houses;
    this.#kinds = kinds;
  }

  nameOf(ownerId: Uuid, part: Part): string {
    if (!isHouseOwner(ownerId)) return `Assets:Profile-${ownerId}:${capitalized(part)}`;
    const { house, coin, custodian } = must(this.#houses.get(ownerId), () => `the house account ${ownerId} has a row`);
    const kind = must(
      this.#kinds.find((each) => each.kind === house),
      () => `there are house accounts of the kind ${house}`,
    );
    const words = [house, coin, custodian].filter((word) => word !== undefined);
    return `${[kind.accountClass, ...words.map(capitalized)].join(":")}:Slot-${slotOfOwner(ownerId)}`;
  }

  partsOf(ownerId: Uuid): readonly Part[] {
    return isHouseOwner(ownerId) ? ["available"] : PARTS;
  }
}

/** Names every house account that has postings by now. */
export async function readChartOfAccounts(database: Queryable): Promise<ChartOfAccounts> {
  return new ChartOfAccounts(await readHouseAccounts(database), await readHouseKinds(database));
}

const capitalized = (word: string): string => `${word[0]?.toUpperCase()}${word.slice(1)}`;
