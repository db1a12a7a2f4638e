/** What docs/contract says of fields, enums and bounds, the OpenAPI document says as well; and it explains itself. */
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EVENT_TYPES } from "../../../src/events/events.ts";
import { startTestService, type TestService } from "../../support/service.ts";

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly minLength?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly additionalProperties?: unknown;
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
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

let service: TestService;
let document: Document;
beforeAll(async () => {
  service = await startTestService();
  document = (await service.call("GET", "/openapi.json")).body as Document;
});
afterAll(() => service.close());

type Place = readonly [page: string, section: string, ...items: number[]];

/** Where docs/contract lists all fields of a schema. */
const FIELDS = {
  Transfer: ["transfers", "Transfer records", 4, 7],
  NewTransfer: ["transfers", "Creating a transfer", 1],
  NewBulkTransfer: ["transfers", "Many transfers at once", 1],
  NewBulkTransferItem: ["transfers", "Creating a transfer", 1],
  BulkTransfer: ["transfers", "Many transfers at once", 3],
  Conversion: ["conversions", "Creating a conversion", 4],
  NewConversion: ["conversions", "Creating a conversion", 1],
  Order: ["orders", "Order records", 1, 2],
  NewOrder: ["orders", "Placing an order", 1],
  Execution: ["executions", "Execution records", 2],
} as const satisfies Record<string, Place>;

/** Where it lists all filters of a list, by their names before a dot. */
const FILTERS = {
  listTransfers: ["transfers", "Reading transfers", 1],
  listStablecoinConversions: ["conversions", "Reading and cancelling conversions", 2],
  listOrders: ["orders", "Reading orders", 2],
  listExecutions: ["executions", "Listing executions", 1],
  listProfiles: ["accounts", "Profiles", 5],
} as const satisfies Record<string, Place>;

/** What every list takes. */
const OPTIONS = ["order", "order_by", "limit", "page_cursor"];

/** The names in the items of a section, in their order. */
function namesIn([page, section, ...items]: Place): string[] {
  const text = readFileSync(new URL(`../../../docs/contract/${page}.md`, import.meta.url), "utf8");
  const [, after = ""] = text.split(`\n## ${section}\n`);
  const numbered = (after.split("\n## ")[0] ?? "").split(/^(?=\d+\. )/m);
  const wanted = numbered.filter((text) => items.some((item) => text.startsWith(`${item}. `)));
  return [...new Set(wanted.join("").match(/(?<=`)[a-z][a-z0-9_]*(?=[`.])/g))];
}

test.each(Object.entries(FIELDS))("%s has the fields that docs/contract lists, and no others", (name, place) => {
  expect(namesIn(place).toSorted()).toEqual(Object.keys(propertiesOf(name)).toSorted());
});

test.each(Object.entries(FILTERS))("%s has the filters that docs/contract lists, and no others", (name, place) => {
  const { parameters = [] } = operations().find(({ operationId }) => operationId === name) ?? {};
  const filters = new Set(parameters.map((parameter) => parameter.name.replace(/\..*/, "")));
  const isFilter = (filter: string) => !OPTIONS.includes(filter);
  expect(namesIn(place).filter(isFilter).toSorted()).toEqual([...filters].filter(isFilter).toSorted());
});

test("quote_amount and what is only stored and returned may be empty, and nothing else of these bodies", () => {
  const meaning = ["ref_id", "expiration_date"];
  for (const name of ["NewTransfer", "NewBulkTransferItem", "NewConversion", "NewOrder"]) {
    const { required = [] } = schemaNamed(name);
    const texts = Object.entries(propertiesOf(name)).filter(([, { type }]) => type === "string");
    const stored = texts.filter(
      ([field, text]) => !("pattern" in text) && !required.includes(field) && !meaning.includes(field),
    );
    const mayBeEmpty = texts.filter(([field, { minLength }]) => minLength === 0 && field !== "quote_amount");
    expect(mayBeEmpty).toEqual(stored);
  }
  expect(propertiesOf("NewOrder").quote_amount).toMatchObject({ minLength: 0 });
});

test("what a request or a record always has is said to be required", () => {
  expect(schemaNamed("NewTransfer").required).toEqual(["from_profile_id", "to_profile_id", "amount", "asset"]);
  expect(schemaNamed("NewBulkTransfer").required).toEqual(["mode", "items"]);
  expect(schemaNamed("NewBulkTransferItem").required).toEqual([
    "from_profile_id",
    "to_profile_id",
    "amount",
    "asset",
    "ref_id",
  ]);
  expect(schemaNamed("NewConversion").required).toEqual(["profile_id", "amount", "source_asset", "target_asset"]);
  expect(schemaNamed("NewOrder").required).toEqual(["side", "market", "type"]);
  expect(schemaNamed("Transfer").required).toEqual(namesIn(FIELDS.Transfer).slice(0, 12));
  expect(schemaNamed("Execution").required).toEqual(namesIn(FIELDS.Execution).slice(0, 12));
});

const ENUMS = [
  ["Transfer", "direction", "CREDIT DEBIT"],
  ["BulkTransferItem", "status", "COMPLETED REJECTED EXISTS NOT_TRIED WOULD_COMPLETE UNKNOWN"],
  ["NewBulkTransfer", "mode", "independent atomic"],
  ["Transfer", "status", "PENDING COMPLETED FAILED"],
  [
    "Transfer",
    "type",
    "INTERNAL_TRANSFER_DEBIT INTERNAL_TRANSFER_CREDIT CRYPTO_DEPOSIT CRYPTO_WITHDRAWAL WIRE_DEPOSIT WIRE_WITHDRAWAL SEN_DEPOSIT SEN_WITHDRAWAL BANK_DEPOSIT BANK_WITHDRAWAL PLATFORM_TRANSFER_DEBIT PLATFORM_TRANSFER_CREDIT SIGNET_DEPOSIT SIGNET_WITHDRAWAL CBIT_WITHDRAWAL CBIT_DEPOSIT CUBIX_DEPOSIT CUBIX_WITHDRAWAL RTP_DEPOSIT",
  ],
  [
    "Transfer",
    "crypto_network",
    "BITCOIN ETHEREUM BITCOIN_CASH LITECOIN SOLANA POLYGON_POS BASE ARBITRUM_ONE STELLAR INK XLAYER AVALANCHE DOGECOIN SUI ROBINHOOD BNB",
  ],
  ["Conversion", "status", "CREATED SETTLED CANCELLED"],
  ["Execution", "side", "BUY SELL"],
  ["Order", "status", "PENDING_SUBMISSION SUBMITTED OPEN FILLED CANCELLED REJECTED EXPIRED"],
  ["Order", "side", "BUY SELL"],
  ["Order", "type", "LIMIT MARKET POST_ONLY_LIMIT STOP_MARKET STOP_LIMIT"],
  ["Order", "time_in_force", "GTC FOK IOC GTT"],
] as const;

test.each(ENUMS)("%s.%s is one of its words, which are strings", (name, field, words) => {
  const { $ref = "" } = propertiesOf(name)[field] ?? {};
  const { description: _told, ...said } = schemaNamed($ref.split("/").at(-1) ?? "");
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

test("each type of event is a webhook, with an example of that type", () => {
  const examples = Object.entries(document.webhooks).map(([type, { post }]) => [
    type,
    post.requestBody?.content["application/json"],
  ]);
  const [thin, full] = ["PostedEvent", "PostedFullEvent"].map((name) => ({ $ref: `#/components/schemas/${name}` }));
  const shown = { schema: { anyOf: [thin, full] } };
  expect(examples).toHaveLength(EVENT_TYPES.length - 1);
  for (const type of EVENT_TYPES.filter((one) => one !== "order.expired"))
    expect(Object.fromEntries(examples)[type]).toMatchObject({
      ...shown,
      examples: { thin: { value: { type } }, full: { value: { type } } },
    });
});

test("each list has the page that the table of operations in docs/contract.md has for it", async () => {
  const contract = await readFile(new URL("../../../docs/contract.md", import.meta.url), "utf8");
  const pages = contract.split("\n").flatMap((line) => {
    const [, named = "", page = ""] = /^\| (`.*`) \| .* \| ([0-9]+, [0-9]+) \|$/.exec(line) ?? [];
    return [...named.matchAll(/`GET ([^`]+)`/g)].map(([, path]) => [path, page.split(", ").map(Number)]);
  });
  const limits = Object.entries(document.paths).flatMap(([path, { get }]) => {
    const limit = get?.parameters?.find(({ name }) => /(^|\.)limit$/.test(name))?.schema as {
      default: number;
      maximum: number;
    };
    return limit === undefined ? [] : [[path, [limit.default, limit.maximum]]];
  });
  expect(Object.fromEntries(limits)).toEqual(Object.fromEntries(pages));
  expect(limits.length).toBeGreaterThan(5);
});

test("waits, overlaps and rates have the bounds that docs/contract has for them", () => {
  const { NewOrder, NewWebhook, WebhookSecretRotation } = document.components.schemas;
  const { parameters = [] } = operations().find(({ operationId }) => operationId === "listEvents") ?? {};
  expect({
    ...{ ...NewOrder?.properties, ...NewWebhook?.properties, ...WebhookSecretRotation?.properties },
    ...Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])),
  }).toMatchObject({
    await_fill_millis: { minimum: 0, maximum: 10_000 },
    deliveries_per_second: { minimum: 1, maximum: 100 },
    overlap_seconds: { minimum: 0, maximum: 604_800 },
    wait_millis: { minimum: 0, maximum: 30_000, default: 0 },
  });
});

test("the list of executions documents its bounds", () => {
  const { parameters = [] } = operations().find(({ operationId }) => operationId === "listExecutions") ?? {};
  const schemaOf = (wanted: string) => parameters.find(({ name }) => name === wanted)?.schema;
  expect(schemaOf("limit")).toEqual({ type: "integer", format: "int32", default: 100, minimum: 1, maximum: 1000 });
  expect(schemaOf("since_execution_id")).toMatchObject({ type: "string", pattern: "^[0-9]+$", maxLength: 20 });
});

describe("is made for generators of clients:", () => {
  /** Every schema of the document, with the path to it. */
  function* schemasIn(value: unknown, path: string): Generator<[path: string, schema: Schema]> {
    if (typeof value !== "object" || value === null) return;
    for (const [name, inner] of Object.entries(value)) {
      if (name === "example" || name === "examples") continue;
      const here = `${path}/${name}`;
      if (/\/(schema|items|additionalProperties|(properties|schemas)\/[^/]+|anyOf\/\d+)$/.test(here))
        yield [here, inner as Schema];
      yield* schemasIn(inner, here);
    }
  }
  const schemas = () => [...schemasIn(document, "")];
  const where = (isFault: (schema: Schema, path: string) => boolean): string[] =>
    schemas().flatMap(([path, schema]) => (isFault(schema, path) ? [path] : []));

  test("every enum has a name", () => {
    expect(
      where(({ enum: words }, path) => words !== undefined && !/^\/components\/schemas\/[^/]+$/.test(path)),
    ).toEqual([]);
  });

  test("every body and every answer has a name", () => {
    const messages = operations().flatMap(({ requestBody, responses }) => [requestBody, ...Object.values(responses)]);
    const contents = messages.flatMap((message) => Object.values(message?.content ?? {}));
    expect(contents.filter(({ schema }) => schema.$ref === undefined)).toEqual([]);
  });

  test("every schema says of what type it is, and every object what is in it", () => {
    const isUntyped = ({ $ref, anyOf, type, properties, additionalProperties, items }: Schema): boolean => {
      if ($ref !== undefined || anyOf !== undefined) return false;
      if (type === "object") return additionalProperties === undefined && Object.keys(properties ?? {}).length === 0;
      return type === undefined || (type === "array" && items === undefined);
    };
    expect(schemas().length).toBeGreaterThan(300);
    expect(where((schema) => typeof schema === "object" && isUntyped(schema))).toEqual([]);
  });

  test("no keyword is private, and no example is made up beside a schema", () => {
    const isPrivate = (name: string) => name.startsWith("x-") || name === "example" || name === "examples";
    expect(where((schema) => Object.keys(schema).some(isPrivate))).toEqual([]);
  });

  test("no field of a body has a default, which generators take for a field that is always there", () => {
    const bodies = operations().flatMap(({ requestBody }) => Object.values(requestBody?.content ?? {}));
    const names = bodies.map(({ schema }) => schema.$ref?.split("/").at(-1) ?? "");
    const withDefault = names.filter((name) => JSON.stringify(schemaNamed(name)).includes('"default":'));
    expect(withDefault).toEqual([]);
  });
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
