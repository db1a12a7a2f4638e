/** Applies a bootstrap file. Every step is idempotent, so the whole file is applied at every start. */

import type { Catalogue } from "../../catalogue/catalogue.ts";
import type { Clients } from "../../customers/clients/clients.ts";
import type { CustomerId } from "../../customers/customer-id.ts";
import { composedName } from "../../customers/customer-name.ts";
import type { Customers } from "../../customers/customers.ts";
import type { Profiles } from "../../customers/profiles/profiles.ts";
import type { ProfileId } from "../../ledger/accounts.ts";
import type { Caller } from "../../ledger/caller.ts";
import { Unavailable } from "../../ledger/decision.ts";
import { type Amount, parseAmount } from "../../money/amount.ts";
import type { Asset } from "../../money/asset.ts";
import { pause } from "../../std/pause.ts";
import {
  DEFAULT_NETWORK,
  type ExternalTransferRequest,
  notionalValue,
  ownNetworkOf,
  type Transfers,
} from "../../transfers/transfers.ts";
import type { Config } from "../config/config.ts";
import { BootstrapError, type BootstrapFile } from "./bootstrap-file.ts";
import { checkBootstrap, customerIdOf, profileIdOf } from "./check-bootstrap.ts";

const CALLER: Caller = { house: "bootstrap" };

interface BootstrapTargets {
  readonly customers: Customers;
  readonly clients: Clients;
  readonly profiles: Profiles;
  readonly transfers: Transfers;
  readonly catalogue: Catalogue;
  readonly mode: Config["mode"];
}

export async function applyBootstrap(parts: BootstrapTargets, file: BootstrapFile): Promise<void> {
  await checkBootstrap(parts, file);
  for (const customer of file.customers) {
    const customerId = customerIdOf(customer);
    await applyCustomer(parts, customerId, composedName(customer.name));
    for (const client of customer.clients ?? []) await applyClient(parts, customerId, client);
    for (const profile of customer.profiles ?? []) await applyProfile(parts, customerId, profile);
  }
}

type CustomerEntry = BootstrapFile["customers"][number];
type ClientEntry = NonNullable<CustomerEntry["clients"]>[number];
type ProfileEntry = NonNullable<CustomerEntry["profiles"]>[number];

async function applyCustomer({ customers }: BootstrapTargets, id: CustomerId, name: string): Promise<void> {
  const made = await retryWhileUnavailable(() => customers.ensure(id, name, CALLER));
  if (made.kind === "rejected")
    throw new BootstrapError(
      `customer ${id} of the bootstrap file: another customer is called ${JSON.stringify(name)}`,
    );
}

/** An existing client keeps its secret and scopes: only `parbook client` changes them. */
async function applyClient({ clients }: BootstrapTargets, customerId: CustomerId, entry: ClientEntry): Promise<void> {
  const { client_id: clientId, client_secret: secret, scopes } = entry;
  const made = await clients.create({ customerId, clientId, secret, scopes }, CALLER);
  if (made.kind === "done" || made.rejection === "client_already_exists") return;
  throw new BootstrapError(
    `client ${entry.client_id} of the bootstrap file was rejected: ${made.rejection.replaceAll("_", " ")}`,
  );
}

async function applyProfile(parts: BootstrapTargets, customerId: CustomerId, entry: ProfileEntry): Promise<void> {
  const { nickname, balances = {} } = entry;
  const wanted = profileIdOf(customerId, entry);
  const outcome = await retryWhileUnavailable(() =>
    parts.profiles.ensure({ customerId, nickname, description: undefined }, wanted, CALLER),
  );
  // The customer may already have a profile of this nickname, with another id.
  const profileId = outcome.kind === "exists" ? (outcome.id as ProfileId) : wanted;
  if (entry.id !== undefined && profileId !== entry.id)
    throw new BootstrapError(
      `profile ${JSON.stringify(nickname)} of the bootstrap file: the customer's profile of this nickname has the id ${profileId}`,
    );
  for (const [asset, text] of Object.entries(balances)) await openBalance(parts, customerId, profileId, asset, text);
}

/** An opening balance is a deposit made once, regardless of the current balance. */
async function openBalance(
  { transfers, catalogue }: BootstrapTargets,
  customerId: CustomerId,
  profileId: ProfileId,
  asset: string,
  text: string,
): Promise<void> {
  const parsed = parseAmount(text);
  if (parsed.kind === "rejected" && parsed.rejection === "zero") return;
  const rejected = (why: string): BootstrapError =>
    new BootstrapError(`the opening balance ${text} ${asset} of profile ${profileId} was rejected: ${why}`);
  if (parsed.kind === "rejected") throw rejected(parsed.rejection.replaceAll("_", " "));
  const amount = parsed.value;
  const outcome = await retryWhileUnavailable(() =>
    transfers.recordExternal(
      {
        customerId,
        profileId,
        amount,
        asset,
        direction: "CREDIT",
        ...openingDeposit(catalogue.findAsset(asset), amount),
        opening: true,
      },
      CALLER,
    ),
  );
  if (outcome.kind === "rejected") throw rejected(outcome.rejection.code.replaceAll("_", " "));
}

/** Nothing is made up: no transaction of a chain brought it. @param asset undefined: it will be rejected */
function openingDeposit(asset: Asset | undefined, amount: Amount): Pick<ExternalTransferRequest, "type" | "details"> {
  if (asset === undefined || asset.kind === "fiat") return { type: "WIRE_DEPOSIT", details: {} };
  const cryptoNetwork = ownNetworkOf(asset.code) ?? DEFAULT_NETWORK;
  return { type: "CRYPTO_DEPOSIT", details: { cryptoNetwork, notionalValue: notionalValue(asset, amount, undefined) } };
}

const MAX_ATTEMPTS = 10;
const PAUSE_MS = 200;

/** Two nodes that start at once with the same file may conflict on what it creates. The retry finds it made. */
async function retryWhileUnavailable<Value>(step: () => Promise<Value>): Promise<Value> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof Unavailable) || attempt === MAX_ATTEMPTS) throw error;
      await pause(PAUSE_MS);
    }
  }
}
