import { Counter, type Registry } from "prom-client";

/** Authentication and authorization outcomes. Counts only: nothing identifies a client. */
export class AccessMetrics {
  readonly #tokens: Counter<"outcome">;
  readonly #denied: Counter<"kind">;

  constructor(registry: Registry) {
    this.#tokens = new Counter({
      name: "parbook_token_requests_total",
      help: "Token requests, by outcome: issued, or the RFC 6749 error code. Many invalid_client: see parbook audit denials.",
      labelNames: ["outcome"],
      registers: [registry],
    });
    this.#denied = new Counter({
      name: "parbook_access_denied_total",
      help: "Access denials, by kind: no_token, invalid_token, insufficient_scope, invalid_client. For the callers: parbook audit denials.",
      labelNames: ["kind"],
      registers: [registry],
    });
  }

  readonly tokenRequest = (outcome: string): void => this.#tokens.inc({ outcome });

  readonly denied = ({ kind }: { readonly kind: string }): void => this.#denied.inc({ kind });
}
