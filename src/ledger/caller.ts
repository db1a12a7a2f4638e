/**
 * Who requested a write. A batch stores its callers permanently, covered by its hash, and each record refers to one of
 * them (docs/decisions/0019-who-made-each-write.md).
 */

/** An API client. The address may be personal data; the token itself is never stored. */
export interface ClientCaller {
  readonly client: string;
  /** The token's `jti`. */
  readonly token: string;
  readonly address: string;
  /** The method and the path's pattern, such as "POST /v2/transfer/platform". */
  readonly operation: string;
}

export interface HouseCaller {
  readonly house: "auth" | "engine" | "settlement" | "maker" | "bootstrap" | "webhooks";
}

export interface OperatorCaller {
  /** The user of the operating system. */
  readonly operator: string;
  /** The name that the person gave with --as. */
  readonly person?: string;
  /** The command, such as "deposit". */
  readonly operation: string;
}

export type Caller = ClientCaller | HouseCaller | OperatorCaller;

/** The distinct callers of one batch, numbered from 0. */
export class Callers {
  readonly #numbers = new Map<string, number>();
  #last: { readonly caller: Caller; readonly number: number } | undefined;

  numberOf(caller: Caller): number {
    // The commands of a bulk share one.
    if (this.#last?.caller === caller) return this.#last.number;
    const text = JSON.stringify(caller);
    const number = this.#numbers.get(text) ?? this.#numbers.size;
    this.#numbers.set(text, number);
    this.#last = { caller, number };
    return number;
  }

  /** The text that is stored and hashed: a JSON array in number order; undefined without callers. */
  text(): string | undefined {
    return this.#numbers.size === 0 ? undefined : `[${[...this.#numbers.keys()].join(",")}]`;
  }
}
