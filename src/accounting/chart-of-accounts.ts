/**
 * The chart of accounts from the operator's side (docs/accounting.md): what customers have is a liability, fees are income,
 * what is held for them and in reserve is an asset. In the ledger what its owner has is above zero; here it is what the
 * operator owes, so that signs are reversed, except for the asset that a reserve is.
 */
import { PARTS, type Part } from "../ledger/accounts.ts";
import {
  type HouseAccount,
  isHouseOwner,
  readHouseAccounts,
  readHouseKinds,
  type StoredHouseKind,
  slotOfOwner,
} from "../ledger/house-accounts.ts";
import { type Amount, negative } from "../money/amount.ts";
import type { Database } from "../postgres/database.ts";
import { must } from "../std/assert.ts";
import type { Uuid } from "../std/id.ts";
import { LruCache } from "../std/lru-cache.ts";
import { type ProfileName, readProfileNames } from "./store.ts";

/** What a posting, or a balance, is in the chart. */
export interface ChartEntry {
  readonly account: string;
  readonly amount: Amount;
}

/** More than the profiles of a batch or of a page of balances. */
const REMEMBERED_NAMES = 50_000;

export class ChartOfAccounts {
  readonly #database: Database;
  readonly #houses: ReadonlyMap<Uuid, HouseAccount>;
  readonly #kinds: readonly StoredHouseKind[];
  /** Of profiles, what comes before the part. */
  readonly #profiles = new LruCache<string>(REMEMBERED_NAMES);

  constructor(database: Database, houses: ReadonlyMap<Uuid, HouseAccount>, kinds: readonly StoredHouseKind[]) {
    this.#database = database;
    this.#houses = houses;
    this.#kinds = kinds;
  }

  /** Reads the names of these owners, before their entries are asked for. */
  async readNames(owners: Iterable<Uuid>): Promise<void> {
    const unknown = [...new Set(owners)].filter(
      (owner) => !isHouseOwner(owner) && this.#profiles.get(owner) === undefined,
    );
    if (unknown.length === 0) return;
    const names = await readProfileNames(this.#database, unknown);
    for (const owner of unknown) this.#profiles.set(owner, accountOfProfile(owner, names.get(owner)));
  }

  entriesOf(ownerId: Uuid, part: Part, amount: Amount): readonly ChartEntry[] {
    if (!isHouseOwner(ownerId)) {
      const account = must(this.#profiles.get(ownerId), "the names of a page are read before it is written");
      return [{ account: `${account}:${capitalized(part)}`, amount: negative(amount) }];
    }
    const house = this.#houses.get(ownerId);
    // Its row was removed: `verify` says so, and the books still balance.
    if (house === undefined)
      return [{ account: path("Equity", "Unknown", `House-${ownerId}`), amount: negative(amount) }];
    return this.#houseEntries(house, `Slot-${slotOfOwner(ownerId)}`, amount);
  }

  partsOf(ownerId: Uuid): readonly Part[] {
    return isHouseOwner(ownerId) ? ["available"] : PARTS;
  }

  #houseEntries({ house, coin, custodian }: HouseAccount, slot: string, amount: Amount): readonly ChartEntry[] {
    const owed = negative(amount);
    const named = [coin, custodian].flatMap((word) => (word === undefined ? [] : capitalized(word)));
    switch (house) {
      case "world":
        return [{ account: path("Assets", "Custody", "Received", slot), amount: owed }];
      case "reserve":
        // What backs a coin is set apart from what is held for customers. Equity has the two sides of what was issued.
        return [
          { account: path("Assets", "Reserve", ...named, slot), amount },
          { account: path("Assets", "Custody", "Reserved", ...named, slot), amount: owed },
          { account: path("Equity", "Backing", ...named, slot), amount: owed },
        ];
      case "issuance":
        return [{ account: path("Equity", "Backing", "Issued", slot), amount: owed }];
      default: {
        const { accountClass } = must(
          this.#kinds.find(({ kind }) => kind === house),
          () => `there are house accounts of the kind ${house}`,
        );
        return [{ account: path(accountClass, capitalized(house), ...named, slot), amount: owed }];
      }
    }
  }
}

/** Names every house account that has postings by now. */
export async function readChartOfAccounts(database: Database): Promise<ChartOfAccounts> {
  return new ChartOfAccounts(database, await readHouseAccounts(database), await readHouseKinds(database));
}

/** Ids make it unique; names, as they are now, make it readable. */
function accountOfProfile(owner: Uuid, name: ProfileName | undefined): string {
  if (name === undefined) return path("Liabilities", "Customers", "Unknown", `Profile-${owner}`);
  const customer = `${wordOf(name.customer, "Customer")}-${name.customerId}`;
  return path("Liabilities", "Customers", customer, `${wordOf(name.nickname, "Profile")}-${owner}`);
}

const MOST_OF_A_NAME = 40;

/** Of a free text, what every program takes for a part of an account's name: ASCII letters, digits and hyphens. */
export function wordOf(text: string, otherwise: string): string {
  const plain = text.normalize("NFKD").replaceAll(/[^A-Za-z0-9]+/g, "-");
  const word = plain.replaceAll(/^-+/g, "").slice(0, MOST_OF_A_NAME).replaceAll(/-+$/g, "");
  return word === "" ? otherwise : capitalized(word);
}

const path = (...words: readonly string[]): string => words.join(":");

const capitalized = (word: string): string => `${word[0]?.toUpperCase()}${word.slice(1)}`;
