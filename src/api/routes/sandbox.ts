/** Simulated deposits. These routes exist in sandbox mode only. */
import { type Static, Type } from "typebox";
import type { Catalogue } from "../../catalogue/catalogue.ts";
import type { Profiles } from "../../customers/profiles/profiles.ts";
import type { Amount as Quantity } from "../../money/amount.ts";
import type { AssetCode as Code } from "../../money/asset.ts";
import { DEFAULT_NETWORK, isOnNetwork, sandboxTransfer, type Transfers } from "../../transfers/transfers.ts";
import type { Api } from "../api.ts";
import type { ApiDialect } from "../dialect/api-dialect.ts";
import { requestedAmount, valueOrThrow } from "../domain-mapping.ts";
import { invalid } from "../problems/failing-fields.ts";
import { errors } from "../problems/problem-responses.ts";
import { Amount, AssetCode, Body, ProfileIdParam, ShortText, UuidText } from "../requests/schemas.ts";
import { ownProfile } from "./path-profile.ts";
import { CryptoNetworkText } from "./transfer-record.ts";

const DepositBody = Body(
  {
    asset: AssetCode,
    amount: Amount,
    crypto_network: Type.Optional({
      ...CryptoNetworkText,
      description:
        "Not for fiat. Default: ETHEREUM. BITCOIN, BITCOIN_CASH, LITECOIN and DOGECOIN are for their own coins, and these only for them and for ETHEREUM.",
    }),
    crypto_address: Type.Optional(
      ShortText(
        "The deposit address to record. Not for fiat. By default generated; the same for each profile and network.",
      ),
    ),
  },
  { title: "NewDeposit" },
);

const ActivityBody = Type.Object(
  { activity_id: Type.String({ ...UuidText, description: "The id of the transfer." }) },
  { title: "SandboxDeposit", description: "A simulated deposit." },
);

interface Parts {
  readonly profiles: Pick<Profiles, "find" | "getDefault">;
  readonly transfers: Pick<Transfers, "deposit">;
  readonly catalogue: Pick<Catalogue, "findAsset">;
  /** In USD; undefined if the asset has never traded against it. */
  readonly lastPrice: (asset: Code) => Promise<Quantity | undefined>;
}

const REJECTIONS = ["balance_too_large", "exceed_precision", "profile_not_found", "unknown_asset"] as const;

export function sandboxRoutes(api: Api, { profiles, transfers, catalogue, lastPrice }: Parts): void {
  api.post(
    "/v2/sandbox/profiles/:id/deposit",
    {
      config: { scope: "funding:read_profile" },
      schema: {
        operationId: "createSandboxDeposit",
        tags: ["Sandbox"],
        summary: "Deposit into a profile",
        description:
          "Credits a profile as if by wire transfer (fiat) or on-chain deposit (all other assets). Reactivates an inactive profile.",
        params: Type.Object({ id: ProfileIdParam }),
        body: DepositBody,
        response: {
          200: ActivityBody,
          ...errors(400, 401, 403, ...REJECTIONS, 413, 415, 429, 500, 503),
        },
      },
    },
    async (request) => {
      const { caller, body } = request;
      const { customerId } = request.grant;
      const profileId = await ownProfile(profiles, request, request.params.id);
      const asset = catalogue.findAsset(body.asset);
      if (asset?.kind === "fiat") rejectCryptoFields(body, api.dialect);
      else if (asset !== undefined) rejectOtherNetworks(body, api.dialect);
      const amount = requestedAmount(body.amount);
      const { crypto_network: network, crypto_address: address } = body;
      const price = asset?.kind === "crypto" ? await lastPrice(asset.code) : undefined;
      const details = sandboxTransfer({ profileId, asset, amount, network, address, lastPrice: price });
      const deposit = { customerId, profileId, amount, asset: body.asset, ...details };
      const { id } = valueOrThrow(request, await transfers.deposit(deposit, caller));
      return { activity_id: id };
    },
  );
}

type DepositBody = Static<typeof DepositBody>;

function rejectCryptoFields(body: DepositBody, dialect: ApiDialect): void {
  const sent = dialect.giver(DepositBody)(body);
  const failing = (["crypto_network", "crypto_address"] as const)
    .filter((field) => sent[field] !== undefined)
    .map((field) => ({ field, value: sent[field] as string, rule: `is not for ${sent.asset}, which is fiat` }));
  if (failing.length > 0) throw invalid(failing);
}

function rejectOtherNetworks(body: DepositBody, dialect: ApiDialect): void {
  const { asset, crypto_network: network } = body;
  // The default for every asset, so also where it is named.
  if (network === undefined || network === DEFAULT_NETWORK || isOnNetwork(asset, network)) return;
  const sent = dialect.giver(DepositBody)(body);
  throw invalid([
    { field: "crypto_network", value: sent.crypto_network as string, rule: `is not a network of ${sent.asset}` },
  ]);
}
