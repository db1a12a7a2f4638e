import { expect, test } from "vitest";
import { must } from "../std/assert.ts";
import { CannotDecrypt, type SecretLabel, StorageEncryption } from "./storage-encryption.ts";

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
