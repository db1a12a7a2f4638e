/** What docs/contract says of fields, enums and bounds, the OpenAPI document says as well; and it explains itself. */

import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { MarketCode } from "../../src/catalogue/market.ts";
import { TESTER } from "../support/movements.ts";
import { unwrap } from "../support/results.ts";
import { startTestService, type TestService } from "../support/service.ts";

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

interface Parameter {
  readonly name: string;
  readonly description?: string;
  readonly schema: Schema;
}

interface Content {
  readonly schema: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: { readonly detail: string; readonly meta: object } }>>;
}

/** Of a request or an answer, by media type. */
interface Message {
  readonly content: Readonly<Record<string, Content>>;
}

interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Message;
  readonly responses: Readonly<Record<string, Message>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

let service: TestService;
let document: Document;
beforeAll(async () => {
  service = await startTestService();
  document = (await service.call("GET", "/openapi.json")).body as Document;
});
afterAll(() => service.close());

const NAMED_PROPERTIES = {
  Transfer:
    "id customer_id profile_id amount total fee asset direction type status created_at updated_at identity_id account_id ref_id balance_asset secondary_status status_details metadata destination_address crypto_network crypto_tx_hash crypto_tx_index auto_conversion group_id fiat_account_id notional_value memo",
  Conversion:
    "id profile_id amount source_asset target_asset status ref_id identity_id account_id created_at updated_at settled_at cancelled_at metadata recipient_profile_id",
  Execution:
    "execution_id order_id executed_at market side amount price commission commission_asset rebate rebate_asset gross_trade_amount account_id",
  Order:
    "id profile_id ref_id status side market type base_amount price quote_amount metadata created_at modified_at amount_filled volume_weighted_average_price time_in_force expiration_date identity_id identity_account_id stop_price recipient_profile_id is_triggered reject_reason",
  NewTransfer:
    "from_profile_id to_profile_id amount asset ref_id metadata recipient_metadata from_identity_id from_account_id to_identity_id to_account_id",
  NewConversion:
    "profile_id amount source_asset target_asset ref_id identity_id account_id metadata recipient_profile_id",
  NewOrder:
    "side market type ref_id base_amount quote_amount price stop_price time_in_force expiration_date identity_id identity_account_id recipient_profile_id metadata await_fill_millis self_match_prevention_id",
} as const;

test.each(Object.entries(NAMED_PROPERTIES))("%s has the fields of its table, and no others", (name, fields) => {
  expect(Object.keys(propertiesOf(name)).toSorted()).toEqual(fields.split(" ").toSorted());
});

test("what a request or a record always has is said to be required", () => {
  expect(schemaNamed("NewTransfer").required).toEqual(["from_profile_id", "to_profile_id", "amount", "asset"]);
  expect(schemaNamed("NewConversion").required).toEqual(["profile_id", "amount", "source_asset", "target_asset"]);
  expect(schemaNamed("NewOrder").required).toEqual(["side", "market", "type"]);
  expect(schemaNamed("Transfer").required).toEqual(NAMED_PROPERTIES.Transfer.split(" ").slice(0, 12));
  expect(schemaNamed("Execution").required).toEqual(NAMED_PROPERTIES.Execution.split(" ").slice(0, 12));
});

const ENUMS = [
  ["Transfer", "direction", "CREDIT DEBIT"],
  ["Transfer", "status", "PENDING COMPLETED FAILED"],
  [
    "Transfer",
    "type",
    "INTERNAL_TRANSFER_DEBIT INTERNAL_TRANSFER_CREDIT CRYPTO_DEPOSIT CRYPTO_WITHDRAWAL WIRE_DEPOSIT WIRE_WITHDRAWAL SEN_DEPOSIT SEN_WITHDRAWAL BANK_DEPOSIT BANK_WITHDRAWAL PLATFORM_TRANSFER_DEBIT PLATFORM_TRANSFER_CREDIT SIGNET_DEPOSIT SIGNET_WITHDRAWAL CBIT_WITHDRAWAL CBIT_DEPOSIT CUBIX_DEPOSIT CUBIX_WITHDRAWAL RTP_DEPOSIT",
  ],
  [
    "Transfer",
    "crypto_network",
    "BITCOIN ETHEREUM BITCOIN_CASH LITECOIN SOLANA POLYGON_POS BASE ARBITRUM_ONE STELLAR INK XLAYER",
  ],
  ["Conversion", "status", "CREATED SETTLED CANCELLED"],
  ["Execution", "side", "BUY SELL"],
  ["Order", "status", "PENDING_SUBMISSION SUBMITTED OPEN FILLED CANCELLED REJECTED EXPIRED"],
  ["Order", "side", "BUY SELL"],
  ["Order", "type", "LIMIT MARKET POST_ONLY_LIMIT STOP_MARKET STOP_LIMIT"],
  ["Order", "time_in_force", "GTC FOK IOC GTT"],
] as const;

test.each(ENUMS)("%s.%s is one of its words, which are strings", (name, field, words) => {
  const { description: _told, ...said } = propertiesOf(name)[field] ?? {};
  expect(said).toEqual({ type: "string", enum: words.split(" ") });
});

test("every amount has the pattern, and metadata its bounds", () => {
  const pattern = "^[0-9]*\\.?[0-9]+$";
  for (const field of ["amount", "total", "fee"]) expect(propertiesOf("Transfer")[field]).toMatchObject({ pattern });
  expect(propertiesOf("NewTransfer").amount).toMatchObject({ pattern, maxLength: 60 });
  expect(propertiesOf("NewConversion").amount).toMatchObject({ pattern, maxLength: 60 });
  const bounds = {
    maxProperties: 6,
    propertyNames: { minLength: 1, maxLength: 100 },
    additionalProperties: { type: "string", maxLength: 100 },
  };
  for (const field of ["metadata", "recipient_metadata"])
    expect(propertiesOf("NewTransfer")[field]).toMatchObject(bounds);
});

test("each list has the page that the table of operations in docs/contract.md has for it", async () => {
  const contract = await readFile(new URL("../../docs/contract.md", import.meta.url), "utf8");
  const pages = contract.split("\n").flatMap((line) => {
    const [, named = "", page = ""] = /^\| (`.*`) \| .* \| ([0-9]+, [0-9]+) \|$/.exec(line) ?? [];
    return [...named.matchAll(/`GET ([^`]+)`/g)].map(([, path]) => [path, page.split(", ").map(Number)]);
  });
  const limits = Object.entries(document.paths).flatMap(([path, { get }]) => {
    const limit = get?.parameters?.find(({ name }) => name === "limit")?.schema as { default: number; maximum: number };
    return limit === undefined ? [] : [[path, [limit.default, limit.maximum]]];
  });
  expect(Object.fromEntries(limits)).toEqual(Object.fromEntries(pages));
  expect(limits.length).toBeGreaterThan(5);
});

test("the list of executions documents every filter", () => {
  const { parameters = [] } = operations().find(({ operationId }) => operationId === "listExecutions") ?? {};
  expect(parameters.map(({ name }) => name).toSorted()).toEqual(
    "account_id limit order_id page_cursor profile_id range.begin range.end since_execution_id".split(" "),
  );
  const schemaOf = (wanted: string) => parameters.find(({ name }) => name === wanted)?.schema;
  expect(schemaOf("limit")).toEqual({ type: "integer", format: "int32", default: 100, minimum: 1, maximum: 1000 });
  expect(schemaOf("since_execution_id")).toMatchObject({ type: "string", pattern: "^[0-9]+$", maxLength: 20 });
});

test("the examples of an order's problems equal the service's responses", async () => {
  const { token: as, defaultProfile } = await service.customer();
  const place = async (base_amount: string) => {
    const body = { side: "BUY", market: "BTCUSD", type: "LIMIT", price: "25000", base_amount };
    const { detail, meta } = (await service.call("POST", `/v2/profiles/${defaultProfile}/orders`, { as, body })).body;
    return { value: { detail, meta } };
  };
  const tooLarge = await place("400");
  expect((await service.service.exchange.haltMarket("BTCUSD" as MarketCode, TESTER)).kind).toBe("done");
  const placing = operations().find(({ operationId }) => operationId === "placeOrder");
  expect(placing?.responses["403"]?.content["application/problem+json"]?.examples).toMatchObject({
    "notional-value-too-large": tooLarge,
    "unavailable-market": await place("1"),
  });
});

test("the token endpoint responds as its examples say, to both encodings", async () => {
  const customer = await service.customer();
  const { requestBody, responses } = operations().find(({ operationId }) => operationId === "issueToken") ?? {};
  const exampleOf = (status: string) => responses?.[status]?.content["application/json"]?.example as object;
  const sent = requestBody?.content["multipart/form-data"]?.example as Readonly<Record<string, string>>;
  const right = { ...sent, client_id: customer.clientId, client_secret: customer.secret };
  const send = async (fields: Readonly<Record<string, string>>, form: FormData | URLSearchParams) => {
    for (const [name, value] of Object.entries(fields)) form.append(name, value);
    const answer = await fetch(`${service.authUrl}/oauth2/token`, { method: "POST", body: form });
    return { status: answer.status, body: await answer.json() };
  };
  const granted = { status: 200, body: { ...exampleOf("200"), access_token: expect.any(String) } };
  for (const form of [new FormData(), new URLSearchParams()]) expect(await send(right, form)).toEqual(granted);
  const wrong = await send({ ...right, client_secret: "wrong" }, new FormData());
  expect(wrong).toEqual({ status: 401, body: exampleOf("401") });
  const { clients } = service.service.core;
  const narrow = unwrap(await clients.create({ customerId: customer.id, scopes: ["funding:read_profile"] }));
  const tooMuch = { ...right, client_id: narrow.clientId, client_secret: narrow.secret };
  expect(await send(tooMuch, new FormData())).toEqual({ status: 400, body: exampleOf("400") });
});

describe("explains", () => {
  test("every operation, parameter and record", () => {
    for (const { operationId, summary, description, parameters = [] } of operations()) {
      expect({ operationId, summary, description }).toEqual({
        operationId,
        summary: expect.any(String),
        description: expect.any(String),
      });
      for (const parameter of parameters)
        expect(parameter.description, `${operationId} ${parameter.name}`).toBeTruthy();
    }
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      if (!name.startsWith("New") && name !== "ProfileChange") expect(schema.description, name).toBeTruthy();
    }
  });

  test("every body by an example, and every record that is answered alone", () => {
    for (const { operationId, requestBody, responses } of operations()) {
      const contents = [requestBody, responses["200"]].map((message) => message?.content["application/json"]);
      for (const content of contents) {
        if (content?.schema.$ref !== undefined) expect(content.example, operationId).toBeTypeOf("object");
      }
    }
  });

  test("every body under a name, so that generated clients have one for it", () => {
    const bodies = operations().flatMap(({ requestBody }) => requestBody?.content["application/json"]?.schema ?? []);
    expect(bodies.filter(({ $ref }) => $ref === undefined)).toEqual([]);
  });
});

function operations(): Operation[] {
  return Object.values(document.paths).flatMap((path) => Object.values(path));
}

function schemaNamed(name: string): Schema {
  const schema = document.components.schemas[name];
  if (schema === undefined) throw new Error(`no schema ${name}`);
  return schema;
}

function propertiesOf(name: string): Readonly<Record<string, Schema>> {
  return schemaNamed(name).properties ?? {};
}
