/** `parbook client`. A secret is shown only once, when it is created: only its hash is stored. */
import { type Command, Option } from "commander";
import {
  Clients,
  type NewClientRejection,
  type RotatedSecret,
  type ShownSecret,
} from "../../customers/clients/clients.ts";
import { type ClientUse, listClients } from "../../customers/operator-queries.ts";
import type { OperatorCaller } from "../../ledger/caller.ts";
import type { Queryable } from "../../postgres/database.ts";
import type { Foundation } from "../../service/core.ts";
import { formatInstant } from "../../std/clock.ts";
import type { Network } from "../../std/network.ts";
import { type CustomerReference, readDuration, readNetworks, readScopes, readText } from "../arguments.ts";
import {
  addCommand,
  addGroup,
  CommandRejected,
  type CommandResult,
  setAction,
  setWritingAction,
  WrongUsage,
  withConfiguration,
  withFoundation,
} from "../command.ts";
import { LIST_LIMIT, listing } from "../listing.ts";
import { shellWord } from "../shell-word.ts";
import { CUSTOMER_OPTION, getCreatedCustomer, getCustomer } from "./customers.ts";

const DAY_MS = 86_400_000;

export function addClientCommands(program: Command): void {
  const client = addGroup(program, "client", "API clients of a customer");
  const create = addCommand(client, "create", {
    summary: "create a client; its secret is shown once",
    examples: [
      "client create --customer Acme --scopes '*'",
      "client create --customer Acme --client-id acme-reports --scopes transfer:read_transfer,exchange:read_order",
    ],
  })
    .requiredOption(...CUSTOMER_OPTION)
    .requiredOption("--scopes <list>", "comma-separated scopes, or * for all", readScopes)
    .option("--from <networks>", "comma-separated networks that it may call from (default: anywhere)", readNetworks)
    .option("--client-id <id>", "its client_id, printable ASCII (default: generated)", readText);
  setWritingAction(create, (operator, options: NewClientOptions) =>
    withClients((clients, { database }) => createClient(clients, database, options, operator)),
  );

  const rotate = addCommand(client, "rotate <client-id>", {
    summary: "give a client a new secret; the previous one stays valid for the overlap",
    examples: ["client rotate acme --overlap 24h", "client rotate acme --overlap 0"],
  }).addOption(
    new Option("--overlap <time>", "how long the previous secret stays valid, e.g. 90s, 15m, 24h, 7d or 0")
      .argParser(readDuration)
      .default(DAY_MS, "24h"),
  );
  setWritingAction(rotate, (operator, clientId: string, { overlap }: { overlap: number }) =>
    withClients((clients) => rotateSecret(clients, clientId, overlap, operator)),
  );

  const restrict = addCommand(client, "restrict <client-id>", {
    summary: "limit the networks a client may call from; takes effect within 5 s",
    examples: ["client restrict acme --from 192.0.2.0/24,2001:db8::/32", "client restrict acme --from-anywhere"],
  })
    .option("--from <networks>", "comma-separated networks, replacing the current ones", readNetworks)
    .option("--from-anywhere", "remove the restriction");
  setWritingAction(restrict, (operator, clientId: string, { from, fromAnywhere }: RestrictOptions) => {
    if ((from === undefined) === (fromAnywhere === undefined)) throw new WrongUsage("give --from or --from-anywhere");
    return withClients((clients) => restrictClient(clients, clientId, from, operator));
  });

  const disable = addCommand(client, "disable <client-id>", {
    summary: "disable a client permanently; its tokens become invalid within 5 s",
    examples: ["client disable acme"],
  });
  setWritingAction(disable, (operator, clientId: string) =>
    withClients((clients) => disableClient(clients, clientId, operator)),
  );

  const list = addCommand(client, "list", {
    summary: "list the clients of a customer, including disabled ones",
    examples: ["client list --customer Acme"],
  }).requiredOption(...CUSTOMER_OPTION);
  setAction(list, listOfCustomer);
}

type Work = (clients: Clients, foundation: Foundation) => Promise<CommandResult>;

function withClients(work: Work): Promise<CommandResult> {
  return withConfiguration((foundation) => {
    const { database, clock, ids } = foundation;
    // No secret is used here, so there is no use to record.
    return work(new Clients({ database, clock, ids, onUnrecordedUse: () => undefined }), foundation);
  });
}

interface RestrictOptions {
  readonly from?: readonly Network[];
  readonly fromAnywhere?: true;
}

interface NewClientOptions {
  readonly customer: CustomerReference;
  readonly scopes: readonly string[];
  readonly from?: readonly Network[];
  readonly clientId?: string;
}

const WRONG_NUMBER_OF_NETWORKS = "a client has 1 to 100 networks, or none to call from anywhere";

const REJECTIONS: Readonly<Record<NewClientRejection, string>> = {
  malformed_client_id: "a client id has 1 to 100 printable ASCII characters",
  malformed_secret: "a secret has 1 to 256 printable ASCII characters",
  malformed_scope: "a scope has 1 to 100 printable ASCII characters, without spaces, quotes or backslashes",
  client_without_scopes: "a client has at least one scope",
  wrong_number_of_networks: WRONG_NUMBER_OF_NETWORKS,
  client_already_exists: "a client with this id already exists",
  customer_not_found: "customer not found",
};

async function createClient(
  clients: Clients,
  database: Queryable,
  { customer, scopes, from, clientId }: NewClientOptions,
  operator: OperatorCaller,
): Promise<CommandResult> {
  const { id: customerId } = await getCreatedCustomer(database, customer);
  const made = await clients.create({ customerId, scopes, networks: from, clientId }, operator);
  if (made.kind === "rejected") throw new CommandRejected(REJECTIONS[made.rejection]);
  const shown = made.value;
  return {
    json: {
      client_id: shown.clientId,
      client_secret: shown.secret,
      customer_id: customerId,
      scopes,
      networks: from?.map(textOf),
    },
    prose: secretLines(shown),
  };
}

async function rotateSecret(
  clients: Clients,
  clientId: string,
  overlapMs: number,
  operator: OperatorCaller,
): Promise<CommandResult> {
  const made = await clients.rotateSecret(clientId, overlapMs, operator);
  if (made.kind === "rejected") {
    throw new CommandRejected(
      made.rejection === "client_not_found"
        ? notFound(clientId)
        : `client ${clientId} is permanently disabled: create another one with client create`,
    );
  }
  return {
    json: { client_id: clientId, client_secret: made.value.secret, overlap_seconds: overlapMs / 1_000 },
    prose: [...secretLines(made.value), formerText(made.value, overlapMs)],
  };
}

function formerText({ clientId, othersEndAt }: RotatedSecret, overlapMs: number): string {
  if (overlapMs === 0) return "The former secrets are no longer valid.";
  const now = `parbook client rotate ${shellWord(clientId)} --overlap 0`;
  return `The former secrets stay valid until ${formatInstant(othersEndAt)}. To end them, and this one, at once: ${now}`;
}

const notFound = (clientId: string): string => `client not found: ${clientId}`;

function secretLines({ clientId, secret }: ShownSecret): string[] {
  return [
    `client id     ${clientId}`,
    `client secret ${secret}`,
    "Save the secret now: only its hash is stored, and it cannot be shown again.",
  ];
}

async function restrictClient(
  clients: Clients,
  clientId: string,
  networks: readonly Network[] | undefined,
  operator: OperatorCaller,
): Promise<CommandResult> {
  const restricted = await clients.restrict(clientId, networks, operator);
  if (restricted.kind === "rejected") {
    throw new CommandRejected(
      restricted.rejection === "client_not_found" ? notFound(clientId) : WRONG_NUMBER_OF_NETWORKS,
    );
  }
  const texts = networks?.map(textOf);
  return {
    json: { client_id: clientId, networks: texts },
    prose: [`client ${clientId} may call from ${texts?.join(", ") ?? "anywhere"}`],
  };
}

const textOf = ({ text }: Network): string => text;

async function disableClient(clients: Clients, clientId: string, operator: OperatorCaller): Promise<CommandResult> {
  if ((await clients.disable(clientId, operator)).kind === "rejected") throw new CommandRejected(notFound(clientId));
  return { json: { client_id: clientId, disabled: true }, prose: [`client ${clientId} is disabled`] };
}

function listOfCustomer({ customer }: { customer: CustomerReference }): Promise<CommandResult> {
  return withFoundation(async ({ database }) => {
    const { id, name } = await getCustomer(database, customer);
    const found = (await listClients(database, id, LIST_LIMIT + 1)).map(clientRecord);
    const { json, prose } = listing(
      found,
      ["client id", "state", "secrets", "last used", "from", "scopes"],
      (client) => [
        client.client_id,
        client.disabled_at === undefined ? "live" : "disabled",
        String(client.live_secrets),
        client.last_used_at ?? "never",
        client.networks?.join(",") ?? "anywhere",
        client.scopes.join(","),
      ],
    );
    return {
      json: { customer_id: id, customer_name: name, ...(json as object) },
      prose: [`clients of ${name} (${id}):`, ...prose],
    };
  });
}

function clientRecord({ clientId, scopes, networks, createdAt, disabledAt, liveSecrets, lastUsedAt }: ClientUse) {
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
