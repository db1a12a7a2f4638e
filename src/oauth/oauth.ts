/**
 * OAuth 2.0 for API clients: issues access tokens on auth_url, and says what a token grants. Every node may do either;
 * what they share is in the database, and each follows it within seconds.
 */
import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import { Clients } from "../customers/clients.ts";
import type { Database } from "../postgres/database.ts";
import type { Clock } from "../std/clock.ts";
import { IdSource } from "../std/id.ts";
import { createAuthServer } from "./auth-server.ts";
import { DisabledClients } from "./disabled-clients.ts";
import type { Grant } from "./grant.ts";
import { type Poll, startPoll } from "./poll.ts";
import { SigningKeys } from "./signing-keys.ts";
import { Tokens } from "./tokens.ts";

export { tokenPath } from "./token-operation.ts";

export interface OauthOptions {
  readonly database: Database;
  readonly clock: Clock;
  /** The public addresses. Asked when they are needed: with port 0 they are known once the servers listen. */
  readonly authUrl: () => string;
  readonly baseUrl: () => string;
  readonly log: FastifyBaseLogger;
}

export interface Oauth {
  /** Makes the first signing key when there is none, and follows keys and disabled clients from then on. */
  start(): Promise<void>;
  /** Stops following. The server is its owner's to close, before this. */
  stop(): Promise<void>;
  /** What a token grants; undefined when it grants nothing. Throws `DatabaseAway` when that cannot be known. */
  verify(token: string): Promise<Grant | undefined>;
  /** For auth_url. Not listening yet. */
  readonly authServer: FastifyInstance;
  /** The new key signs ten seconds later; the old one verifies until its last token has expired. Answers the new kid. */
  rotateSigningKey(): Promise<string>;
}

/** Every node has read a change after this and a little: well within the 5 s of behaviour.md, section 2. */
const FOLLOWS_EVERY_MS = 2_000;

export function createOauth({ database, clock, authUrl, baseUrl, log }: OauthOptions): Oauth {
  const ids = new IdSource(clock);
  const onUnrecordedUse = (clientId: string, error: unknown): void =>
    log.warn({ client_id: clientId, err: error }, "the last use of a secret could not be recorded");
  const clients = new Clients({ database, clock, ids, onUnrecordedUse });
  const keys = new SigningKeys({ database, clock });
  const disabled = new DisabledClients({ clients, clock });
  const tokens = new Tokens({ keys, disabled, clock, ids, authUrl, baseUrl });
  const follow = async (): Promise<void> => {
    await disabled.follow();
    await keys.follow();
  };
  let poll: Poll | undefined;
  return {
    start: async () => {
      await follow();
      poll = startPoll(FOLLOWS_EVERY_MS, follow, (error) =>
        log.warn({ err: error }, "signing keys and disabled clients could not be read"),
      );
    },
    stop: async () => poll?.stop(),
    verify: (token) => tokens.verify(token),
    authServer: createAuthServer({ authUrl, keys, clients, tokens, ids, log }),
    rotateSigningKey: () => keys.rotate(),
  };
}
