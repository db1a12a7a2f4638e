import { InvalidValue, type Setting } from "./setting.ts";

const KEY = /^[A-Za-z0-9+/_-]{43}=?$/;

/** 256 bits each in base64, the current key first: "<new>,<old>". */
export const encryptionKeys: Setting<readonly Uint8Array[]> = {
  absent: [],
  read: (text) => {
    const keys = text.split(",").map((each) => each.trim());
    if (keys.length > 4 || !keys.every((key) => KEY.test(key))) {
      return new InvalidValue(
        "is not 1 to 4 keys of 32 bytes each in base64, separated by commas (openssl rand -base64 32)",
      );
    }
    return keys.map((key) => new Uint8Array(Buffer.from(key, "base64")));
  },
};
