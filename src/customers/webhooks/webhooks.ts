/**
 * Webhooks, as their customers or the operator set them. What is delivered to them is in src/webhooks/.
 *
 * States of a webhook:
 *   ACTIVE    its events are delivered. A customer has at most 10 of these.
 *   DISABLED  by its customer, by the operator, or because of its receiver. Nothing is delivered; it keeps its place.
 *   deleted   for good. Nobody sees it any more, and its secrets are gone.
 *
 * A signing secret that is replaced signs beside its successor for a while, so that receivers can learn the new one.
 */
import type { Caller } from "../../ledger/caller.ts";
import { recordConfigurationWrite } from "../../ledger/configuration-writes.ts";
import { type Rejection, Unavailable } from "../../ledger/decision.ts";
import type { Database, Queryable } from "../../postgres/database.ts";
import { assert, must } from "../../std/assert.ts";
import { type ComparedClock, formatInstant, type Instant, requireCorrectTime } from "../../std/clock.ts";
import type { IdSource, Uuid } from "../../std/id.ts";
import { done, type Rejected, type Result, reject } from "../../std/result.ts";
import { FairAdmission, TRANSACTIONS } from "../../web/limits/fair-admission.ts";
import type { CustomerId } from "../customer-id.ts";
import type { ListOptions } from "../list-queries.ts";
import { checkWebhook, type InvalidWebhook, type WebhookRules } from "./rules.ts";
import { type UnreadableWebhook, WebhookSecrets } from "./secrets.ts";
import {
  endSigningSecrets,
  findWebhook,
  insertSecrets,
  insertWebhook,
  listWebhooks,
  lockWebhook,
  lockWebhooksOf,
  MOST_ACTIVE,
  raiseVersion,
  readActiveVersions,
  readPublicKeys,
  readTaken,
  readWebhooks,
  removeReceiverSecrets,
  setActive,
  setDeleted,
  setDisabled,
  setSettings,
} from "./store.ts";
import type { DeliverableWebhook, DisablingReason, Webhook, WebhookId, WebhookSettings } from "./webhook.ts";

export type { InvalidWebhook } from "./rules.ts";
export type { DeliverableWebhook, Webhook, WebhookId, WebhookSettings } from "./webhook.ts";

/** Of a customer, disabled ones included. */
const MOST_WEBHOOKS = 100;
const MOST_OPENED = 1_000;
/** Of a webhook and its secrets, until both are of one version. */
const MOST_READS = 10;

export const LONGEST_OVERLAP_MS = 7 * 86_400_000;

/** What a customer asks for. */
export interface WebhookRequest extends WebhookSettings {
  /** The API key, or the client secret, of `receiverAccess`. Undefined: the stored one stays. */
  readonly receiverSecret: string | undefined;
}

export interface WebhookNotFound extends Rejection {
  readonly code: "webhook_not_found";
  readonly webhookId: WebhookId;
}

export interface WebhookNameTaken extends Rejection {
  readonly code: "webhook_name_taken";
  readonly holder: WebhookId;
}

export interface TooManyWebhooks extends Rejection {
  readonly code: "too_many_webhooks";
  readonly limit: number;
  readonly of: "active" | "all";
}

/** A webhook with its secret for `v1` in clear, to be shown once. */
export interface ShownWebhook {
  readonly webhook: Webhook;
  readonly signingSecret: string;
}

export interface RotatedWebhook extends ShownWebhook {
  /** When its former secrets have ended. */
  readonly othersEndAt: Instant;
}

/** What happens in the transaction of a change, with the webhook as it is after it. */
export type Alongside = (transaction: Queryable, webhook: Webhook) => Promise<void>;

export interface WebhookFilter extends ListOptions {
  readonly isActive?: boolean | undefined;
}

export interface ActiveWebhooks {
  readonly active: ReadonlySet<WebhookId>;
  readonly changed: readonly DeliverableWebhook[];
  /** Those that were changed and whose secrets cannot be decrypted: the others do not wait for them. */
  readonly unreadable: readonly UnreadableWebhook[];
  /** Whether more have changed, which are read next time. */
  readonly hasMore: boolean;
}

export interface WebhooksOptions {
  readonly database: Database;
  readonly clock: ComparedClock;
  readonly ids: IdSource;
  /** 256 bits each: the first encrypts, all decrypt. Empty: secrets are stored in clear. */
  readonly encryptionKeys: readonly Uint8Array[];
  readonly rules: WebhookRules;
}

export class Webhooks {
  readonly #database: Database;
  readonly #clock: ComparedClock;
  readonly #ids: IdSource;
  readonly #secrets: WebhookSecrets;
  readonly #rules: WebhookRules;
  readonly #changes = new FairAdmission(TRANSACTIONS);

  constructor({ database, clock, ids, encryptionKeys, rules }: WebhooksOptions) {
    this.#database = database;
    this.#clock = clock;
    this.#ids = ids;
    this.#secrets = new WebhookSecrets({ database, clock, ids, encryptionKeys });
    this.#rules = rules;
  }

  async create(
    customerId: CustomerId,
    request: WebhookRequest,
    alongside: Alongside,
    caller: Caller,
  ): Promise<Result<ShownWebhook, InvalidWebhook | WebhookNameTaken | TooManyWebhooks>> {
    const { receiverSecret, ...settings } = request;
    const checked = checkWebhook(settings, receiverSecret, false, this.#rules);
    if (checked.kind === "rejected") return checked;
    const id = this.#ids.next() as WebhookId;
    const { signing, signingSecret } = await this.#secrets.make(id);
    const secrets = [...signing, ...(await this.#secrets.forReceiver(id, settings.receiverAccess, receiverSecret))];
    return this.#change(customerId, async (transaction) => {
      const taken = await readTaken(transaction, customerId, settings.name);
      if (taken.nameHolder !== undefined) return reject({ code: "webhook_name_taken", holder: taken.nameHolder });
      if (taken.count >= MOST_WEBHOOKS) return reject({ code: "too_many_webhooks", limit: MOST_WEBHOOKS, of: "all" });
      if (taken.freePlace === undefined) return tooManyActive();
      const now = this.#clock.now();
      await insertWebhook(transaction, { id, customerId, ...settings }, taken.freePlace, now);
      await insertSecrets(transaction, secrets, now);
      const webhook = await get(transaction, customerId, id);
      await alongside(transaction, webhook);
      await record(transaction, caller, webhook, { ...textsOf(webhook), secret_ids: idsOf(secrets) });
      return done({ webhook, signingSecret });
    });
  }

  list(filter: WebhookFilter): Promise<Webhook[]> {
    return listWebhooks(this.#database, { ...filter, isDeleted: false });
  }

  find(customerId: CustomerId, id: WebhookId): Promise<Webhook | undefined> {
    return findWebhook(this.#database, customerId, id);
  }

  /**
   * Replaces its settings. The stored secret for its receiver stays only if it goes to the same places as before.
   * @param request what it is to be; or how that follows from what it is, which nobody changes meanwhile
   */
  update(
    customerId: CustomerId,
    id: WebhookId,
    request: WebhookRequest | ((webhook: Webhook) => WebhookRequest),
    caller: Caller,
  ): Promise<Result<Webhook, WebhookNotFound | InvalidWebhook | WebhookNameTaken>> {
    return this.#changeOne<Webhook, InvalidWebhook | WebhookNameTaken>(customerId, id, async (transaction, webhook) => {
      const { receiverSecret, ...settings } = typeof request === "function" ? request(webhook) : request;
      const checked = checkWebhook(settings, receiverSecret, goesToTheSame(webhook, settings), this.#rules);
      if (checked.kind === "rejected") return checked;
      const { nameHolder = id } = await readTaken(transaction, customerId, settings.name);
      if (nameHolder !== id) return reject({ code: "webhook_name_taken", holder: nameHolder });
      const now = this.#clock.now();
      await setSettings(transaction, id, settings, now);
      if (receiverSecret !== undefined || settings.receiverAccess === undefined) {
        await removeReceiverSecrets(transaction, id);
        const secrets = await this.#secrets.forReceiver(id, settings.receiverAccess, receiverSecret);
        await insertSecrets(transaction, secrets, now);
      }
      const after = await get(transaction, customerId, id);
      await record(transaction, caller, after, {
        ...textsOf(after),
        ...receiverSecretText(webhook, after, receiverSecret),
      });
      return done(after);
    });
  }

  delete(customerId: CustomerId, id: WebhookId, caller: Caller): Promise<Result<Webhook, WebhookNotFound>> {
    return this.#changeOne(customerId, id, async (transaction, webhook) => {
      const now = this.#clock.now();
      await setDeleted(transaction, id, now);
      await record(transaction, caller, webhook, { deleted_at: formatInstant(now) });
      return done(webhook);
    });
  }

  /**
   * Gives it new secrets to sign with.
   * @param overlapMs how long the former ones sign too; 0 ends them at once
   * @throws ClockFault
   */
  async rotateSecret(
    customerId: CustomerId,
    id: WebhookId,
    overlapMs: number,
    caller: Caller,
  ): Promise<Result<RotatedWebhook, WebhookNotFound>> {
    assert(overlapMs >= 0 && overlapMs <= LONGEST_OVERLAP_MS, "an overlap is up to a week");
    // With a clock years ahead, the former secrets would sign for years.
    requireCorrectTime(this.#clock);
    const { signing, signingSecret } = await this.#secrets.make(id);
    return this.#changeOne(customerId, id, async (transaction) => {
      const now = this.#clock.now();
      const until = (now + overlapMs) as Instant;
      await endSigningSecrets(transaction, id, now, until);
      await insertSecrets(transaction, signing, now);
      await raiseVersion(transaction, id, now);
      const webhook = await get(transaction, customerId, id);
      const details = { secret_ids: idsOf(signing), other_secrets_end_at: formatInstant(until) };
      await record(transaction, caller, webhook, details);
      return done({ webhook, signingSecret, othersEndAt: until });
    });
  }

  /** `alongside` decides where its deliveries go on. One that is enabled already stays as it is. */
  enable(
    customerId: CustomerId,
    id: WebhookId,
    alongside: Alongside,
    caller: Caller,
  ): Promise<Result<Webhook, WebhookNotFound | TooManyWebhooks>> {
    return this.#changeOne(customerId, id, async (transaction, webhook) => {
      if (webhook.status === "ACTIVE") return done(webhook);
      const { freePlace } = await readTaken(transaction, customerId, webhook.name);
      if (freePlace === undefined) return tooManyActive();
      await setActive(transaction, id, freePlace, this.#clock.now());
      const enabled = await get(transaction, customerId, id);
      await alongside(transaction, enabled);
      await record(transaction, caller, enabled, { status: "ACTIVE" });
      return done(enabled);
    });
  }

  /** By its customer or the operator. One that is disabled already stays as it is. */
  disableBy(caller: Caller, customerId: CustomerId, id: WebhookId): Promise<Result<Webhook, WebhookNotFound>> {
    return this.#changeOne(customerId, id, async (transaction, webhook) => {
      if (webhook.status === "DISABLED") return done(webhook);
      const by = "operator" in caller ? "operator" : "customer";
      await setDisabled(transaction, id, webhook.version, by, this.#clock.now());
      await record(transaction, caller, webhook, { status: "DISABLED" });
      return done(await get(transaction, customerId, id));
    });
  }

  /** Disables it because of its receiver. @returns false if it has changed since this version */
  disable(id: WebhookId, version: bigint, reason: DisablingReason, at: Instant): Promise<boolean> {
    return setDisabled(this.#database.commits, id, version, reason, at);
  }

  /**
   * The active webhooks of all customers: their ids, and those of them whose version is not the known one, a thousand at a
   * time: their secrets are decrypted.
   */
  async listActive(known: ReadonlyMap<WebhookId, bigint>): Promise<ActiveWebhooks> {
    const versions = await readActiveVersions(this.#database);
    const changed = [...versions].filter(([id, version]) => known.get(id) !== version).map(([id]) => id);
    // What is delivered to comes first: it has other settings by now.
    changed.sort((a, b) => Number(known.has(b)) - Number(known.has(a)));
    const ids = changed.slice(0, MOST_OPENED);
    const { opened, unreadable } = await this.#secrets.open(await readWebhooks(this.#database, ids));
    return { active: new Set(versions.keys()), changed: opened, unreadable, hasMore: ids.length < changed.length };
  }

  /**
   * One with its secrets, whether it is active or not.
   * @throws CannotDecrypt
   * @throws Unavailable when it has changed each time that it was read
   */
  async findDeliverable(customerId: CustomerId, id: WebhookId): Promise<DeliverableWebhook | undefined> {
    for (let reads = 0; reads < MOST_READS; reads += 1) {
      const webhook = await findWebhook(this.#database, customerId, id);
      if (webhook === undefined) return undefined;
      const { opened, unreadable } = await this.#secrets.open([webhook]);
      for (const { error } of unreadable) throw error;
      if (opened[0] !== undefined) return opened[0];
    }
    throw new Unavailable("the webhook is being changed again and again: try later");
  }

  /**
   * Encrypts the stored secrets of all webhooks with the first encryption key: those in clear or encrypted with another one.
   * @returns how many; and how many no key decrypts, which stay as they are
   */
  encryptSecretsAnew(): Promise<{ readonly encrypted: number; readonly unreadable: number }> {
    return this.#secrets.encryptAnew();
  }

  /** With which anybody verifies its signatures of `v1a`. */
  findPublicKeys(id: WebhookId): Promise<readonly string[] | undefined> {
    return readPublicKeys(this.#database, id);
  }

  // Transactions -----------------------------------------------------------------------------------------------------

  async #change<Value>(customerId: CustomerId, work: (transaction: Queryable) => Promise<Value>): Promise<Value> {
    const isIn = await this.#changes.enter(customerId);
    if (!isIn) throw new Unavailable("too many changes of webhooks at once");
    try {
      return await this.#database.transaction(async (transaction) => {
        await lockWebhooksOf(transaction, customerId);
        return work(transaction);
      });
    } finally {
      this.#changes.leave(customerId);
    }
  }

  #changeOne<Value, Why>(
    customerId: CustomerId,
    id: WebhookId,
    work: (transaction: Queryable, webhook: Webhook) => Promise<Result<Value, Why>>,
  ): Promise<Result<Value, Why | WebhookNotFound>> {
    return this.#change<Result<Value, Why | WebhookNotFound>>(customerId, async (transaction) => {
      const webhook = await lockWebhook(transaction, customerId, id);
      return webhook === undefined ? reject({ code: "webhook_not_found", webhookId: id }) : work(transaction, webhook);
    });
  }
}

/** Otherwise a client that may change a webhook could have its secret sent to another server. */
function goesToTheSame(before: WebhookSettings, after: WebhookSettings): boolean {
  return placesOf(before) === placesOf(after);
}

function placesOf({ url, receiverAccess }: WebhookSettings): string {
  const { kind } = receiverAccess ?? {};
  return JSON.stringify([url, kind, receiverAccess?.kind === "oauth" ? receiverAccess.tokenUrl : undefined]);
}

async function get(transaction: Queryable, customerId: CustomerId, id: WebhookId): Promise<Webhook> {
  return must(await findWebhook(transaction, customerId, id), "what was just written is there");
}

type Texts = Readonly<Record<string, string>>;

function record(transaction: Queryable, caller: Caller, { id, customerId }: Webhook, details: Texts): Promise<void> {
  return recordConfigurationWrite(transaction, caller, { kind: "webhook", subject: id, customerId, details });
}

/** What is set, each as a text. */
function textsOf(webhook: WebhookSettings): Texts {
  const { name, url, types, body, deliveryOrder, deliveriesPerSecond, receiverAccess } = webhook;
  return {
    name,
    url,
    types: types.join(","),
    body,
    delivery_order: deliveryOrder,
    deliveries_per_second: String(deliveriesPerSecond),
    receiver_access: receiverAccess === undefined ? "none" : JSON.stringify(receiverAccess),
  };
}

/** What became of the secret for its receiver. Nothing if it had none and has none. */
function receiverSecretText(before: WebhookSettings, after: WebhookSettings, given: string | undefined): Texts {
  if (after.receiverAccess === undefined)
    return before.receiverAccess === undefined ? {} : { receiver_secret: "removed" };
  return { receiver_secret: given === undefined ? "as before" : "another" };
}

const idsOf = (secrets: readonly { readonly id: Uuid }[]): string => secrets.map(({ id }) => id).join(",");

const tooManyActive = (): Rejected<TooManyWebhooks> =>
  reject({ code: "too_many_webhooks", limit: MOST_ACTIVE, of: "active" });
