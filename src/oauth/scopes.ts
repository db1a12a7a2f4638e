/**
 * The scopes that a client may hold (docs/contract/tokens.md#scopes). Some are not required by any operation yet.
 */
export const SCOPES = {
  "api_creds:delete_credentials": "Disable API clients.",
  "api_creds:read_credentials": "Read API clients, without their secrets.",
  "conversion:read_conversion_stablecoin": "Read stablecoin conversions.",
  "conversion:write_conversion_stablecoin": "Create and cancel stablecoin conversions.",
  "events:read_event": "Read events.",
  "exchange:historical_prices": "Read historical prices.",
  "exchange:read_order": "Read orders and executions.",
  "exchange:write_order": "Place and cancel orders.",
  "funding:read_profile": "Read profiles and their balances; make sandbox deposits.",
  "funding:write_profile": "Create, change and deactivate profiles.",
  "transfer:read_deposit_address": "Read crypto deposit addresses.",
  "transfer:read_fiat_account": "Read registered bank accounts.",
  "transfer:read_fiat_deposit_instructions": "Read instructions for fiat deposits.",
  "transfer:read_transfer": "Read transfers.",
  "transfer:write_crypto_withdrawal": "Withdraw crypto assets and stablecoins.",
  "transfer:write_deposit_address": "Create crypto deposit addresses.",
  "transfer:write_fiat_account": "Register bank accounts.",
  "transfer:write_fiat_deposit_instructions": "Create instructions for fiat deposits.",
  "transfer:write_fiat_withdrawal": "Withdraw fiat to a registered bank account.",
  "transfer:write_internal_transfer": "Move assets between profiles of the same customer.",
  "transfer:write_platform_transfer": "Move assets to a profile of another customer.",
  "webhooks:read_webhook": "Read webhooks and what was delivered to them, without their secrets.",
  "webhooks:write_webhook": "Create, change, test and delete webhooks.",
} as const satisfies Record<string, string>;

export type Scope = keyof typeof SCOPES;

/** In a client's list: every scope, including future ones. Cannot be requested for a token. */
const EVERY_SCOPE = "*";

export function isScope(text: string): text is Scope {
  return Object.hasOwn(SCOPES, text);
}

/** The scopes that a client's list grants. Unknown names are ignored. */
export function heldScopes(listed: readonly string[]): readonly Scope[] {
  if (listed.includes(EVERY_SCOPE)) return Object.keys(SCOPES).filter(isScope);
  return [...new Set(listed)].filter(isScope);
}
