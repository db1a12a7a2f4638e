/** Both servers with a certificate of the operator's own, and what every answer says for safety. */

import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { copyFile, cp, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { get } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import tls, { connect, type PeerCertificate } from "node:tls";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Config } from "../../src/service/config/config.ts";
import { followTls, measureHandshakeMs, readTls, type Tls } from "../../src/service/tls.ts";
import { must } from "../../src/std/assert.ts";
import type { Instant } from "../../src/std/clock.ts";
import { startToyApi } from "../support/http/toy-api.ts";
import { toyAuthServer } from "../support/http/toy-auth-server.ts";
import { until } from "../support/until.ts";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parbook-tls-"));
  // Made with openssl for a hundred years, and of no use to anybody else.
  await cp(new URL("./certificates", import.meta.url), directory, { recursive: true });
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const path = (name: string): string => join(directory, name);
const files = (cert: string, key: string): Pick<Config, "tlsCert" | "tlsKey"> => ({
  tlsCert: path(cert),
  tlsKey: path(key),
});

interface Told {
  readonly status: number | undefined;
  readonly headers: Record<string, unknown>;
}

/** A test's certificate is signed by nobody. */
function askOverTls(url: string): Promise<Told> {
  return new Promise((resolve, reject) => {
    get(url, { rejectUnauthorized: false }, (answer) => {
      answer.resume().on("end", () => resolve({ status: answer.statusCode, headers: answer.headers }));
    }).on("error", reject);
  });
}

async function certificateOf(url: string, options: object = {}): Promise<PeerCertificate> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false, ...options });
  await once(socket, "secureConnect");
  const certificate = socket.getPeerCertificate();
  socket.destroy();
  return certificate;
}

test("both servers use TLS 1.2 with fast key exchanges, and send Strict-Transport-Security", async () => {
  const { DEFAULT_MIN_VERSION, DEFAULT_CIPHERS } = tls;
  Object.assign(tls, { DEFAULT_MIN_VERSION: "TLSv1", DEFAULT_CIPHERS: "DEFAULT@SECLEVEL=0" });
  const inUse = await readTls(files("first.crt", "first.key"));
  const toy = await startToyApi(undefined, { tls: inUse, baseUrl: () => "https://toy.test" });
  const authServer = toyAuthServer({ authUrl: () => "https://auth.toy.test", tls: inUse });
  try {
    const authUrl = await authServer.listen({ host: "127.0.0.1", port: 0 });
    const safe = { "strict-transport-security": "max-age=31536000", "x-content-type-options": "nosniff" };
    for (const url of [`${toy.url}/v2/toys`, `${toy.url}/v2/toys/%zz`, `${toy.url}/docs`, `${authUrl}/oauth2/token`]) {
      expect((await askOverTls(url)).headers).toMatchObject(safe);
    }
    for (const url of [toy.url, authUrl]) {
      expect((await certificateOf(url)).subject.CN).toBe("first");
      const old = { minVersion: "TLSv1.1", maxVersion: "TLSv1.1" } as const;
      await expect(certificateOf(url, old)).rejects.toThrow(/alert protocol version/i);
      await expect(certificateOf(url, { minVersion: "TLSv1.3" })).rejects.toThrow(/alert protocol version/i);
      // The certificate's own group is needed too.
      for (const ecdhCurve of ["X25519:P-256", "P-256"])
        expect((await certificateOf(url, { ecdhCurve })).subject.CN).toBe("first");
      for (const ecdhCurve of ["P-384", "X448", "P-521"])
        await expect(certificateOf(url, { ecdhCurve }), ecdhCurve).rejects.toThrow(/alert handshake failure/i);
    }
    await expect(fetch(toy.url.replace("https:", "http:"))).rejects.toThrow();
  } finally {
    Object.assign(tls, { DEFAULT_MIN_VERSION, DEFAULT_CIPHERS });
    await toy.close();
  }
});

test("TLS 1.2 has forward secrecy and authenticated encryption, with a key of RSA too", async () => {
  const { DEFAULT_CIPHERS } = tls;
  tls.DEFAULT_CIPHERS = "ALL@SECLEVEL=0";
  const toy = await startToyApi(undefined, { tls: await readTls(files("rsa.crt", "rsa.key")) });
  const only = (ciphers: string) => certificateOf(toy.url, { maxVersion: "TLSv1.2", ciphers });
  try {
    for (const cipher of ["AES256-GCM-SHA384", "CHACHA20-POLY1305", "AES128-GCM-SHA256"])
      expect((await only(`ECDHE-RSA-${cipher}`)).subject.CN).toBe("rsa");
    for (const cipher of ["AES256-GCM-SHA384", "AES128-GCM-SHA256", "AES128-SHA", "ECDHE-RSA-AES128-SHA256"])
      await expect(only(`${cipher}@SECLEVEL=0`), cipher).rejects.toThrow(/alert handshake failure/i);
  } finally {
    tls.DEFAULT_CIPHERS = DEFAULT_CIPHERS;
    await toy.close();
  }
});

/** Puts a file in its place as a whole, as programs that renew certificates do. */
async function renew(name: string, kind: "crt" | "key"): Promise<void> {
  await copyFile(path(`${name}.${kind}`), path("draft"));
  await rename(path("draft"), path(`live.${kind}`));
}

test("a renewed certificate is used without a restart, and an invalid one is ignored", async () => {
  await renew("first", "crt");
  await renew("first", "key");
  const live = files("live.crt", "live.key");
  const tls = await readTls(live);
  if (tls === undefined) throw new Error("the files were set");
  const toy = await startToyApi(undefined, { tls });
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const received = (text: string) => lines.filter(({ msg }) => msg === text);
  const changed: (string | undefined)[] = [];
  const noted = ({ cert }: Tls): void => void changed.push(new X509Certificate(cert).subject);
  const stop = followTls(live, tls, [toy.api.server], log, { everyMs: 10, changed: noted });
  try {
    await renew("renewed", "crt");
    await until("that of the same key is used", async () => (await certificateOf(toy.url)).subject.CN === "renewed");
    await renew("second", "crt");
    await until("the half-changed pair is logged", () => received("certificate not reloaded").length > 0);
    expect((await certificateOf(toy.url)).subject.CN).toBe("renewed");
    await renew("second", "key");
    await until("the new one is used", async () => (await certificateOf(toy.url)).subject.CN === "second");
    const seen = { file: path("live.crt"), expires: "2126-10-28T05:32:22.000Z" };
    const renewed = { ...seen, expires: "2126-10-30T16:40:50.000Z" };
    expect([received("certificate in use"), received("certificate reloaded")]).toMatchObject([[seen], [renewed, seen]]);
    expect(changed).toEqual(["CN=renewed", "CN=second"]);
  } finally {
    await stop();
    await toy.close();
  }
});

test("what a handshake takes is measured in milliseconds with the key in use: with RSA more than with P-256", async () => {
  const measure = async (name: string): Promise<number> =>
    measureHandshakeMs(must(await readTls(files(`${name}.crt`, `${name}.key`)), "the files were set"));
  const [ofP256, ofRsa] = [await measure("first"), await measure("rsa")];
  expect(ofP256).toBeGreaterThan(0.05);
  expect(ofRsa).toBeGreaterThan(ofP256);
});

test("files that are not a certificate and its key are named in the error, before anything starts", async () => {
  await writeFile(path("empty.crt"), "");
  await writeFile(path("empty.key"), "");
  await expect(readTls(files("none.crt", "first.key"))).rejects.toThrow(
    `PARBOOK_TLS_CERT ${path("none.crt")} cannot be read: ENOENT`,
  );
  await expect(readTls(files("first.crt", "none.key"))).rejects.toThrow(
    `PARBOOK_TLS_KEY ${path("none.key")} cannot be read: ENOENT`,
  );
  for (const [cert, key] of [
    ["empty.crt", "first.key"],
    ["first.crt", "empty.key"],
    ["first.key", "first.crt"],
    ["first.crt", "second.key"],
  ] as const) {
    await expect(readTls(files(cert, key))).rejects.toThrow(
      `PARBOOK_TLS_CERT ${path(cert)} and PARBOOK_TLS_KEY ${path(key)} are not a certificate and its key in PEM: `,
    );
  }
  expect(await readTls({ tlsCert: undefined, tlsKey: undefined })).toBe(undefined);
});

test("a certificate is not used outside its time, nor read from what is no file or a very long one", async () => {
  const first = files("first.crt", "first.key");
  const at = (time: string) => readTls(first, Date.parse(time) as Instant);
  const period = "is valid from 2026-11-21T05:32:22.000Z until 2126-10-28T05:32:22.000Z";
  for (const time of ["2026-11-21T05:32:21.999Z", "2126-10-28T05:32:22.000Z"]) {
    await expect(at(time)).rejects.toThrow(`PARBOOK_TLS_CERT ${path("first.crt")} ${period}, but now it is ${time}`);
  }
  for (const time of ["2026-11-21T05:32:22.000Z", "2126-10-28T05:32:21.999Z"]) {
    expect(await at(time)).toBeDefined();
  }
  await writeFile(path("long.key"), " ".repeat(1_048_577));
  const long = `PARBOOK_TLS_KEY ${path("long.key")} is longer than 1048576 bytes`;
  await expect(readTls(files("first.crt", "long.key"))).rejects.toThrow(long);
  execFileSync("mkfifo", [path("pipe.key")]);
  for (const key of ["/dev/zero", path("pipe.key"), directory]) {
    const rejected = `PARBOOK_TLS_KEY ${key} is not a regular file`;
    await expect(readTls({ ...first, tlsKey: key })).rejects.toThrow(rejected);
  }
});
