/** KeyUpdate messages of TLS 1.3 (RFC 8446, 4.6.3), which Node's client never sends. */
import { createCipheriv, createHmac } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { connect as connectTls, type TLSSocket } from "node:tls";

export interface KeyUpdateClient {
  readonly secure: TLSSocket;
  /** Sends so many at once. Nothing may be written to `secure` itself. */
  readonly update: (count: number) => void;
  /** Sends data in a record of its own. */
  readonly write: (data: Buffer) => void;
  /** Sends data in a record, the last byte of which follows later. */
  readonly writeSlowly: (data: Buffer, laterMs: number) => Promise<void>;
}

const HANDSHAKE = 22;
const DATA = 23;
const KEY_UPDATE = Buffer.from([24, 0, 0, 1, 0]);

export async function connectForKeyUpdates(port: number): Promise<KeyUpdateClient> {
  const socket = connect({ port, host: "127.0.0.1" });
  const secure = connectTls({ socket, rejectUnauthorized: false, ciphers: "TLS_AES_128_GCM_SHA256" });
  let secret: Buffer = Buffer.alloc(0);
  let written = 0;
  secure.on("keylog", (line: Buffer) => {
    const [label, , value = ""] = line.toString("latin1").trim().split(" ");
    if (label === "CLIENT_TRAFFIC_SECRET_0") secret = Buffer.from(value, "hex");
  });
  for (const one of [socket, secure] as Socket[]) one.on("error", () => undefined);
  // The server sends a session when it has the client's last message of the handshake, which must come first.
  await once(secure.resume(), "session");
  const next = (type: number, content: Buffer): Buffer => record(secret, written++, type, content);
  const update = (count: number): void => {
    const records: Buffer[] = [];
    for (let sent = 0; sent < count; sent += 1) {
      records.push(next(HANDSHAKE, KEY_UPDATE));
      secret = expand(secret, "traffic upd", 32);
      written = 0;
    }
    socket.write(Buffer.concat(records));
  };
  const writeSlowly = async (data: Buffer, laterMs: number): Promise<void> => {
    const sealed = next(DATA, data);
    socket.write(sealed.subarray(0, -1));
    await pause(laterMs);
    socket.write(sealed.subarray(-1));
  };
  return { secure, update, write: (data) => void socket.write(next(DATA, data)), writeSlowly };
}

/** @param number of the record under its secret */
function record(secret: Buffer, number: number, type: number, content: Buffer): Buffer {
  const inner = Buffer.concat([content, Buffer.from([type])]);
  const header = Buffer.from([DATA, 3, 3, 0, 0]);
  header.writeUInt16BE(inner.length + 16, 3);
  const nonce = expand(secret, "iv", 12);
  nonce.writeUInt32BE((nonce.readUInt32BE(8) ^ number) >>> 0, 8);
  const cipher = createCipheriv("aes-128-gcm", expand(secret, "key", 16), nonce);
  cipher.setAAD(header);
  return Buffer.concat([header, cipher.update(inner), cipher.final(), cipher.getAuthTag()]);
}

/** HKDF-Expand-Label with an empty context, of at most 32 bytes (RFC 8446, 7.1). */
function expand(secret: Buffer, label: string, length: number): Buffer {
  const name = `tls13 ${label}`;
  const info = Buffer.concat([Buffer.from([0, length, name.length]), Buffer.from(name), Buffer.from([0, 1])]);
  return createHmac("sha256", secret).update(info).digest().subarray(0, length);
}
