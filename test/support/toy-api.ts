/** A small API for the tests of what all routes have in common: a few routes of no meaning on a real socket. */
import { pino } from "pino";
import { Type } from "typebox";
import type { CustomerId } from "../../src/customers/customer-id.ts";
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
} from "../../src/http/schemas.ts";
import { type Api, type ApiOptions, createApi } from "../../src/http/server.ts";
import type { Grant } from "../../src/oauth/grant.ts";

export const GRANT: Grant = {
  customerId: "0190d5a4-0000-7000-8000-000000000001" as CustomerId,
  clientId: "acme",
  scopes: new Set(["transfer:read_transfer", "transfer:write_internal_transfer"]),
  tokenId: "0190d5a4-0000-7000-8000-000000000002",
};

export interface ToyApi {
  readonly api: Api;
  readonly url: string;
  /** What the log was told, one object per line. */
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
    full: () => false,
    ...options,
  });
  toyRoutes(api);
  add(api);
  const url = await api.listen({ port: 0, host: "127.0.0.1" });
  return { api, url, logged, close: () => api.close() };
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
