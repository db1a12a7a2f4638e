/**
 * Who may call. Every route says in its `config` which scope it asks for, or that it is public; a route that says
 * neither does not start. The token is looked at before anything else of the request is read (behaviour.md, section 3).
 */
import type { FastifyRequest, onRequestAsyncHookHandler } from "fastify";
import type { Grant } from "../oauth/grant.ts";
import type { Scope } from "../oauth/scopes.ts";
import { must } from "../std/assert.ts";
import { Problem } from "./problems.ts";

/** What a route asks for: nothing, one scope, or one of several. */
export type Access = "public" | Scope | readonly Scope[];

/** Answers what a token grants; undefined when it is malformed, expired or revoked. */
export type Verify = (token: string) => Promise<Grant | undefined>;

declare module "fastify" {
  interface FastifyContextConfig {
    scope: Access;
  }
  interface FastifyRequest {
    /** Who calls. On a public route nobody is known, and asking is a bug. */
    readonly grant: Grant;
  }
}

const grants = new WeakMap<FastifyRequest, Grant>();

export function grantOf(request: FastifyRequest): Grant {
  return must(grants.get(request), "a route that asks who calls is not public");
}

/** The hook of a route that is not public: lets the request through when its token holds one of the scopes. */
export function guard(required: readonly Scope[], verify: Verify): onRequestAsyncHookHandler {
  return async (request) => {
    const token = bearerToken(request.headers.authorization);
    if (token === undefined)
      throw unauthorized("no access token was sent: the header is Authorization: Bearer <token>");
    const grant = token.length > LONGEST_TOKEN ? undefined : await verify(token);
    if (grant === undefined) {
      throw unauthorized("the access token is malformed, expired or revoked", "invalid_token");
    }
    if (!required.some((scope) => grant.scopes.has(scope))) throw insufficientScopes(required, [...grant.scopes]);
    grants.set(request, grant);
  };
}

/** Longer than any token that we issue. */
const LONGEST_TOKEN = 8_192;

/** RFC 6750, section 2.1; the name of a scheme is case-insensitive (RFC 9110, section 11.1). */
function bearerToken(header: string | undefined): string | undefined {
  return /^bearer +(.+)$/i.exec(header ?? "")?.[1]?.trimEnd();
}

/** RFC 6750, section 3.1: a request without a token hears no error code. */
function unauthorized(detail: string, error?: string): Problem {
  const why = error === undefined ? "" : `, error="${error}", error_description="${detail}"`;
  return new Problem(401, detail, { headers: { "www-authenticate": `Bearer realm="parbook"${why}` } });
}

function insufficientScopes(required: readonly Scope[], granted: readonly string[]): Problem {
  const scope = required.join(" ");
  return new Problem(403, `insufficient scopes: found '${granted.join(" ")}', required one of '[${scope}]'`, {
    meta: { required, granted },
    headers: {
      "www-authenticate": `Bearer realm="parbook", error="insufficient_scope", error_description="the access token does not grant the scope", scope="${scope}"`,
    },
  });
}
