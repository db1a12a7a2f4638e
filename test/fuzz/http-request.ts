import type { Operation } from "../support/openapi.ts";

/** A request as it is sent. */
export interface HttpRequest {
  readonly operation: Operation;
  readonly method: string;
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | undefined;
  /** What is wrong with it; undefined for a valid request. */
  readonly wrong?: string;
  /** Does not reach its operation, so that only the general rules apply to the response. */
  readonly astray?: boolean;
}

/** A response as it was received. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}
