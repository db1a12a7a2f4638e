/**
 * Requests that are made from the OpenAPI document: such as a caller may send, and the same with one thing wrong that
 * has to be rejected, whatever else is in them.
 */
import fc from "fast-check";
import type { Call, Input, Operation, Schema } from "../support/openapi.ts";
import { addressOf, bodyOf } from "../support/openapi.ts";
import { namingOf, SAMPLES } from "../tenancy/inputs.ts";
import type { HttpRequest } from "./http-request.ts";
import type { World } from "./world.ts";

/** A request before it is written out. */
export interface Draft extends Required<Omit<Call, "item">>, Pick<Call, "item"> {
  readonly operation: Operation;
}

export function requestOf({ operation, ...call }: Draft, world: World, over: Partial<HttpRequest> = {}): HttpRequest {
  const hasBody = operation.mediaTypes.length > 0;
  const authorized = operation.scopes.length === 0 ? {} : { authorization: `Bearer ${world.token}` };
  return {
    operation,
    method: operation.method,
    address: addressOf(operation, call),
    headers: { ...authorized, ...(hasBody ? { "content-type": "application/json" } : {}) },
    body: hasBody ? JSON.stringify(bodyOf(call)) : undefined,
    ...over,
  };
}

/** Calls whose shape is right. Many succeed; the others ask for what is not there, or more than there is. */
export function calls(operation: Operation, world: World): fc.Arbitrary<Draft> {
  const bases = basesOf(operation, world);
  const perInput = operation.inputs.map((input) => ({ input, values: valuesOf(operation, input, world) }));
  const changes = fc.tuple(...perInput.map(({ values }) => fc.option(values, { freq: 3, nil: undefined })));
  return fc.tuple(fc.constantFrom(...bases), changes, fc.boolean()).map(([base, values, isPlain]) => {
    const item = { ...base.item };
    const call = { path: { ...base.path }, query: { ...base.query }, body: { ...base.body }, item };
    for (const [index, { input }] of perInput.entries()) {
      const isMissing = input.required && (call[input.where] as Record<string, unknown>)[input.name] === undefined;
      const value = isPlain && !isMissing ? undefined : values[index];
      if (value !== undefined) Object.assign(call[input.where], { [input.name]: value });
      else if (isMissing) Object.assign(call[input.where], { [input.name]: ANYTHING });
    }
    const { item: _none, ...single } = call;
    return { operation, ...(base.item === undefined ? single : call) };
  });
}

const ANYTHING = "BTCUSD";

function basesOf(operation: Operation, { own }: World): readonly Call[] {
  if (operation.operationId === "placeOrder") {
    return ORDERS.map((body) => ({ path: { profile_id: own.profile }, body: { market: "BTCUSD", ...body } }));
  }
  return [SAMPLES[operation.operationId]?.(own) ?? {}];
}

/** Orders of all kinds: of fields that are drawn one by one, hardly any would go together. */
const ORDERS: readonly Readonly<Record<string, unknown>>[] = [
  { side: "BUY", type: "LIMIT", base_amount: "0.01", price: "25000" },
  { side: "SELL", type: "LIMIT", base_amount: "0.02", price: "25500", time_in_force: "IOC" },
  { side: "BUY", type: "MARKET", quote_amount: "100" },
  { side: "SELL", type: "MARKET", base_amount: "0.005" },
  { side: "BUY", type: "POST_ONLY_LIMIT", base_amount: "0.01", price: "24000" },
  { side: "SELL", type: "STOP_LIMIT", base_amount: "0.01", price: "24000", stop_price: "24500" },
  { side: "BUY", type: "STOP_MARKET", quote_amount: "100", stop_price: "26000" },
  {
    side: "BUY",
    type: "LIMIT",
    base_amount: "0.01",
    price: "24000",
    time_in_force: "GTT",
    expiration_date: "2999-01-01T00:00:00Z",
  },
];

/** Values that an input takes, by what its schema says and by what it names. */
function valuesOf(operation: Operation, input: Input, world: World): fc.Arbitrary<unknown> {
  const { schema } = input;
  if (schema.type === "array") {
    return fc.array(valuesOf(operation, { ...input, schema: schema.items ?? {} }, world), {
      minLength: 1,
      maxLength: 4,
    });
  }
  const naming = namingOf(operation, input);
  if (naming === "reference" || naming === "receiver") return fc.constantFrom(...world.references);
  if (naming === "cursor") return fc.constant("");
  if (/asset/.test(input.name)) return fc.constantFrom("USD", "USDG", "PYUSD", "BTC", "XXX");
  if (/^markets?$/.test(input.name)) return fc.constantFrom("BTCUSD", "ETHUSD", "NOTTHERE");
  const values = valuesOfSchema(input.name, schema);
  return input.where === "body" || input.where === "item" ? values : values.map(String);
}

function valuesOfSchema(name: string, schema: Schema): fc.Arbitrary<unknown> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  switch (schema.type) {
    case "boolean":
      return fc.boolean();
    case "integer":
      // Nobody waits ten seconds for an order here, or half a minute for an event.
      return fc.integer({ min: schema.minimum ?? 0, max: name.endsWith("_millis") ? 20 : (schema.maximum ?? 9) });
    case "object":
      return fc.oneof(
        { weight: 9, arbitrary: fc.dictionary(texts(1, 100), texts(0, 100), { maxKeys: schema.maxProperties ?? 6 }) },
        { weight: 1, arbitrary: fc.constant(JSON.parse('{"__proto__":"a","constructor":"b"}')) },
      );
    default:
      return textsOfSchema(schema);
  }
}

function textsOfSchema({ check, minLength = 0, maxLength = 100 }: Schema): fc.Arbitrary<string> {
  switch (check) {
    case "amount":
      return fc.oneof(
        fc.constantFrom(
          "1",
          "0.01",
          "10.50",
          ".5",
          "000.1",
          "0.00000001",
          "0.000000000000000001",
          "999999999999999999",
        ),
        fc.tuple(fc.nat(2_000), fc.nat(99)).map(([whole, part]) => `${whole}.${part}1`),
      );
    case "date_time":
      return fc
        .tuple(fc.date({ min: new Date(0), max: new Date("9998-01-01"), noInvalidDate: true }), fc.nat(999_999_999))
        .map(([date, part]) => `${date.toISOString().slice(0, 19)}.${part}Z`);
    case "digits":
      return fc.bigInt({ min: 0n, max: 10n ** 20n - 1n }).map(String);
    default:
      return texts(minLength, maxLength);
  }
}

/** Any text but the one that no field may hold. */
function texts(minLength: number, maxLength: number): fc.Arbitrary<string> {
  return fc.oneof(
    {
      weight: 3,
      arbitrary: fc.constantFrom("a", "reference-1", "reference-2", "' or 1=1 --", "__proto__", "%00", "💶"),
    },
    {
      weight: 2,
      arbitrary: fc
        .string({ unit: "binary", minLength, maxLength })
        .map((text) => Array.from(text.replaceAll("\0", "0")).slice(0, maxLength).join("")),
    },
  );
}
