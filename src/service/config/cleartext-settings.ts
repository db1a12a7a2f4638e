/** Which links may be unencrypted in production. */
import { InvalidValue, type Setting } from "./setting.ts";

export const CLEARTEXT_LINKS = ["http", "database"] as const;
/** `http`: from callers to the service. `database`: from the service to PostgreSQL. */
export type CleartextLink = (typeof CLEARTEXT_LINKS)[number];

/** The links that are secured otherwise, such as by a TLS proxy or a private network. */
export const withoutTls: Setting<ReadonlySet<CleartextLink>> = {
  absent: new Set(),
  read: (text) => {
    const names = text.split(",").map((name) => name.trim());
    const known = names.flatMap((name) => CLEARTEXT_LINKS.filter((way) => way === name));
    return known.length === names.length
      ? new Set(known)
      : new InvalidValue(`is not a list of ${CLEARTEXT_LINKS.join(", ")}`);
  },
};

interface Transport {
  readonly mode: "sandbox" | "production";
  readonly databaseUrl: string | undefined;
  readonly migrateUrl: string | undefined;
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
  readonly withoutTls: ReadonlySet<CleartextLink>;
}

export function transportContradictions({ mode, databaseUrl, migrateUrl, ...transport }: Transport): string[] {
  const lines: string[] = [];
  if ((transport.tlsCert === undefined) !== (transport.tlsKey === undefined)) {
    lines.push("PARBOOK_TLS_CERT and PARBOOK_TLS_KEY belong together: set both or neither");
  }
  if (mode === "sandbox" || transport.withoutTls.has("database")) return lines;
  for (const [name, url] of Object.entries({ PARBOOK_DATABASE_URL: databaseUrl, PARBOOK_MIGRATE_URL: migrateUrl })) {
    if (url === undefined || isLocal(url) || isVerified(url)) continue;
    lines.push(
      `${name} does not make the driver verify who it talks to: add ?sslmode=verify-full, name localhost or a socket's directory if the database is on this machine, or set PARBOOK_WITHOUT_TLS=database if the network itself is secure`,
    );
  }
  return lines;
}

/** A Unix socket or loopback. Without a host it is not known: the driver would use PGHOST. */
function isLocal(url: string): boolean {
  const { hostname, searchParams } = new URL(url);
  // As the driver does, an empty parameter is ignored.
  const host = searchParams.get("host") || decodeURIComponent(hostname);
  return host.startsWith("/") || /^(?:localhost|127(?:\.[0-9]+){3}|::1|\[::1\])$/.test(host);
}

/**
 * The only mode that checks certificate and host name whatever other parameters say. `require` and `ssl=1` would too, but
 * not with `uselibpqcompat=true`, nor in the driver's next version.
 */
const isVerified = (url: string): boolean => new URL(url).searchParams.get("sslmode") === "verify-full";
