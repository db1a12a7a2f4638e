import type { Operation } from "../support/openapi.ts";

/** A request as it goes out. */
export interface HttpRequest {
  readonly operation: Operation;
  readonly method: string;
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | undefined;
  /** What is wrong with it; nothing is when it is missing. */
  readonly wrong?: string;
  /** Leads somewhere else than to its operation, so that only the general rules for answers hold. */
  readonly astray?: boolean;
}

/** An answer, as it came. */
export interface Told {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}
