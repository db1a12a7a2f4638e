/** Conversions between validated requests and domain types. */

import type { ProfileId } from "../ledger/accounts.ts";
import type { Exists } from "../ledger/decision.ts";
import type { RequestedAmount } from "../ledger/rejections.ts";
import { parseAmount } from "../money/amount.ts";
import { assert, must } from "../std/assert.ts";
import { parseUuid, type Uuid } from "../std/id.ts";
import { type Result, reject } from "../std/result.ts";
import type { ApiDialect } from "./dialect/api-dialect.ts";
import type { WordSchema } from "./dialect/schema-words.ts";
import type { Documented, Documenting } from "./problems/problem-responses.ts";
import type { Problem } from "./problems/problems.ts";
import { type AlreadyExists, type DomainRejection, problemOf, type Sent } from "./problems/rejection-problems.ts";
import { uuidOf } from "./requests/schemas.ts";

/** Parses an amount that has passed its schema. "too_precise" is rejected later, with the name of the asset. */
export function requestedAmount(checked: string): RequestedAmount {
  const amount = parseAmount(checked);
  if (amount.kind === "done") return amount.value;
  assert(amount.rejection === "too_precise", "the schema has checked that this is an amount");
  return amount.rejection;
}

export const profileIdOf = (checked: string): ProfileId => uuidOf<ProfileId>(checked);

/** The position in a cursor of a list that is ordered by id. */
export function idPosition(position: readonly string[]): Uuid | undefined {
  return position.length === 1 ? parseUuid(position[0] ?? "") : undefined;
}

/** A request on a route whose `errors(...)` list at least these rejections. */
export type RequestDocumenting<Code> = RequestWith<Documenting<Code>>;

interface RequestWith<Documents> {
  readonly body: unknown;
  readonly server: { readonly dialect: ApiDialect };
  readonly routeOptions: { readonly schema?: { readonly response: Documents } };
}

/**
 * The value of a command's outcome. Compiles only on a route that documents exactly the rejections of the command.
 * @throws Problem when the command was rejected
 */
export function valueOrThrow<Value, Why extends DomainRejection>(
  request: RequestWith<Documented<Why["code"]>>,
  outcome: Result<Value, Why>,
): Value {
  if (outcome.kind === "rejected") throw inCallersWords(request, outcome.rejection);
  return outcome.value;
}

/** The problem of a rejection that a route finds itself. Compiles only on a route that documents it. */
export function problemFor<Why extends DomainRejection>(
  request: RequestDocumenting<Why["code"]>,
  rejection: Why,
): Problem {
  return inCallersWords(request, rejection);
}

function inCallersWords({ body, server, routeOptions }: RequestWith<unknown>, rejection: DomainRejection): Problem {
  const schema = routeOptions.schema as { readonly body?: object; readonly response?: { 200?: object } };
  return problemInWords(server.dialect, rejection, { body, bodySchema: schema.body, record: schema.response?.[200] });
}

/** What the words of a rejection are those of. */
interface Sending {
  readonly body: unknown;
  readonly bodySchema: object | undefined;
  /** The schema of the record that may exist already. */
  readonly record: object | undefined;
}

/** The problem of a rejection in the caller's words. */
export function problemInWords(
  dialect: ApiDialect,
  rejection: DomainRejection,
  { body, bodySchema, record }: Sending,
): Problem {
  const sent = bodySchema === undefined ? {} : dialect.giver(bodySchema)((body ?? {}) as Sent);
  return problemOf(dialect.rejection(rejection, record as WordSchema | undefined), sent, dialect.words);
}

/**
 * The outcome of a command whose ref_id or nickname may be in use.
 * @param find reads the body of the record that has it
 */
export async function withExisting<Value, Why>(
  outcome: Result<Value, Why> | Exists,
  field: AlreadyExists["field"],
  find: (id: Uuid) => Promise<object | undefined>,
): Promise<Result<Value, Why | AlreadyExists>> {
  if (outcome.kind !== "exists") return outcome;
  const existing = must(await find(outcome.id), "the customer can read the record that has its ref_id or nickname");
  return reject({ code: "already_exists", field, existing });
}

/** Every key, also of what may be undefined: a mapping that forgets one does not compile. */
export type Every<Fields> = {
  [Name in keyof Fields]-?: Record<never, never> extends Pick<Fields, Name> ? Fields[Name] | undefined : Fields[Name];
};

/** A body from all of its fields, of which JSON leaves out those that are undefined. */
export function present<Body extends object>(fields: Every<Body>): Body {
  return fields as Body;
}
