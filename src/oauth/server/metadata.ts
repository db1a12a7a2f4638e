import { OWN_DIALECT, type Words } from "../../web/dialect/dialect.ts";
import { ALGORITHM } from "../keys/signing-keys.ts";
import { SCOPES } from "../scopes.ts";

export const TOKEN_PATH = "/oauth2/token";
export const KEYS_PATH = "/.well-known/jwks.json";
export const METADATA_PATH = "/.well-known/oauth-authorization-server";
export const OPENID_PATH = "/.well-known/openid-configuration";

/** What clients find the token endpoint and its keys by. */
export const DISCOVERY_PATHS: readonly string[] = [KEYS_PATH, METADATA_PATH, OPENID_PATH];

/** RFC 8414, section 2: authorization server metadata. */
export function serverMetadata(authUrl: string, scopeWords: Words = OWN_DIALECT.scopes) {
  return {
    issuer: authUrl,
    token_endpoint: `${authUrl}${TOKEN_PATH}`,
    jwks_uri: `${authUrl}${KEYS_PATH}`,
    scopes_supported: Object.keys(SCOPES).map(scopeWords.given),
    // Required, though there is no authorization endpoint.
    response_types_supported: [],
    grant_types_supported: ["client_credentials"],
    token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
  };
}

/**
 * OpenID Connect Discovery 1.0, section 3. There are no end users to identify; this serves clients that support no other
 * discovery, with the members that they require.
 */
export function openidConfiguration(authUrl: string, scopeWords: Words = OWN_DIALECT.scopes) {
  return {
    ...serverMetadata(authUrl, scopeWords),
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: [ALGORITHM],
  };
}
