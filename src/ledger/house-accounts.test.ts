import { expect, test } from "vitest";
import type { AssetCode } from "../money/asset.ts";
import { IdSource, parseUuid } from "../std/id.ts";
import {
  type HouseName,
  houseName,
  houseOf,
  houseOwnerId,
  isHouseOwner,
  reserveOf,
  slotOfOwner,
} from "./house-accounts.ts";

const CODES = Array.from({ length: 1_000 }, (_, i) => `COIN${i}` as AssetCode);
const NAMES: readonly HouseName[] = ["world", "issuance", "fees", "reserve::default", ...CODES.map(reserveOf)];
const SLOTS = [1, 9, 10, 64];

test("every house account has an owner id of its own in every slot, and all of them are UUIDs of version 8", () => {
  const owners = NAMES.flatMap((name) => SLOTS.map((slot) => houseOwnerId(name, slot)));
  expect(new Set(owners).size).toBe(NAMES.length * SLOTS.length);
  for (const owner of owners) {
    expect(parseUuid(owner)).toBe(owner);
    expect(owner).toMatch(/^ffffffff-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(isHouseOwner(owner)).toBe(true);
  }
  expect(SLOTS.map((slot) => slotOfOwner(houseOwnerId("world", slot)))).toEqual(SLOTS);
  expect(isHouseOwner(new IdSource().next())).toBe(false);
});

test("an owner id follows from the name and the slot alone, and stays what it was", () => {
  expect(houseOwnerId("world", 1)).toBe("ffffffff-486e-8a46-8224-d1bb4fb68001");
  expect(houseOwnerId("reserve:USDG:default", 64)).toBe("ffffffff-c7bf-82b4-8088-1c1b16718440");
});

test("a name maps to its parts and back", () => {
  const coin = "USDG" as AssetCode;
  expect(houseOf(reserveOf(coin))).toEqual({ house: "reserve", coin, custodian: "default", mayBeNegative: true });
  expect(houseOf("fees")).toEqual({ house: "fees", coin: undefined, custodian: undefined, mayBeNegative: false });
  for (const name of NAMES) expect(houseName(houseOf(name) ?? expect.fail(name))).toBe(name);
  for (const other of [new IdSource().next(), "constructor", "WORLD"]) expect(houseOf(other)).toBeUndefined();
});
