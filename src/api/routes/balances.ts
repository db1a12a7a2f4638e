/** Balances of a profile, now or at a past time. */
import { type Static, Type } from "typebox";
import type { Catalogue } from "../../catalogue/catalogue.ts";
import type { Profiles } from "../../customers/profiles/profiles.ts";
import type { ProfileId } from "../../ledger/accounts.ts";
import type { Balance } from "../../ledger/balances.ts";
import { formatAmount } from "../../money/amount.ts";
import type { AssetCode as Code } from "../../money/asset.ts";
import { must } from "../../std/assert.ts";
import type { Instant } from "../../std/clock.ts";
import type { Api } from "../api.ts";
import { problemFor, type RequestDocumenting } from "../domain-mapping.ts";
import { errors } from "../problems/problem-responses.ts";
import { notFound } from "../problems/problems.ts";
import { AssetCode, Decimal, ListOf, ProfileIdParam, Repeatable } from "../requests/schemas.ts";
import { lastUntil } from "../requests/time-range.ts";
import { ownProfile } from "./path-profile.ts";

const BalanceBody = Type.Object(
  {
    asset: AssetCode,
    available: Type.String({ ...Decimal, description: "What can be transferred, converted or traded." }),
    trading: Type.String({ ...Decimal, description: "The amount held by open orders." }),
  },
  {
    title: "Balance",
    description: "The amount held by a CREATED conversion is in neither until it is settled or cancelled.",
  },
);

const AtTime = Type.Optional(
  Type.String({
    description:
      "The balance as of this time, inclusive. Default: now. A transfer is posted when it is decided, which can be shortly after its created_at.",
    format: "date-time",
    "x-check": "date_time",
  }),
);

interface Parts {
  readonly profiles: Pick<Profiles, "find" | "getDefault">;
  readonly catalogue: Pick<Catalogue, "findAsset" | "listAssets">;
  /** The balances of these assets, in their order. */
  readonly readBalances: (profileId: ProfileId, assets: readonly Code[], at?: Instant) => Promise<Balance[]>;
}

export function balanceRoutes(api: Api, parts: Parts): void {
  listRoute(api, parts);
  findRoute(api, parts);
}

function listRoute(api: Api, { profiles, catalogue, readBalances }: Parts): void {
  api.get(
    "/v2/profiles/:id/balances",
    {
      config: { scope: "funding:read_profile" },
      schema: {
        operationId: "listBalances",
        tags: ["Balances"],
        summary: "List the balances of a profile",
        description:
          "All assets that there are, or those that are named, in the order of their codes. They are always one page.",
        params: Type.Object({ id: ProfileIdParam }),
        querystring: Type.Object({ assets: Repeatable(AssetCode, "These assets."), at: AtTime }),
        response: {
          200: ListOf(BalanceBody),
          ...errors(400, 401, 403, "profile_not_found", "unknown_asset", 429, 500, 503),
        },
      },
    },
    async (request) => {
      const { params, query } = request;
      const profileId = await ownProfile(profiles, request, params.id);
      const assets = assetsOf(catalogue, request, query.assets);
      const balances = await readBalances(profileId, assets, query.at === undefined ? undefined : lastUntil(query.at));
      return { items: balances.map(balanceBody), next_page_cursor: "" };
    },
  );
}

/** @returns in the catalogue's order, without duplicates */
function assetsOf(
  catalogue: Pick<Catalogue, "listAssets">,
  request: RequestDocumenting<"unknown_asset">,
  named: readonly string[] | undefined,
): Code[] {
  const codes = catalogue.listAssets().map(({ code }) => code);
  const unknown = named?.find((name) => !codes.some((code) => code === name));
  if (unknown !== undefined) throw problemFor(request, { code: "unknown_asset", field: "assets", asset: unknown });
  return codes.filter((code) => named === undefined || named.includes(code));
}

function findRoute(api: Api, { profiles, catalogue, readBalances }: Parts): void {
  api.get(
    "/v2/profiles/:id/balances/:asset",
    {
      config: { scope: "funding:read_profile" },
      schema: {
        operationId: "getBalance",
        tags: ["Balances"],
        summary: "Read one balance of a profile",
        description: "The balance of one asset; zero if the profile never held it.",
        params: Type.Object({ id: ProfileIdParam, asset: AssetCode }),
        querystring: Type.Object({ at: AtTime }),
        response: { 200: BalanceBody, ...errors(400, 401, 403, 404, "profile_not_found", 429, 500, 503) },
      },
    },
    async (request) => {
      const { params, query } = request;
      const profileId = await ownProfile(profiles, request, params.id);
      const asset = catalogue.findAsset(params.asset);
      if (asset === undefined) throw notFound(`asset not found: ${api.dialect.words.assets.given(params.asset)}`);
      const at = query.at === undefined ? undefined : lastUntil(query.at);
      const [balance] = await readBalances(profileId, [asset.code], at);
      return balanceBody(must(balance, "every asset that is asked for has a balance"));
    },
  );
}

function balanceBody({ asset, available, trading }: Balance): Static<typeof BalanceBody> {
  return { asset, available: formatAmount(available), trading: formatAmount(trading) };
}
