/** What production may send without TLS, and what it may not. */
import { type Setting, Wrong } from "./setting.ts";

export const PLAIN_WAYS = ["http", "database"] as const;
/** The callers' way to us, and ours to the database. */
export type PlainWay = (typeof PLAIN_WAYS)[number];

/** The ways on which somebody else takes care, such as a proxy in front or a network of its own. */
export const withoutTls: Setting<ReadonlySet<PlainWay>> = {
  absent: new Set(),
  read: (text) => {
    const names = text.split(",").map((name) => name.trim());
    const known = names.flatMap((name) => PLAIN_WAYS.filter((way) => way === name));
    return known.length === names.length ? new Set(known) : new Wrong(`is not a list of ${PLAIN_WAYS.join(", ")}`);
  },
};

interface Transport {
  readonly mode: "sandbox" | "production";
  readonly databaseUrl: string | undefined;
  readonly migrateUrl: string | undefined;
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
  readonly withoutTls: ReadonlySet<PlainWay>;
}

export function transportContradictions({ mode, databaseUrl, migrateUrl, ...transport }: Transport): string[] {
  const lines: string[] = [];
  if ((transport.tlsCert === undefined) !== (transport.tlsKey === undefined)) {
    lines.push("PARBOOK_TLS_CERT and PARBOOK_TLS_KEY are two halves: set both or neither");
  }
  if (mode === "sandbox" || transport.withoutTls.has("database")) return lines;
  for (const [name, url] of Object.entries({ PARBOOK_DATABASE_URL: databaseUrl, PARBOOK_MIGRATE_URL: migrateUrl })) {
    if (url === undefined || isLocal(url) || speaksTls(url)) continue;
    lines.push(
      `${name} goes over the network without TLS: add ?sslmode=verify-full, or set PARBOOK_WITHOUT_TLS=database where the network takes care of it`,
    );
  }
  return lines;
}

/** A socket of this machine, or loopback. */
function isLocal(url: string): boolean {
  const { hostname, searchParams } = new URL(url);
  const host = searchParams.get("host") ?? decodeURIComponent(hostname);
  return host === "" || host.startsWith("/") || /^(?:localhost|127(?:\.[0-9]+){3}|::1|\[::1\])$/.test(host);
}

/** As the driver reads it. `prefer` and `allow` would go without where the server has none. */
function speaksTls(url: string): boolean {
  const { searchParams } = new URL(url);
  const mode = searchParams.get("sslmode");
  if (mode !== null) return ["require", "verify-ca", "verify-full", "no-verify"].includes(mode);
  return ["true", "1"].includes(searchParams.get("ssl") ?? "");
}
