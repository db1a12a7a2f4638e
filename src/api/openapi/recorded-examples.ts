/**
 * The examples of the OpenAPI document: one customer's day, recorded from the running service by
 * `test/openapi/examples.test.ts`, which says how to record it again.
 */
import recorded from "./recorded-examples.json" with { type: "json" };

/** What was sent to an operation, and its answers. */
export interface RecordedExample {
  /** In the path and in the query, by name. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  /** That of the success. */
  readonly response?: unknown;
  /** By the names that `errors` gives them. */
  readonly problems?: Readonly<Record<string, unknown>>;
}

/** The base_url in the recording. */
export const RECORDED_BASE_URL = "https://api.example.com";

/** By operation, as this service would answer. */
export function recordedExamples(baseUrl: string): Readonly<Record<string, RecordedExample>> {
  return JSON.parse(JSON.stringify(recorded).replaceAll(RECORDED_BASE_URL, JSON.stringify(baseUrl).slice(1, -1)));
}
