/**
 * API clients: what calls in a customer's name. A client is known by its client_id, proves itself by a secret, and
 * holds scopes. Secrets are shown once, when they are made; afterwards there is only their digest.
 */
import { type Database, serverError } from "../../postgres/database.ts";
import { waitForStandby } from "../../postgres/durability.ts";
import { assert } from "../../std/assert.ts";
import { type ComparedClock, type Instant, requireRight } from "../../std/clock.ts";
import type { IdSource, Uuid } from "../../std/id.ts";
import { isWithin, type Network } from "../../std/network.ts";
import type { CustomerId } from "../customer-id.ts";
import { digestSecret, generateSecret, SecretMatcher } from "./secrets.ts";
import {
  endSecrets,
  findClient,
  insertClient,
  insertSecret,
  listRestricted,
  lockClient,
  type RestrictedClient,
  type StoredSecret,
  setDisabled,
  setLastUsed,
  setNetworks,
} from "./store.ts";

/** Who has proved to be an API client. */
export interface AuthenticatedClient {
  readonly clientId: string;
  readonly customerId: CustomerId;
  /** As the operator wrote them; `*` stands for all. */
  readonly scopes: readonly string[];
}

export interface NewClient {
  readonly customerId: CustomerId;
  readonly scopes: readonly string[];
  /** Where it may call from. Left out: from anywhere. */
  readonly networks?: readonly Network[] | undefined;
  /** Left out: an id is made. */
  readonly clientId?: string | undefined;
  /** Left out: a secret is made. */
  readonly secret?: string | undefined;
}

/** A client_id with its secret in clear, for the one moment in which it is shown. */
export interface ShownSecret {
  readonly clientId: string;
  readonly secret: string;
}

export type NewClientRejection =
  | "malformed_client_id"
  | "malformed_secret"
  | "malformed_scope"
  | "client_without_scopes"
  | "wrong_number_of_networks"
  | "client_already_exists"
  | "customer_not_found";

/** Only our own log may tell the first two apart: to the caller they are the same. */
export type AuthenticationRejection =
  | "client_authentication_failed"
  | "address_not_allowed"
  | "too_many_authentications";

/** The longest client_id and secret that there can be; more need not be looked up. */
export const CLIENT_ID_MAX_LENGTH = 100;
export const SECRET_MAX_LENGTH = 256;

/** Bounds what every node reads again and again. */
const NETWORKS_AT_MOST = 100;

/** RFC 6749, appendices A.1 and A.2: client_id and client_secret are printable ASCII. */
const VISIBLE = /^[\x20-\x7e]+$/;
/** RFC 6749, section 3.3: a scope token. */
const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/;

const USE_RECORDED_EVERY_MS = 60_000;

export interface ClientsOptions {
  readonly database: Database;
  readonly clock: ComparedClock;
  readonly ids: IdSource;
  /** Told when the last use of a secret could not be recorded. Nothing else comes of it. */
  readonly onUnrecordedUse: (clientId: string, error: unknown) => void;
}

export class Clients {
  readonly #database: Database;
  readonly #clock: ComparedClock;
  readonly #ids: IdSource;
  readonly #onUnrecordedUse: ClientsOptions["onUnrecordedUse"];
  readonly #matcher = new SecretMatcher();
  /** Secrets whose use is being recorded: each once at a time, however many requests come with it. */
  readonly #recording = new Set<Uuid>();

  constructor({ database, clock, ids, onUnrecordedUse }: ClientsOptions) {
    this.#database = database;
    this.#clock = clock;
    this.#ids = ids;
    this.#onUnrecordedUse = onUnrecordedUse;
  }

  /** Makes a client with one secret. Whether a scope is one that the service knows is the caller's to judge. */
  async create(request: NewClient): Promise<ShownSecret | NewClientRejection> {
    const { customerId, scopes, networks, clientId = this.#ids.next(), secret = generateSecret() } = request;
    if (!isVisible(clientId, CLIENT_ID_MAX_LENGTH)) return "malformed_client_id";
    if (!isVisible(secret, SECRET_MAX_LENGTH)) return "malformed_secret";
    if (scopes.length === 0) return "client_without_scopes";
    if (!scopes.every((scope) => SCOPE_TOKEN.test(scope))) return "malformed_scope";
    if (!isListOfNetworks(networks)) return "wrong_number_of_networks";
    const digest = { id: this.#ids.next(), ...(await digestSecret(secret)) };
    const client = { clientId, customerId, scopes, networks };
    try {
      const made = await insertClient(this.#database, client, digest, this.#clock.now());
      if (made) return { clientId, secret };
      await waitForStandby(this.#database);
      return "client_already_exists";
    } catch (error) {
      if (serverError(error)?.constraint === "client_customer_id_fkey") return "customer_not_found";
      throw error;
    }
  }

  /**
   * Gives a client a new secret. Those that it has stay valid for `overlapMs` more, so that whoever uses them can
   * change over without a gap; zero ends them at once. A client that is disabled gets none: it would be good for nothing.
   */
  async rotateSecret(
    clientId: string,
    overlapMs: number,
  ): Promise<ShownSecret | "client_not_found" | "client_disabled"> {
    assert(overlapMs >= 0, "an overlap does not end before it begins");
    // By a clock that is years ahead the former secret would be good for years.
    requireRight(this.#clock);
    const secret = generateSecret();
    const digest = { id: this.#ids.next(), ...(await digestSecret(secret)) };
    return this.#database.transaction(async (transaction) => {
      const state = await lockClient(transaction, clientId);
      if (state !== "live") return state;
      const now = this.#clock.now();
      await endSecrets(transaction, clientId, now, (now + overlapMs) as Instant);
      await insertSecret(transaction, clientId, digest, now);
      return { clientId, secret };
    });
  }

  /**
   * Says where a client may call from; `undefined`: from anywhere. It gets no new token elsewhere from now on, and its
   * live ones are soon refused there (`listRestricted`).
   */
  async restrict(
    clientId: string,
    networks: readonly Network[] | undefined,
  ): Promise<"restricted" | "client_not_found" | "wrong_number_of_networks"> {
    if (!isListOfNetworks(networks)) return "wrong_number_of_networks";
    return (await setNetworks(this.#database, clientId, networks)) ? "restricted" : "client_not_found";
  }

  /** Ends a client for good: it gets no new tokens from now on, and its live ones are soon refused (`listRestricted`). */
  async disable(clientId: string): Promise<"disabled" | "client_not_found"> {
    return (await setDisabled(this.#database, clientId, this.#clock.now())) ? "disabled" : "client_not_found";
  }

  /** The clients that may not call from everywhere: those with networks, and with none those disabled since this time. */
  listRestricted(since: Instant): Promise<RestrictedClient[]> {
    return listRestricted(this.#database, since);
  }

  /**
   * Who presents this client_id and this secret from this address. A client that is unknown, one that is disabled, a
   * wrong secret and an address that is not allowed are the same refusal after the same work: one look-up, one comparison.
   */
  async authenticate(
    clientId: string,
    secret: string,
    address: string,
  ): Promise<AuthenticatedClient | AuthenticationRejection> {
    const client = await findClient(this.#database, clientId);
    const now = this.#clock.now();
    const live = client?.secrets.filter(({ expiresAt }) => expiresAt === undefined || now < expiresAt) ?? [];
    const matched = await this.#matcher.match(secret, live, now);
    if (matched === "busy") return "too_many_authentications";
    if (client === undefined || client.disabledAt !== undefined || matched === undefined) {
      return "client_authentication_failed";
    }
    if (client.networks !== undefined && !isWithin(client.networks, address)) return "address_not_allowed";
    this.#recordUse(clientId, matched, now);
    return { clientId, customerId: client.customerId, scopes: client.scopes };
  }

  /** Nobody waits for this: an answer is not late because of a note for the operator. */
  #recordUse(clientId: string, { id, lastUsedAt }: StoredSecret, now: Instant): void {
    const unlessAfter = (now - USE_RECORDED_EVERY_MS) as Instant;
    if (lastUsedAt !== undefined && lastUsedAt > unlessAfter) return;
    if (this.#recording.has(id)) return;
    this.#recording.add(id);
    setLastUsed(this.#database.commits, { clientId, id }, now, unlessAfter)
      .catch((error: unknown) => this.#onUnrecordedUse(clientId, error))
      .finally(() => this.#recording.delete(id));
  }
}

function isVisible(text: string, maxLength: number): boolean {
  return text.length <= maxLength && VISIBLE.test(text);
}

/** An empty list would shut everybody out, which is what disabling is for. */
function isListOfNetworks(networks: readonly Network[] | undefined): boolean {
  return networks === undefined || (networks.length >= 1 && networks.length <= NETWORKS_AT_MOST);
}
