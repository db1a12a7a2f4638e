/** Words that people try for what has another name here. Those that are only misspelt the parser answers itself. */
const START = "parbook start, or parbook alone";
const STOP = "press Ctrl-C where the service runs, or send SIGTERM to the pid in ready.json of its data directory";
const STATE = "GET /readyz of the service says whether it serves, and parbook doctor what it lacks";
const CONVERSION = "POST /v2/conversion/stablecoins of the API; parbook demo shows it";
const CATALOGUE = 'docs/your-own-coin.md, "In production: the catalogue"';
const DOCUMENTATION = "/docs of a running service";

export const OTHER_WORDS: ReadonlyMap<string, string> = new Map([
  ...["dev", "init", "run", "sandbox", "serve", "server", "setup", "up"].map((word) => [word, START] as const),
  ...["down", "kill", "quit", "shutdown", "stop"].map((word) => [word, STOP] as const),
  ...["health", "ps", "ready", "status"].map((word) => [word, STATE] as const),
  ...["burn", "convert", "mint", "redeem"].map((word) => [word, CONVERSION] as const),
  ...["asset", "assets", "catalog", "catalogue"].map((word) => [word, CATALOGUE] as const),
  ...["api", "docs", "openapi"].map((word) => [word, DOCUMENTATION] as const),
  ...["config", "env", "settings"].map((word) => [word, "docs/settings.md"] as const),
  ...["account", "accounts", "tenant", "user", "users"].map((word) => [word, "parbook customer"] as const),
  ...["balance", "balances"].map((word) => [word, "GET /v2/profiles/{profile_id}/balances of the API"] as const),
  ...["log", "logs"].map((word) => [word, "parbook audit writes"] as const),
  ...["login", "token"].map((word) => [word, "POST /oauth2/token, for a client of parbook client create"] as const),
  ["check", "parbook verify for the ledger, parbook doctor for database and machine"],
  ["coin", "parbook start --coin ACMEUSD in a sandbox; else docs/your-own-coin.md"],
  ["pay", "parbook payout run"],
  ["tour", "parbook demo"],
  ["upgrade", "docs/upgrade.md"],
  ["version", "parbook --version"],
]);
