/**
 * OAuth 2.0 for API clients: issues access tokens on auth_url and verifies them. Every node can do both. They share
 * signing keys and client restrictions through the database, and pick up changes within seconds.
 */
import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import type { Clients } from "../customers/clients/clients.ts";
import type { Database } from "../postgres/database.ts";
import type { ComparedClock } from "../std/clock.ts";
import type { IdSource } from "../std/id.ts";
import { type Poll, startPoll } from "../std/poll.ts";
import { KeyEncryption } from "./keys/key-encryption.ts";
import { SigningKeys } from "./keys/signing-keys.ts";
import { type AuthServerOptions, createAuthServer } from "./server/auth-server.ts";
import { ClientRestrictions } from "./tokens/client-restrictions.ts";
import type { Grant, RestrictedToken } from "./tokens/grant.ts";
import { Freshness } from "./tokens/token-data-freshness.ts";
import { Tokens } from "./tokens/tokens.ts";

export { DISCOVERY_PATHS, TOKEN_PATH } from "./server/metadata.ts";
export { tokenPath } from "./server/token-operation.ts";

export interface SigningKeySettings {
  readonly encryptionKeys: readonly Uint8Array[];
  readonly replacedAfterMs: number;
}

type ServerOptions = Pick<
  AuthServerOptions,
  "onDenied" | "observe" | "onTokenRequest" | "limiter" | "readiness" | "trustedProxies" | "tls" | "scopeWords"
>;

export interface OauthOptions extends ServerOptions {
  readonly database: Database;
  readonly clock: ComparedClock;
  readonly ids: IdSource;
  /** One per process, because it caches matched secrets. */
  readonly clients: Clients;
  /** The public URLs. Functions, because with port 0 they are known only once the servers listen. */
  readonly authUrl: () => string;
  readonly baseUrl: () => string;
  readonly log: FastifyBaseLogger;
  readonly signingKeys: SigningKeySettings;
}

export interface Oauth {
  /** Creates the first signing key if there is none, and starts polling keys and client restrictions. */
  start(): Promise<void>;
  /** Stops polling. Close `authServer` first. */
  stop(): Promise<void>;
  /**
   * @returns what a token grants from an address; nothing if undefined or restricted
   * @throws DatabaseAway when that cannot be determined
   */
  verify(token: string, address: string): Promise<Grant | RestrictedToken | undefined>;
  /** For auth_url. Not listening yet. */
  readonly authServer: FastifyInstance;
}

export function createSigningKeys(database: Database, clock: ComparedClock, settings: SigningKeySettings): SigningKeys {
  const { encryptionKeys, replacedAfterMs } = settings;
  return new SigningKeys({ database, clock, replacedAfterMs, encryption: new KeyEncryption(encryptionKeys) });
}

/** Every node must know a change within 5 s (docs/contract/tokens.md#access-tokens). */
const FOLLOWS_EVERY_MS = 2_000;

export function createOauth(options: OauthOptions): Oauth {
  const { database, clock, ids, clients, authUrl, baseUrl, log } = options;
  const keys = createSigningKeys(database, clock, options.signingKeys);
  const restrictions = new ClientRestrictions({ clients, clock });
  const freshness = new Freshness({ read: () => Promise.all([restrictions.read(), keys.read()]) });
  const tokens = new Tokens({ keys, clients, restrictions, freshness, clock, ids, authUrl, baseUrl });
  const follow = async (): Promise<void> => {
    await freshness.follow();
    await keys.renew();
  };
  let poll: Poll | undefined;
  return {
    start: async () => {
      await follow();
      poll = startPoll(FOLLOWS_EVERY_MS, follow, (error) =>
        log.warn({ err: error }, "signing keys and client restrictions could not be read; will retry"),
      );
    },
    stop: async () => poll?.stop(),
    verify: (token, address) => tokens.verify(token, address),
    authServer: createAuthServer({ ...options, keys, tokens }),
  };
}
