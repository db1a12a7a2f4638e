/** The secrets of webhooks: made, stored encrypted, and opened for what delivers. */
import type { Queryable } from "../../postgres/database.ts";
import { CannotDecrypt, isEncrypted, type SecretLabel, StorageEncryption } from "../../postgres/storage-encryption.ts";
import type { Clock, Instant } from "../../std/clock.ts";
import type { IdSource, Uuid } from "../../std/id.ts";
import { generateV1, generateV1a, readSigningSecret } from "./signing-secrets.ts";
import {
  pageSecrets,
  readSecrets,
  type SecretKind,
  type SecretOfVersion,
  type StoredSecret,
  setSecret,
} from "./store.ts";
import type { DeliverableWebhook, ReceiverAccess, Webhook, WebhookId } from "./webhook.ts";

type NewSecret = Omit<StoredSecret, "expiresAt">;

interface OpenedSecret extends StoredSecret {
  readonly plain: string;
}

export interface UnreadableWebhook {
  readonly webhook: Webhook;
  readonly error: CannotDecrypt;
}

interface Parts {
  readonly database: Queryable;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** 256 bits each: the first encrypts, all decrypt. Empty: secrets are stored in clear. */
  readonly encryptionKeys: readonly Uint8Array[];
}

export class WebhookSecrets {
  readonly #database: Queryable;
  readonly #clock: Clock;
  readonly #ids: IdSource;
  readonly #encryption: StorageEncryption;

  constructor({ database, clock, ids, encryptionKeys }: Parts) {
    this.#database = database;
    this.#clock = clock;
    this.#ids = ids;
    this.#encryption = new StorageEncryption(encryptionKeys);
  }

  /** New ones to sign with, to be stored; and the one that its customer gets, in clear. */
  async make(webhookId: WebhookId): Promise<{ readonly signing: NewSecret[]; readonly signingSecret: string }> {
    const signingSecret = generateV1();
    const { secret, publicKey } = generateV1a();
    const signing = [
      await this.#stored(webhookId, "v1", signingSecret),
      await this.#stored(webhookId, "v1a", secret, publicKey),
    ];
    return { signing, signingSecret };
  }

  /** What it shows to its receiver, to be stored. */
  async forReceiver(
    webhookId: WebhookId,
    access: ReceiverAccess | undefined,
    secret: string | undefined,
  ): Promise<NewSecret[]> {
    return access === undefined || secret === undefined ? [] : [await this.#stored(webhookId, access.kind, secret)];
  }

  async #stored(webhookId: WebhookId, kind: SecretKind, plain: string, publicKey?: string): Promise<NewSecret> {
    const id = this.#ids.next();
    const secret = (await this.#encryption.encrypt(labelOf({ id, kind }), plain)) ?? plain;
    return { id, webhookId, kind, secret, publicKey };
  }

  /**
   * Leaves out those that were deleted or changed since they were read: the secret for a receiver must never be shown to one
   * that the webhook had before.
   */
  async open(webhooks: readonly Webhook[]): Promise<{ opened: DeliverableWebhook[]; unreadable: UnreadableWebhook[] }> {
    const opened: DeliverableWebhook[] = [];
    const unreadable: UnreadableWebhook[] = [];
    if (webhooks.length === 0) return { opened, unreadable };
    const storedOf = new Map(webhooks.map(({ id }) => [id, [] as SecretOfVersion[]]));
    for (const secret of await readSecrets(this.#database, [...storedOf.keys()]))
      storedOf.get(secret.webhookId)?.push(secret);
    for (const webhook of webhooks) {
      const stored = (storedOf.get(webhook.id) ?? []).filter((one) => one.webhookVersion === webhook.version);
      if (stored.length === 0) continue;
      try {
        const secrets: OpenedSecret[] = [];
        for (const secret of stored) secrets.push({ ...secret, plain: await this.#opened(secret) });
        opened.push(deliverable(webhook, secrets, () => this.#clock.now()));
      } catch (error) {
        if (!(error instanceof CannotDecrypt)) throw error;
        unreadable.push({ webhook, error });
      }
    }
    return { opened, unreadable };
  }

  /**
   * Encrypts all with the first encryption key that are in clear or encrypted with another one.
   * @returns how many there were, and how many cannot be decrypted: these stay as they are
   */
  async encryptAnew(): Promise<{ readonly encrypted: number; readonly unreadable: number }> {
    const count = { encrypted: 0, unreadable: 0 };
    for (let page = await pageSecrets(this.#database, undefined); page.length > 0; ) {
      for (const stored of page) {
        try {
          const renewed = await this.#encryption.renew(labelOf(stored), stored.secret);
          if (renewed !== undefined && (await setSecret(this.#database, stored, renewed))) count.encrypted += 1;
        } catch (error) {
          if (!(error instanceof CannotDecrypt)) throw error;
          count.unreadable += 1;
        }
      }
      page = await pageSecrets(this.#database, page.at(-1)?.id);
    }
    return count;
  }

  async #opened(stored: StoredSecret): Promise<string> {
    const { secret } = stored;
    return isEncrypted(secret) ? this.#encryption.decrypt(labelOf(stored), secret) : secret;
  }
}

const labelOf = ({ id, kind }: { readonly id: Uuid; readonly kind: SecretKind }): SecretLabel => ({
  id,
  type: `webhook-${kind}`,
  name: "the secret of a webhook",
});

function deliverable(webhook: Webhook, secrets: readonly OpenedSecret[], now: () => Instant): DeliverableWebhook {
  const signing = secrets.flatMap(({ kind, plain, expiresAt }) =>
    kind === "v1" || kind === "v1a" ? [{ secret: readSigningSecret(kind, plain), expiresAt }] : [],
  );
  return {
    ...webhook,
    get signingSecrets() {
      const at = now();
      return signing.filter(({ expiresAt }) => expiresAt === undefined || at < expiresAt).map(({ secret }) => secret);
    },
    receiverSecret: secrets.find(({ kind }) => kind === webhook.receiverAccess?.kind)?.plain,
  };
}
