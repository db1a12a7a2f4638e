/** Who takes part in the story (`story.ts`): a customer whose day it is, and one to trade with. */
import { SCOPES } from "../../src/oauth/scopes.ts";

const ACME = "019a0000-0000-7000-8000-00000000ac3e";
export const TREASURY = "019a0000-0000-7000-8000-000000000012";
const BIRCH = "019a0000-0000-7000-8000-00000000b14c";
export const BIRCH_DESK = "019a0000-0000-7000-8000-000000000022";
export const NOBODYS = "019a0000-0000-7000-8000-00000000dead";
export const FIXED_IDS = [ACME, TREASURY, BIRCH, BIRCH_DESK, NOBODYS];

export const CREDENTIALS = { client_id: "acme", client_secret: "correct horse battery staple" };
export const NOT_HELD = "transfer:write_fiat_withdrawal";
const HELD = Object.keys(SCOPES).filter((scope) => scope !== NOT_HELD);
export const BIRCH_CREDENTIALS = { client_id: "birch", client_secret: "battery staple correct horse" };

export const STORY_CLIENT = { clientId: CREDENTIALS.client_id, secret: CREDENTIALS.client_secret };
/** Which no operation of the story needs. */
export const OTHER_SCOPE = "transfer:read_fiat_account";

export const CUSTOMERS = [
  {
    id: ACME,
    name: "Acme Payments",
    clients: [
      { ...CREDENTIALS, scopes: HELD },
      { client_id: "acme-reports", client_secret: "staple battery", scopes: ["transfer:read_transfer"] },
    ],
    profiles: [{ id: TREASURY, nickname: "treasury" }],
  },
  {
    id: BIRCH,
    name: "Birch Trading",
    clients: [{ ...BIRCH_CREDENTIALS, scopes: ["*"] }],
    profiles: [{ id: BIRCH_DESK, nickname: "desk", balances: { USD: "100000", BTC: "5" } }],
  },
];
