/**
 * Who asked for a write. A batch keeps its callers for good, covered by its hash, and each record says which of them
 * asked for it (docs/decisions/0019-who-made-each-write.md).
 */

/** An API client. The address is personal data where a person is behind it; the token is named, never kept. */
export interface ClientCaller {
  readonly client: string;
  /** The token's `jti`. */
  readonly token: string;
  readonly address: string;
  /** The method and the path's pattern, such as "POST /v2/transfer/platform". */
  readonly operation: string;
}

/** A part of the program that acts by itself. */
export interface HouseCaller {
  readonly house: "engine" | "settlement" | "maker" | "bootstrap";
}

/** Somebody at the command line of the host. */
export interface OperatorCaller {
  /** The name of the user of the operating system. */
  readonly operator: string;
  /** The command, such as "deposit". */
  readonly operation: string;
}

export type Caller = ClientCaller | HouseCaller | OperatorCaller;

/** The callers of one batch, each once and by its number from 0. Most of a batch's commands have few callers. */
export class Callers {
  readonly #numbers = new Map<string, number>();

  numberOf(caller: Caller): number {
    const text = JSON.stringify(caller);
    const number = this.#numbers.get(text) ?? this.#numbers.size;
    this.#numbers.set(text, number);
    return number;
  }

  /** As it is stored and hashed: a JSON array in the order of the numbers. Undefined without any. */
  text(): string | undefined {
    return this.#numbers.size === 0 ? undefined : `[${[...this.#numbers.keys()].join(",")}]`;
  }
}
