/** API clients. A secret is shown here, once, when it is made: nobody can show it again. */
import { type Command, Option } from "commander";
import { type ListedClient, listClients } from "../../customers/across-customers.ts";
import { Clients, type NewClientRejection } from "../../customers/clients/clients.ts";
import type { CustomerId } from "../../customers/customer-id.ts";
import type { Foundation } from "../../service/core.ts";
import { formatInstant } from "../../std/clock.ts";
import type { Network } from "../../std/network.ts";
import { readDuration, readNetworks, readScopes, readText, readUuid } from "../arguments.ts";
import {
  type Answer,
  addCommand,
  addGroup,
  answering,
  CommandRejected,
  WrongUsage,
  withFoundation,
} from "../command.ts";
import { LISTED_AT_MOST, listing } from "../listing.ts";
import { getCustomer } from "./customers.ts";

const DAY_MS = 86_400_000;
const CUSTOMER = "0190d5a4-0000-7000-8000-000000000002";

export function addClientCommands(program: Command): void {
  const client = addGroup(program, "client", "what calls the API in a customer's name");
  const create = addCommand(client, "create", {
    summary: "make a client; its secret is shown once",
    examples: [
      `client create --customer ${CUSTOMER} --scopes '*'`,
      `client create --customer ${CUSTOMER} --client-id acme-reports --scopes transfer:read_transfer,exchange:read_order`,
    ],
  })
    .requiredOption("--customer <id>", "the customer's id", readUuid)
    .requiredOption("--scopes <list>", "what it may do: scopes with commas between them, or * for all", readScopes)
    .option("--from <networks>", "where it may call from: networks with commas between them", readNetworks)
    .option("--client-id <id>", "its name, printable ASCII; made up unless given", readText);
  answering(create, (options: NewClientOptions) => withClients((clients) => createClient(clients, options)));

  const rotate = addCommand(client, "rotate <client-id>", {
    summary: "give a client a new secret; the former stays valid for a while",
    examples: ["client rotate acme --overlap 24h", "client rotate acme --overlap 0"],
  }).addOption(
    new Option("--overlap <time>", "how long the former secret stays valid, e.g. 90s, 15m, 24h, 7d or 0")
      .argParser(readDuration)
      .default(DAY_MS, "24h"),
  );
  answering(rotate, (clientId: string, { overlap }: { overlap: number }) =>
    withClients((clients) => rotateSecret(clients, clientId, overlap)),
  );

  const restrict = addCommand(client, "restrict <client-id>", {
    summary: "say where a client may call from; elsewhere, within 5 s, its tokens are refused",
    examples: ["client restrict acme --from 192.0.2.0/24,2001:db8::/32", "client restrict acme --from-anywhere"],
  })
    .option("--from <networks>", "networks with commas between them, instead of those that it had", readNetworks)
    .option("--from-anywhere", "take the restriction away");
  answering(restrict, (clientId: string, { from, fromAnywhere }: { from?: Network[]; fromAnywhere?: true }) => {
    if ((from === undefined) === (fromAnywhere === undefined)) throw new WrongUsage("give --from or --from-anywhere");
    return withClients((clients) => restrictClient(clients, clientId, from));
  });

  const disable = addCommand(client, "disable <client-id>", {
    summary: "end a client for good: no new tokens, and within 5 s its live ones are refused",
    examples: ["client disable acme"],
  });
  answering(disable, (clientId: string) => withClients((clients) => disableClient(clients, clientId)));

  const list = addCommand(client, "list", {
    summary: "list the clients of a customer, the disabled ones included",
    examples: [`client list --customer ${CUSTOMER}`],
  }).requiredOption("--customer <id>", "the customer's id", readUuid);
  answering(list, listOfCustomer);
}

function withClients(work: (clients: Clients) => Promise<Answer>): Promise<Answer> {
  return withFoundation(({ database, clock, ids }: Foundation) =>
    // Nobody authenticates here, so no use of a secret has to be recorded.
    work(new Clients({ database, clock, ids, onUnrecordedUse: () => undefined })),
  );
}

interface NewClientOptions {
  readonly customer: CustomerId;
  readonly scopes: readonly string[];
  readonly from?: readonly Network[];
  readonly clientId?: string;
}

const WRONG_NUMBER_OF_NETWORKS = "a client has 1 to 100 networks, or calls from anywhere";

const REFUSALS: Readonly<Record<NewClientRejection, string>> = {
  malformed_client_id: "a client id has 1 to 100 printable ASCII characters",
  malformed_secret: "a secret has 1 to 256 printable ASCII characters",
  malformed_scope: "a scope has 1 to 100 printable ASCII characters, without blanks, quotes and backslashes",
  client_without_scopes: "a client has at least one scope",
  wrong_number_of_networks: WRONG_NUMBER_OF_NETWORKS,
  client_already_exists: "there is a client with this id already",
  customer_not_found: "there is no customer with this id",
};

async function createClient(clients: Clients, { customer, scopes, from, clientId }: NewClientOptions): Promise<Answer> {
  const made = await clients.create({ customerId: customer, scopes, networks: from, clientId });
  if (typeof made === "string") throw new CommandRejected(REFUSALS[made]);
  return {
    json: {
      client_id: made.clientId,
      client_secret: made.secret,
      customer_id: customer,
      scopes,
      networks: from?.map(textOf),
    },
    prose: shown(made.clientId, made.secret),
  };
}

async function rotateSecret(clients: Clients, clientId: string, overlapMs: number): Promise<Answer> {
  const made = await clients.rotateSecret(clientId, overlapMs);
  if (made === "client_not_found") throw new CommandRejected(`client not found: ${clientId}`);
  if (made === "client_disabled")
    throw new CommandRejected(`client ${clientId} is disabled for good: make another one with client create`);
  return {
    json: { client_id: clientId, client_secret: made.secret, overlap_seconds: overlapMs / 1_000 },
    prose: shown(clientId, made.secret),
  };
}

function shown(clientId: string, secret: string): string[] {
  return [
    `client id     ${clientId}`,
    `client secret ${secret}`,
    "Keep the secret now: it is stored as a hash, and cannot be shown again.",
  ];
}

async function restrictClient(clients: Clients, clientId: string, networks: Network[] | undefined): Promise<Answer> {
  const outcome = await clients.restrict(clientId, networks);
  if (outcome === "client_not_found") throw new CommandRejected(`client not found: ${clientId}`);
  if (outcome === "wrong_number_of_networks") throw new CommandRejected(WRONG_NUMBER_OF_NETWORKS);
  const texts = networks?.map(textOf);
  return {
    json: { client_id: clientId, networks: texts },
    prose: [`client ${clientId} may call from ${texts?.join(", ") ?? "anywhere"}`],
  };
}

const textOf = ({ text }: Network): string => text;

async function disableClient(clients: Clients, clientId: string): Promise<Answer> {
  if ((await clients.disable(clientId)) === "client_not_found")
    throw new CommandRejected(`client not found: ${clientId}`);
  return { json: { client_id: clientId, disabled: true }, prose: [`client ${clientId} is disabled`] };
}

function listOfCustomer({ customer }: { customer: CustomerId }): Promise<Answer> {
  return withFoundation(async ({ database }) => {
    await getCustomer(database, customer);
    const found = (await listClients(database, customer, LISTED_AT_MOST + 1)).map(clientRecord);
    return listing(found, ["client id", "state", "secrets", "last used", "from", "scopes"], (client) => [
      client.client_id,
      client.disabled_at === undefined ? "live" : "disabled",
      String(client.live_secrets),
      client.last_used_at ?? "never",
      client.networks?.join(",") ?? "anywhere",
      client.scopes.join(","),
    ]);
  });
}

function clientRecord({ clientId, scopes, networks, createdAt, disabledAt, liveSecrets, lastUsedAt }: ListedClient) {
  return {
    client_id: clientId,
    scopes,
    networks,
    live_secrets: liveSecrets,
    created_at: formatInstant(createdAt),
    disabled_at: disabledAt && formatInstant(disabledAt),
    last_used_at: lastUsedAt && formatInstant(lastUsedAt),
  };
}
