import { Counter, type Registry } from "prom-client";

/** Who is let in and who is not: kinds and numbers, never who. */
export class AccessMetrics {
  readonly #tokens: Counter<"outcome">;
  readonly #refused: Counter<"kind">;

  constructor(registry: Registry) {
    this.#tokens = new Counter({
      name: "parbook_token_requests_total",
      help: "Requests for a token that were judged, by outcome: issued, or the error of RFC 6749. Many invalid_client: see parbook audit refusals.",
      labelNames: ["outcome"],
      registers: [registry],
    });
    this.#refused = new Counter({
      name: "parbook_authority_refused_total",
      help: "Requests refused for want of authority, by kind: no_token, invalid_token, insufficient_scope, invalid_client. By whom: parbook audit refusals.",
      labelNames: ["kind"],
      registers: [registry],
    });
  }

  readonly tokenRequest = (outcome: string): void => this.#tokens.inc({ outcome });

  readonly refused = ({ kind }: { readonly kind: string }): void => this.#refused.inc({ kind });
}
