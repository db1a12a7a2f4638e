import { expect, test } from "vitest";
import { must } from "../std/assert.ts";
import { CannotDecrypt, isEncrypted, type SecretLabel, StorageEncryption } from "./storage-encryption.ts";

const LABEL: SecretLabel = { id: "one", type: "jwk+json", name: "the signing key" };
const encryption = new StorageEncryption([new Uint8Array(32).fill(7)]);

test("a secret is opened as what it was encrypted as, whatever it is called in reports, and as nothing else", async () => {
  const stored = must(await encryption.encrypt(LABEL, "secret"), "there is a key");
  expect(await encryption.decrypt(LABEL, stored)).toBe("secret");
  expect(await encryption.decrypt({ ...LABEL, name: "a key" }, stored)).toBe("secret");
  for (const other of [
    { ...LABEL, id: "other" },
    { ...LABEL, type: "text" },
  ])
    await expect(encryption.decrypt(other, stored)).rejects.toThrow(
      new CannotDecrypt(
        `the signing key ${other.id} is encrypted, and PARBOOK_KEY_ENCRYPTION_KEY is not the key that it was encrypted with`,
      ),
    );
});

const keyOf = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const withKeys = (...bytes: readonly number[]): StorageEncryption => new StorageEncryption(bytes.map(keyOf));

test("the first key encrypts, and each of four decrypts; without its own key a secret stays closed", async () => {
  const keys = [4, 3, 2, 1];
  for (const key of keys) {
    const stored = must(await withKeys(key, 9).encrypt(LABEL, "secret"), "there is a key");
    expect(isEncrypted(stored)).toBe(true);
    expect(JSON.stringify(stored)).not.toContain("secret");
    expect(await withKeys(...keys).decrypt(LABEL, stored)).toBe("secret");
    await expect(withKeys(9, 8).decrypt(LABEL, stored)).rejects.toThrow(CannotDecrypt);
    await expect(withKeys().decrypt(LABEL, stored)).rejects.toThrow(
      new CannotDecrypt("the signing key one is encrypted, and PARBOOK_KEY_ENCRYPTION_KEY is not set"),
    );
  }
  expect(await withKeys().encrypt(LABEL, "secret")).toBe(undefined);
});

test("a secret is encrypted anew if it is in clear or under an earlier key, and else stays as it is", async () => {
  const [earlier, later] = [withKeys(1), withKeys(2, 1)];
  const stored = must(await earlier.encrypt(LABEL, "secret"), "there is a key");
  expect(await earlier.renew(LABEL, stored)).toBe(undefined);
  expect(await withKeys().renew(LABEL, "secret")).toBe(undefined);
  for (const before of [stored, "secret"]) {
    const renewed = must(await later.renew(LABEL, before), "it is encrypted anew");
    expect(await withKeys(2).decrypt(LABEL, renewed)).toBe("secret");
    expect(await later.renew(LABEL, renewed)).toBe(undefined);
  }
  await expect(withKeys(2).renew(LABEL, stored)).rejects.toThrow(CannotDecrypt);
});
