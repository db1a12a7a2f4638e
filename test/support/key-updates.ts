/** KeyUpdate messages of TLS 1.3 (RFC 8446, 4.6.3), which Node's client never sends. */
import { createCipheriv, createHmac } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";

export interface KeyUpdateClient {
  readonly secure: TLSSocket;
  /** Sends so many at once. Nothing may have been written to `secure`. */
  readonly update: (count: number) => void;
}

export async function connectForKeyUpdates(port: number): Promise<KeyUpdateClient> {
  const socket = connect({ port, host: "127.0.0.1" });
  const secure = connectTls({ socket, rejectUnauthorized: false, ciphers: "TLS_AES_128_GCM_SHA256" });
  let secret: Buffer | undefined;
  secure.on("keylog", (line: Buffer) => {
    const [label, , value = ""] = line.toString("latin1").trim().split(" ");
    if (label === "CLIENT_TRAFFIC_SECRET_0") secret = Buffer.from(value, "hex");
  });
  for (const one of [socket, secure] as Socket[]) one.on("error", () => undefined);
  await once(secure, "secureConnect");
  const update = (count: number): void => {
    const records: Buffer[] = [];
    for (let sent = 0; sent < count; sent += 1) {
      if (secret === undefined) throw new Error("the handshake is over, and its secret is known");
      records.push(keyUpdate(secret));
      secret = expand(secret, "traffic upd", 32);
    }
    socket.write(Buffer.concat(records));
  };
  return { secure: secure.resume(), update };
}

/** The first record under a secret. */
function keyUpdate(secret: Buffer): Buffer {
  const message = Buffer.from([24, 0, 0, 1, 0, 22]);
  const header = Buffer.from([23, 3, 3, 0, message.length + 16]);
  const cipher = createCipheriv("aes-128-gcm", expand(secret, "key", 16), expand(secret, "iv", 12));
  cipher.setAAD(header);
  return Buffer.concat([header, cipher.update(message), cipher.final(), cipher.getAuthTag()]);
}

/** HKDF-Expand-Label with an empty context, of at most 32 bytes (RFC 8446, 7.1). */
function expand(secret: Buffer, label: string, length: number): Buffer {
  const name = `tls13 ${label}`;
  const info = Buffer.concat([Buffer.from([0, length, name.length]), Buffer.from(name), Buffer.from([0, 1])]);
  return createHmac("sha256", secret).update(info).digest().subarray(0, length);
}
