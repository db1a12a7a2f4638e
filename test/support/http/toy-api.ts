/** A small API for the tests of what all routes have in common: a few routes of no meaning on a real socket. */
import { pino } from "pino";
import { Type } from "typebox";
import {
  Amount,
  AssetCode,
  Body,
  DateTime,
  Limit,
  Metadata,
  Order,
  PageCursor,
  ProfileIdParam,
  RefId,
  Repeatable,
  UuidText,
} from "../../../src/api/requests/schemas.ts";
import { type Api, type ApiOptions, createApi } from "../../../src/api/server.ts";
import type { CustomerId } from "../../../src/customers/customer-id.ts";
import type { Grant } from "../../../src/oauth/tokens/grant.ts";

export const GRANT: Grant = {
  customerId: "0190d5a4-0000-7000-8000-000000000001" as CustomerId,
  clientId: "acme",
  scopes: new Set(["transfer:read_transfer", "transfer:write_internal_transfer"]),
  tokenId: "0190d5a4-0000-7000-8000-000000000002",
};

/** The DEFAULT profile of that customer. */
export const DEFAULT_PROFILE = "0190d5a4-0000-7000-8000-000000000003";

export interface ToyApi {
  readonly api: Api;
  readonly url: string;
  /** The log, one object per line. */
  readonly logged: readonly Record<string, unknown>[];
  readonly close: () => Promise<void>;
}

/** Starts the toy on a free port; `add` puts more routes on it. The token "good" is valid and is of `GRANT`. */
export async function startToyApi(
  add: (api: Api) => void = () => {},
  options: Partial<ApiOptions> = {},
): Promise<ToyApi> {
  const logged: Record<string, unknown>[] = [];
  const log = pino({ level: "info" }, { write: (line) => void logged.push(JSON.parse(line)) });
  const api = await createApi({
    baseUrl: () => "http://toy.test",
    authUrl: () => "http://auth.toy.test",
    log,
    verify: async (token) => (token === "good" ? GRANT : undefined),
    rejectsWork: () => undefined,
    defaultProfileOf: async () => DEFAULT_PROFILE,
    ...options,
  });
  toyRoutes(api);
  add(api);
  const url = await api.listen({ port: 0, host: "127.0.0.1" });
  const close = async (): Promise<void> => {
    const closed = api.close();
    // A connection on which nothing was sent is not idle to Node, which would wait for its time-out.
    api.server.closeAllConnections();
    await closed;
  };
  return { api, url, logged, close };
}

export interface Answer {
  readonly status: number;
  /** Without those that only the connection is about. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

interface Question {
  readonly method?: string;
  /** "good" unless said otherwise; null sends none. */
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON, a string as it is. */
  readonly json?: unknown;
}

/** Asks with the request id "r-1", so that whole answers can be compared. */
export async function ask(toy: ToyApi, path: string, question: Question = {}): Promise<Answer> {
  const { method = "GET", token = "good", headers = {}, json } = question;
  const response = await fetch(toy.url + path, {
    method,
    headers: {
      "x-request-id": "r-1",
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(json === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(json === undefined ? {} : { body: typeof json === "string" ? json : JSON.stringify(json) }),
  });
  const text = await response.text();
  const { connection, date, "keep-alive": _, "content-length": __, ...received } = Object.fromEntries(response.headers);
  const isJson = text !== "" && received["content-type"]?.includes("json") === true;
  return { status: response.status, headers: received, body: isJson ? JSON.parse(text) : text };
}

/** What every answer has. */
export const COMMON_HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/** The whole answer that a problem is. */
export function problem(
  status: number,
  title: string,
  detail: string,
  { type = "about:blank", meta = {}, headers = {} }: { type?: string; meta?: object; headers?: object } = {},
): Answer {
  return {
    status,
    headers: { ...COMMON_HEADERS, "content-type": "application/problem+json", "x-request-id": "r-1", ...headers },
    body: { type, title, status, detail, meta, request_id: "r-1" },
  };
}

function toyRoutes(api: Api): void {
  api.post(
    "/v2/toys/:profile_id",
    {
      config: { scope: "transfer:write_internal_transfer" },
      schema: {
        hide: true,
        params: Type.Object({ profile_id: ProfileIdParam }),
        body: Body({
          to_profile_id: UuidText,
          amount: Amount,
          asset: AssetCode,
          ref_id: Type.Optional(RefId),
          metadata: Type.Optional(Metadata),
          side: Type.Optional(Type.Enum(["BUY", "SELL"])),
          code: Type.Optional(Type.String({ maxLength: 4, writeOnly: true })),
        }),
      },
    },
    async (request) => ({ params: request.params, body: request.body }),
  );
  api.get(
    "/v2/toys",
    {
      config: { scope: ["transfer:read_transfer", "funding:read_profile"] },
      schema: {
        hide: true,
        querystring: Type.Object({
          ids: Repeatable(UuidText, "Only these."),
          nickname: Type.Optional(Type.String({ minLength: 1 })),
          "created_at.gte": Type.Optional(DateTime),
          open: Type.Optional(Type.Boolean()),
          order: Order("DESC"),
          limit: Limit(100, 1000),
          page_cursor: PageCursor,
        }),
      },
    },
    async (request) => ({ query: request.query, customer: request.grant.customerId }),
  );
  api.put("/v2/toys", { config: { scope: "funding:write_profile" }, schema: { hide: true } }, async () => ({}));
  api.delete("/v2/toys/:profile_id", { config: { scope: "public" }, schema: { hide: true } }, async () => ({
    deleted: true,
  }));
}
