/** An access token is valid for 59 minutes and 59 seconds (docs/contract/tokens.md#access-tokens). */
export const TOKEN_LIFE_SECONDS = 3_599;
