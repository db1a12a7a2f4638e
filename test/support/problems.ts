/** Compares whole problem responses. */
import { expect } from "vitest";
import type { Answer } from "./service.ts";

const TITLES: Readonly<Record<string | number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  409: "Already Exists",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  "exceed-precision": "Exceeds Maximum Precision Allowed",
  "insufficient-funds": "Insufficient Funds",
};

export interface ExpectedProblem {
  readonly status: number;
  readonly detail: string;
  readonly slug?: string;
  readonly meta?: object;
}

export function expectProblem(answer: Answer, { status, detail, slug, meta = {} }: ExpectedProblem): void {
  const { type, ...rest } = answer.body;
  expect(rest).toEqual({
    title: TITLES[slug ?? status] ?? TITLES[status],
    status,
    detail,
    meta,
    request_id: answer.headers.get("x-request-id"),
  });
  expect(new URL(type, "about:blank").pathname).toBe(slug === undefined ? "blank" : `/problems/${slug}`);
  expect(answer.status).toBe(status);
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
}

/** The problem of a field that breaks a rule. */
export function failingField(field: string, value: unknown, rule: string): ExpectedProblem {
  const said = value === undefined ? field : `${field} ${JSON.stringify(value)}`;
  const error = value === undefined ? { field, rule } : { field, value, rule };
  return { status: 400, detail: `${said} ${rule}`, meta: { errors: [error] } };
}

/** A success: its status, media type and request id. The body is the test's to judge. */
export function expectSuccess({ status, headers, body }: Answer): void {
  expect(body?.detail, "the detail of a problem").toBeUndefined();
  expect(status).toBe(200);
  expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
}
