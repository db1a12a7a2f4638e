/**
 * API clients, which call on behalf of a customer. A client has a client_id, authenticates by a secret, and holds scopes.
 * A secret is shown once, when it is created; only its digest is stored.
 */
import type { Caller } from "../../ledger/caller.ts";
import { recordConfigurationWrite } from "../../ledger/configuration-writes.ts";
import { Unavailable } from "../../ledger/decision.ts";
import { type Database, type Queryable, serverError } from "../../postgres/database.ts";
import { waitForStandby } from "../../postgres/durability.ts";
import { assert } from "../../std/assert.ts";
import { type ComparedClock, formatInstant, type Instant, requireCorrectTime } from "../../std/clock.ts";
import type { IdSource, Uuid } from "../../std/id.ts";
import { isWithin, type Network } from "../../std/network.ts";
import { type Check, done, PASSED, type Result, reject } from "../../std/result.ts";
import { FairAdmission, TRANSACTIONS } from "../../web/limits/fair-admission.ts";
import type { CustomerId } from "../customer-id.ts";
import { digestSecret, generateSecret, SecretMatcher, schemeOf } from "./secrets.ts";
import {
  type ClientFilter,
  endSecrets,
  findClient,
  getListedClient,
  hasClient,
  insertClient,
  insertSecret,
  type ListedClient,
  type LockedClient,
  listClients,
  listRestricted,
  lockClient,
  type RestrictedClient,
  type StoredClient,
  type StoredSecret,
  setDisabled,
  setLastUsed,
  setNetworks,
} from "./store.ts";

export type { ClientFilter, ClientPosition, ListedClient } from "./store.ts";

export interface AuthenticatedClient {
  readonly clientId: string;
  readonly customerId: CustomerId;
  /** As the operator wrote them; `*` stands for all. */
  readonly scopes: readonly string[];
}

export interface NewClient {
  readonly customerId: CustomerId;
  readonly scopes: readonly string[];
  /** The networks that it may call from. Default: any. */
  readonly networks?: readonly Network[] | undefined;
  /** Default: generated. */
  readonly clientId?: string | undefined;
  /** Default: generated. */
  readonly secret?: string | undefined;
}

/** A client as it is at a time, with the secrets that have not expired then. */
interface LiveClient {
  readonly client: StoredClient | undefined;
  readonly secrets: readonly StoredSecret[];
  readonly now: Instant;
}

/** A client_id with its secret in clear, to be shown once. */
export interface ShownSecret {
  readonly clientId: string;
  readonly secret: string;
}

export interface RotatedSecret extends ShownSecret {
  /** When the client's other secrets have ended. */
  readonly othersEndAt: Instant;
}

export type NewClientRejection =
  | "malformed_client_id"
  | "malformed_secret"
  | "malformed_scope"
  | "client_without_scopes"
  | "wrong_number_of_networks"
  | "client_already_exists"
  | "customer_not_found";

/** The caller must not be able to distinguish the first two; the log may. */
export type AuthenticationRejection =
  | "unknown_client"
  | "client_authentication_failed"
  | "address_not_allowed"
  | "too_many_authentications";

export const CLIENT_ID_MAX_LENGTH = 100;
export const SECRET_MAX_LENGTH = 256;

/** Every node polls these. */
const MAX_NETWORKS = 100;

/** RFC 6749, appendices A.1 and A.2: client_id and client_secret are printable ASCII. */
const VISIBLE = /^[\x20-\x7e]+$/;
/** RFC 6749, section 3.3: a scope token. */
const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/;

const USE_RECORDING_INTERVAL_MS = 60_000;

export interface ClientsOptions {
  readonly database: Database;
  readonly clock: ComparedClock;
  readonly ids: IdSource;
  /** Called when the last use of a secret could not be recorded, which has no other effect. */
  readonly onUnrecordedUse: (clientId: string, error: unknown) => void;
}

export class Clients {
  readonly #database: Database;
  readonly #clock: ComparedClock;
  readonly #ids: IdSource;
  readonly #onUnrecordedUse: ClientsOptions["onUnrecordedUse"];
  readonly #matcher = new SecretMatcher();
  /** By customers, over the API. */
  readonly #disablings = new FairAdmission(TRANSACTIONS);
  /** Secrets whose use is being recorded: one write at a time for each. */
  readonly #recording = new Set<Uuid>();

  constructor({ database, clock, ids, onUnrecordedUse }: ClientsOptions) {
    this.#database = database;
    this.#clock = clock;
    this.#ids = ids;
    this.#onUnrecordedUse = onUnrecordedUse;
  }

  /** Creates a client with one secret. Does not check that its scopes exist. */
  async create(request: NewClient, caller: Caller): Promise<Result<ShownSecret, NewClientRejection>> {
    const { customerId, scopes, networks, clientId = this.#ids.next(), secret = generateSecret() } = request;
    if (!isVisible(clientId, CLIENT_ID_MAX_LENGTH)) return reject("malformed_client_id");
    if (!isVisible(secret, SECRET_MAX_LENGTH)) return reject("malformed_secret");
    if (scopes.length === 0) return reject("client_without_scopes");
    if (!scopes.every((scope) => SCOPE_TOKEN.test(scope))) return reject("malformed_scope");
    if (!isListOfNetworks(networks)) return reject("wrong_number_of_networks");
    const digest = { id: this.#ids.next(), ...(await digestSecret(secret)) };
    const client = { clientId, customerId, scopes, networks };
    try {
      const made = await this.#database.transaction(async (transaction) => {
        if (!(await insertClient(transaction, client, digest, this.#clock.now()))) return false;
        const details = { scopes: scopes.join(","), networks: textOfNetworks(networks), secret_id: digest.id };
        await recordClientWrite(transaction, caller, clientId, customerId, details);
        return true;
      });
      if (made) return done({ clientId, secret });
      await waitForStandby(this.#database);
      return reject("client_already_exists");
    } catch (error) {
      if (serverError(error)?.constraint === "customer_exists") return reject("customer_not_found");
      throw error;
    }
  }

  /**
   * Gives a client a new secret.
   * @param overlapMs how long its other secrets stay valid; 0 ends them at once
   * @throws ClockFault
   */
  async rotateSecret(
    clientId: string,
    overlapMs: number,
    caller: Caller,
  ): Promise<Result<RotatedSecret, "client_not_found" | "client_disabled">> {
    assert(overlapMs >= 0, "an overlap is not negative");
    // With a clock years ahead, the old secrets would stay valid for years.
    requireCorrectTime(this.#clock);
    const secret = generateSecret();
    const digest = { id: this.#ids.next(), ...(await digestSecret(secret)) };
    return this.#changeClient(clientId, async (transaction, { customerId, isDisabled }) => {
      if (isDisabled) return reject("client_disabled");
      const now = this.#clock.now();
      const until = (now + overlapMs) as Instant;
      await endSecrets(transaction, clientId, now, until);
      await insertSecret(transaction, clientId, digest, now);
      const details = { secret_id: digest.id, other_secrets_end_at: formatInstant(until) };
      await recordClientWrite(transaction, caller, clientId, customerId, details);
      return done({ clientId, secret, othersEndAt: until });
    });
  }

  /**
   * Restricts a client to networks. Elsewhere it gets no more tokens, and its valid ones are rejected within seconds
   * (`listRestricted`).
   * @param networks undefined: any
   */
  async restrict(
    clientId: string,
    networks: readonly Network[] | undefined,
    caller: Caller,
  ): Promise<Check<"client_not_found" | "wrong_number_of_networks">> {
    if (!isListOfNetworks(networks)) return reject("wrong_number_of_networks");
    return this.#changeClient(clientId, async (transaction, { customerId }) => {
      await setNetworks(transaction, clientId, networks);
      await recordClientWrite(transaction, caller, clientId, customerId, { networks: textOfNetworks(networks) });
      return PASSED;
    });
  }

  /**
   * Disables a client for good. It gets no more tokens, and its valid ones are rejected within seconds (`listRestricted`).
   * An already disabled client keeps its time.
   */
  disable(clientId: string, caller: Caller): Promise<Check<"client_not_found">> {
    return this.#changeClient(clientId, async (transaction, client) => {
      await this.#disableLocked(transaction, clientId, client, caller);
      return PASSED;
    });
  }

  /** The same, for a customer that disables one of its own. @returns undefined when it has none of this client_id */
  async disableOf(customerId: CustomerId, clientId: string, caller: Caller): Promise<ListedClient | undefined> {
    const work = async (transaction: Queryable, client: LockedClient) => {
      await this.#disableLocked(transaction, clientId, client, caller);
      return done(await getListedClient(transaction, clientId));
    };
    const disabled = await this.#disablings.run(customerId, () => this.#changeClient(clientId, work, customerId));
    if (disabled === undefined) throw new Unavailable("too many changes of API clients at once");
    return disabled.kind === "done" ? disabled.value : undefined;
  }

  async #disableLocked(
    transaction: Queryable,
    clientId: string,
    { customerId, isDisabled }: LockedClient,
    caller: Caller,
  ): Promise<void> {
    if (isDisabled) return;
    const now = this.#clock.now();
    await setDisabled(transaction, clientId, now);
    await recordClientWrite(transaction, caller, clientId, customerId, { disabled_at: formatInstant(now) });
  }

  /**
   * Changes of one client are made one after the other.
   * @param customerId whose it must be; undefined: anybody's
   */
  #changeClient<Value, Why extends string>(
    clientId: string,
    work: (transaction: Queryable, client: LockedClient) => Promise<Result<Value, Why>>,
    customerId?: CustomerId,
  ): Promise<Result<Value, Why | "client_not_found">> {
    return this.#database.transaction(async (transaction) => {
      const client = await lockClient(transaction, clientId, customerId);
      return client === undefined ? reject("client_not_found") : work(transaction, client);
    });
  }

  /** A customer's clients, without their secrets. */
  list(filter: ClientFilter): Promise<readonly ListedClient[]> {
    return listClients(this.#database, filter);
  }

  /** Names the history of the database that is read now. */
  get history(): string {
    return this.#database.history;
  }

  /** Whether a customer has a client, enabled or not. */
  has(customerId: CustomerId, clientId: string): Promise<boolean> {
    return hasClient(this.#database, customerId, clientId);
  }

  /** The clients that are limited to networks, and, with an empty list, those disabled since this time. */
  listRestricted(since: Instant): Promise<RestrictedClient[]> {
    return listRestricted(this.#database, since);
  }

  /**
   * Authenticates a client. An unknown client, a disabled client, a wrong secret and a disallowed address take the same
   * work, one lookup and one comparison, so that timing does not distinguish them.
   */
  async authenticate(
    clientId: string,
    secret: string,
    address: string,
  ): Promise<Result<AuthenticatedClient, AuthenticationRejection>> {
    const found = await this.#findLive(clientId);
    const matched = await this.#matcher.match(secret, found.secrets, found.now, address);
    if (matched.kind === "rejected") return reject("too_many_authentications");
    if (found.client === undefined) return reject("unknown_client");
    if (matched.value === undefined) return reject("client_authentication_failed");
    // A chosen secret has waited for its turn: meanwhile it may have been ended, or its client disabled.
    const { client, secrets, now } = isGenerated(secret) ? found : await this.#findLive(clientId);
    const used = secrets.find(({ id }) => id === matched.value?.id);
    if (client === undefined || client.disabledAt !== undefined || used === undefined)
      return reject("client_authentication_failed");
    if (client.networks !== undefined && !isWithin(client.networks, address)) return reject("address_not_allowed");
    this.#recordUse(clientId, used, now);
    return done({ clientId, customerId: client.customerId, scopes: client.scopes });
  }

  /** A client as it is now, with the secrets that have not expired. */
  async #findLive(clientId: string): Promise<LiveClient> {
    const client = await findClient(this.#database, clientId);
    const now = this.#clock.now();
    const secrets = client?.secrets.filter(({ expiresAt }) => expiresAt === undefined || now < expiresAt) ?? [];
    return { client, secrets, now };
  }

  /** Not awaited: it must not delay the response. */
  #recordUse(clientId: string, { id, lastUsedAt }: StoredSecret, now: Instant): void {
    const unlessAfter = (now - USE_RECORDING_INTERVAL_MS) as Instant;
    if (lastUsedAt !== undefined && lastUsedAt > unlessAfter) return;
    if (this.#recording.has(id)) return;
    this.#recording.add(id);
    setLastUsed(this.#database.commits, { clientId, id }, now, unlessAfter)
      .catch((error: unknown) => this.#onUnrecordedUse(clientId, error))
      .finally(() => this.#recording.delete(id));
  }
}

/** Whether a secret has the form of generated ones, 256 random bits: these cannot be guessed at any rate. */
export function isGenerated(secret: string): boolean {
  return schemeOf(secret) === "hmac";
}

function isVisible(text: string, maxLength: number): boolean {
  return text.length <= maxLength && VISIBLE.test(text);
}

const textOfNetworks = (networks: readonly Network[] | undefined): string =>
  networks?.map(({ text }) => text).join(",") ?? "anywhere";

function recordClientWrite(
  transaction: Queryable,
  caller: Caller,
  clientId: string,
  customerId: CustomerId,
  details: Readonly<Record<string, string>>,
): Promise<void> {
  return recordConfigurationWrite(transaction, caller, { kind: "client", subject: clientId, customerId, details });
}

/** Rejects an empty list, which would disable the client. */
function isListOfNetworks(networks: readonly Network[] | undefined): boolean {
  return networks === undefined || (networks.length >= 1 && networks.length <= MAX_NETWORKS);
}
