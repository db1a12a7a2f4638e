/** Applies a bootstrap file. Every step can be done again without effect, so it is applied whole at every start. */

import type { Catalogue } from "../catalogue/catalogue.ts";
import type { Clients } from "../customers/clients/clients.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import type { Customers } from "../customers/customers.ts";
import type { Profiles } from "../customers/profiles/profiles.ts";
import type { ProfileId } from "../ledger/accounts.ts";
import type { Caller } from "../ledger/caller.ts";
import { Unavailable } from "../ledger/decision.ts";
import { parseAmount } from "../money/amount.ts";
import { isScope } from "../oauth/scopes.ts";
import { pause } from "../std/pause.ts";
import { sandboxCrossing, type Transfers } from "../transfers/transfers.ts";
import { BootstrapError, type BootstrapFile, idOf } from "./bootstrap-file.ts";

const CALLER: Caller = { house: "bootstrap" };

interface Parts {
  readonly customers: Customers;
  readonly clients: Clients;
  readonly profiles: Profiles;
  readonly transfers: Transfers;
  readonly catalogue: Catalogue;
}

export async function applyBootstrap(parts: Parts, file: BootstrapFile): Promise<void> {
  for (const customer of file.customers) {
    const customerId = (customer.id ?? idOf("customer", customer.name)) as CustomerId;
    await parts.customers.ensure(customerId, customer.name, CALLER);
    for (const client of customer.clients ?? []) await applyClient(parts, customerId, client);
    for (const profile of customer.profiles ?? []) await applyProfile(parts, customerId, profile);
  }
}

type CustomerEntry = BootstrapFile["customers"][number];
type ClientEntry = NonNullable<CustomerEntry["clients"]>[number];
type ProfileEntry = NonNullable<CustomerEntry["profiles"]>[number];

/** A client that is there keeps its secret and its scopes: they are changed by the commands for it. */
async function applyClient({ clients }: Parts, customerId: CustomerId, entry: ClientEntry): Promise<void> {
  const unknown = entry.scopes.find((scope) => scope !== "*" && !isScope(scope));
  if (unknown !== undefined) {
    throw new BootstrapError(
      `${JSON.stringify(unknown)} is not a scope: client ${entry.client_id} of the bootstrap file`,
    );
  }
  const made = await clients.create({
    customerId,
    clientId: entry.client_id,
    secret: entry.client_secret,
    scopes: entry.scopes,
  });
  if (typeof made === "object" || made === "client_already_exists") return;
  throw new BootstrapError(
    `the client ${entry.client_id} of the bootstrap file was refused: ${made.replaceAll("_", " ")}`,
  );
}

async function applyProfile(parts: Parts, customerId: CustomerId, entry: ProfileEntry): Promise<void> {
  const { nickname, balances = {} } = entry;
  const wanted = (entry.id ?? idOf("profile", customerId, nickname)) as ProfileId;
  const outcome = await parts.profiles.ensure({ customerId, nickname, description: undefined }, wanted, CALLER);
  // The nickname may belong to a profile that the customer made before: then that is the one.
  const profileId = outcome.kind === "exists" ? (outcome.id as ProfileId) : wanted;
  for (const [asset, text] of Object.entries(balances)) await openBalance(parts, customerId, profileId, asset, text);
}

/** An opening balance is a deposit that is made once, whatever the balance is by now. */
async function openBalance(
  { transfers, catalogue }: Parts,
  customerId: CustomerId,
  profileId: ProfileId,
  asset: string,
  text: string,
): Promise<void> {
  const amount = parseAmount(text);
  if (amount === "zero") return;
  const refused = (why: string): BootstrapError =>
    new BootstrapError(`the opening balance ${text} ${asset} of profile ${profileId} was refused: ${why}`);
  if (amount === "not_a_decimal" || amount === "too_large") throw refused(amount.replaceAll("_", " "));
  const outcome = await whenAvailable(() =>
    transfers.cross(
      {
        customerId,
        profileId,
        amount,
        asset,
        direction: "CREDIT",
        ...sandboxCrossing({ profileId, asset: catalogue.findAsset(asset), amount }),
        opening: true,
      },
      CALLER,
    ),
  );
  if (outcome.kind === "rejected") throw refused(outcome.rejection.code.replaceAll("_", " "));
}

const TRIES = 10;
const PAUSE_MS = 200;

/** Two nodes that start at once with one file meet at its opening deposits: whoever loses finds them made. */
async function whenAvailable<Value>(deposit: () => Promise<Value>): Promise<Value> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await deposit();
    } catch (error) {
      if (!(error instanceof Unavailable) || tried === TRIES) throw error;
      await pause(PAUSE_MS);
    }
  }
}
