/** The settings of the keys that sign tokens. */
import { type Setting, Wrong } from "./setting.ts";

const KEY = /^[A-Za-z0-9+/_-]{43}=?$/;

/** 256 bits each in base64, the current one first, then former ones: "<new>,<old>". */
export const encryptionKeys: Setting<readonly Uint8Array[]> = {
  absent: [],
  read: (text) => {
    const keys = text.split(",").map((each) => each.trim());
    if (keys.length > 4 || !keys.every((key) => KEY.test(key))) {
      return new Wrong("is not 1 to 4 keys of 32 bytes each in base64, separated by commas (openssl rand -base64 32)");
    }
    return keys.map((key) => new Uint8Array(Buffer.from(key, "base64")));
  },
};
