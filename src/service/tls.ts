/**
 * TLS without a proxy: certificate and key from two files, for both servers. The files are reread every minute to pick up
 * renewals. If they are unusable, an error is logged and the current certificate stays in use.
 */
import { createPrivateKey, sign, X509Certificate } from "node:crypto";
import type { Server } from "node:net";
import { createSecureContext, Server as TlsServer } from "node:tls";
import type { Logger } from "pino";
import { formatInstant, type Instant, systemClock } from "../std/clock.ts";
import { startPoll } from "../std/poll.ts";
import { type Config, InvalidSettings } from "./config/config.ts";
import { readSettingFile, SettingFileError } from "./setting-file.ts";
import { StartupError } from "./startup-error.ts";

export interface Tls {
  readonly cert: string;
  readonly key: string;
  /**
   * RFC 9325, section 3.1.1: nothing older. Nothing newer either: OpenSSL handles the key updates of TLS 1.3 without end
   * within one read, and 27 bytes of them cost 6 microseconds (docs/decisions/0041-own-tls-is-1-2.md).
   */
  readonly minVersion: "TLSv1.2";
  readonly maxVersion: "TLSv1.2";
  readonly ecdhCurve: typeof GROUPS;
  readonly ciphers: typeof CIPHERS;
}

/**
 * The groups for key exchange that are fast. OpenSSL's own list has ffdhe8192 too, whose handshake takes the thread 250 ms
 * for a hello of one kilobyte that costs its sender nothing.
 */
const GROUPS = "X25519:P-256";

/** Those with forward secrecy: RFC 9325, section 4.2. Without it each hello costs a decryption. */
const CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20";

type TlsFiles = Pick<Config, "tlsCert" | "tlsKey">;

const READ_EVERY_MS = 60_000;

/** @returns Undefined if not configured. @throws SettingFileError, or StartupError outside of its validity. */
export async function readTls(
  { tlsCert, tlsKey }: TlsFiles,
  now: Instant = systemClock.now(),
): Promise<Tls | undefined> {
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  const tls: Tls = {
    cert: await readSetting("PARBOOK_TLS_CERT", tlsCert),
    key: await readSetting("PARBOOK_TLS_KEY", tlsKey),
    minVersion: "TLSv1.2",
    maxVersion: "TLSv1.2",
    ecdhCurve: GROUPS,
    ciphers: CIPHERS,
  };
  try {
    createSecureContext(tls);
    // createSecureContext takes an empty file for an absent one.
    if (!new X509Certificate(tls.cert).checkPrivateKey(createPrivateKey(tls.key))) throw new Error("different keys");
  } catch (error) {
    throw new SettingFileError(
      `PARBOOK_TLS_CERT ${tlsCert} and PARBOOK_TLS_KEY ${tlsKey} are not a certificate and its key in PEM: ${(error as Error).message}`,
    );
  }
  const [start, end] = validityOf(tls);
  if (now < start || now >= end) {
    const period = `from ${formatInstant(start)} until ${formatInstant(end)}`;
    throw new StartupError(`PARBOOK_TLS_CERT ${tlsCert} is valid ${period}, but now it is ${formatInstant(now)}`);
  }
  return tls;
}

/** How many milliseconds of the thread a handshake takes: above all the signature, which depends on the key. */
export function measureHandshakeMs({ key }: Pick<Tls, "key">): number {
  const signer = createPrivateKey(key);
  const digest = signer.asymmetricKeyType?.startsWith("ed") === true ? null : "sha256";
  const times = Array.from({ length: 5 }, () => {
    const started = performance.now();
    sign(digest, Buffer.alloc(64), signer);
    return performance.now() - started;
  });
  // The fastest: others may have had the processor meanwhile.
  return Math.min(...times) + KEY_EXCHANGE_MS;
}

const KEY_EXCHANGE_MS = 0.3;

function validityOf({ cert }: Tls): [start: Instant, end: Instant] {
  const { validFrom, validTo } = new X509Certificate(cert);
  return [Date.parse(validFrom) as Instant, Date.parse(validTo) as Instant];
}

const readSetting = async (name: string, path: string): Promise<string> =>
  (await readSettingFile(name, path)).toString("utf8");

/** Applies changes of the files to the servers. @returns A function that stops watching. */
export function followTls(
  files: TlsFiles,
  inUse: Tls,
  servers: readonly Server[],
  log: Logger,
  { everyMs = READ_EVERY_MS, changed = (_tls: Tls): void => undefined } = {},
) {
  let current = inUse;
  const report = (text: string): void =>
    log.info({ file: files.tlsCert, expires: formatInstant(validityOf(current)[1]) }, text);
  const follow = async (): Promise<void> => {
    const tls = (await readTls(files)) ?? current;
    if (tls.cert === current.cert && tls.key === current.key) return;
    for (const server of servers) if (server instanceof TlsServer) server.setSecureContext(tls);
    current = tls;
    changed(tls);
    report("certificate reloaded");
  };
  report("certificate in use");
  const poll = startPoll(everyMs, follow, (error) => log.error({ error }, "certificate not reloaded"));
  return () => poll.stop();
}

/** In production both addresses must be HTTPS, unless PARBOOK_WITHOUT_TLS says otherwise. @throws InvalidSettings */
export function requireTls(config: Config): void {
  if (config.mode === "sandbox" || config.withoutTls.has("http")) return;
  const lines = (["baseUrl", "authUrl"] as const)
    .filter((name) => !(config[name]?.startsWith("https:") ?? config.tlsCert !== undefined))
    .map((name) => {
      const setting = name === "baseUrl" ? "PARBOOK_BASE_URL" : "PARBOOK_AUTH_URL";
      return `${setting} must begin with https:// in production: set it, or set PARBOOK_TLS_CERT and PARBOOK_TLS_KEY if there is no TLS proxy, or set PARBOOK_WITHOUT_TLS=http to allow plain HTTP`;
    });
  if (lines.length > 0) throw new InvalidSettings(lines);
}
