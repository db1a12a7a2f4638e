/**
 * What callers write in words of their own is not lost on its way: each word of a request is in the record that it makes,
 * and each filter by such a word finds the records that have it, and no others. Both walk the OpenAPI document, so a new
 * field and a new filter are covered once `test/tenancy/inputs.ts` says that they are words.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  addressOf,
  bodyOf,
  type Call,
  type Input,
  type Operation,
  readDocument,
  responseTo,
} from "../../support/openapi.ts";
import { startTestService, type TestService } from "../../support/service.ts";
import { makerOf, type Owner, ownerOfEverything } from "../../tenancy/belongings.ts";
import { namingOf, SAMPLES } from "../../tenancy/inputs.ts";

/** A record, by field. */
type Item = Readonly<Record<string, unknown>>;

let service: TestService;
let acme: Owner;
let operations: readonly Operation[];
beforeAll(async () => {
  service = await startTestService({ settlementDelayMs: 86_400_000 });
  acme = await ownerOfEverything(service, "acme", await makerOf(service));
  operations = (await readDocument(service)).operations.filter(({ scopes }) => scopes.length > 0);
});
afterAll(() => service.close());

/** Words that the operator records: no caller sends them. */
const OF_OPERATOR: ReadonlySet<string> = new Set(["crypto_tx_hashes"]);

const wordsIn = (operation: Operation, where: Input["where"]): Input[] =>
  operation.inputs.filter(
    (input) => input.where === where && namingOf(operation, input) === "word" && !OF_OPERATOR.has(input.name),
  );

const withWordsIn = (where: Input["where"]): Operation[] =>
  operations.filter((operation) => wordsIn(operation, where).length > 0);

async function answerTo(operation: Operation, call: Call) {
  const options = { as: acme.token, body: bodyOf(call) };
  const answer = await service.call(operation.method, addressOf(operation, call), options);
  expect([operation.operationId, answer.status, answer.body]).toEqual([operation.operationId, 200, expect.anything()]);
  return answer.body;
}

/** The word for an input: what no other record has. */
const wordFor = ({ operationId }: Operation, { name, schema }: Input) =>
  schema.type === "object" ? { [name]: operationId } : `${name} of ${operationId}`;

/** The fields that have another name in the record. */
const FIELDS: Readonly<Record<string, string>> = {
  from_identity_id: "identity_id",
  from_account_id: "account_id",
  to_identity_id: "identity_id",
  to_account_id: "account_id",
  recipient_metadata: "metadata",
};

/** An order is filled at once, so that it has executions. */
const FURTHER: Readonly<Record<string, object>> = { placeOrder: { price: "25000", await_fill_millis: 10_000 } };

test("each free text of a request is in the record created, and each filter by it finds exactly such records", async () => {
  const requests = (["body", "item"] as const).flatMap((where) =>
    withWordsIn(where).map((operation) => ({ operation, where })),
  );
  expect(requests.length).toBeGreaterThan(8);
  for (const { operation, where } of requests) {
    const { operationId } = operation;
    const words = wordsIn(operation, where);
    const sent = Object.fromEntries(words.map((input) => [input.name, wordFor(operation, input)]));
    const sample = SAMPLES[operationId]?.(acme.has) ?? {};
    const call: Call = { ...sample, [where]: { ...sample[where], ...FURTHER[operationId], ...sent } };
    const answer = await answerTo(operation, call);
    const record = where === "item" ? responseTo(call, { status: 200, body: answer }).body : answer;
    const credit = await creditOf(record);
    for (const { name } of words) {
      const isOfReceiver = /^(to|recipient)_/.test(name);
      const found = (isOfReceiver ? credit : record)[FIELDS[name] ?? name];
      expect([operationId, name, found]).toEqual([operationId, name, sent[name]]);
    }
  }
  const lists = withWordsIn("query");
  expect(lists.length).toBeGreaterThan(5);
  for (const operation of lists) for (const input of wordsIn(operation, "query")) await expectFilter(operation, input);
});

/** The record of the receiver of a transfer. */
async function creditOf({ group_id: group }: Item): Promise<Item> {
  if (group === undefined) return {};
  const { body } = await service.call("GET", `/v2/transfer/transfers?group_ids=${group}`, { as: acme.token });
  return body.items.find(({ direction }: Item) => direction === "CREDIT");
}

async function expectFilter(operation: Operation, { name, schema }: Input): Promise<void> {
  const { operationId } = operation;
  const sample = SAMPLES[operationId]?.(acme.has) ?? {};
  const itemsBy = async (query: Readonly<Record<string, string | string[]>>): Promise<Item[]> =>
    (await answerTo(operation, { ...sample, query: { ...query, limit: "500" } })).items;
  const isOfOrders = /Orders$/.test(operationId);
  const field = isOfOrders && name === "account_id" ? "identity_account_id" : name.replace(/s$/, "");
  const all = await itemsBy({});
  const word = all.map((item) => item[field]).find((value) => String(value).includes(" of "));
  expect([operationId, field, word]).toEqual([operationId, field, expect.any(String)]);
  const having = all.filter((item) => item[field] === word);
  expect(having.length).toBeLessThan(all.length);
  expect([operationId, name, await itemsBy({ [name]: String(word) })]).toEqual([operationId, name, having]);
  expect(await itemsBy({ [name]: "nobody's word" })).toEqual([]);
  if (schema.type !== "array") return;
  const other = all.map((item) => item[field]).find((value) => value !== undefined && value !== word);
  expect([operationId, name, other]).toEqual([operationId, name, expect.any(String)]);
  const either = all.filter((item) => item[field] === word || item[field] === other);
  expect(await itemsBy({ [name]: [String(word), String(other)] })).toEqual(either);
}
