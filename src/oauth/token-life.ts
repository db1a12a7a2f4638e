/** interface.md, Limits: an access token lives 59 minutes and 59 seconds. */
export const TOKEN_LIFE_SECONDS = 3_599;
