/** The token endpoint, with the OAuth clients that JavaScript programs use. */
import * as oauth from "oauth4webapi";
import * as openid from "openid-client";
import { ClientCredentials } from "simple-oauth2";
import { type ClientLibrary, type TokenRequest, type TokenResult, testClientLibraries } from "./client-library.ts";

const GRANT_TYPE = "client_credentials";

const openidClient: ClientLibrary = {
  name: "openid-client",
  challengeHidesError: true,
  statusHidesError: true,
  request: oneByOne(async (authUrl, { way, clientId, secret, scope, grantType = GRANT_TYPE }) => {
    const authentication = way === "body" ? openid.ClientSecretPost(secret) : openid.ClientSecretBasic(secret);
    const config = await openid.discovery(new URL(authUrl), clientId, secret, authentication, {
      execute: [openid.allowInsecureRequests],
    });
    const parameters = scope === undefined ? {} : { scope };
    const results = await (grantType === GRANT_TYPE
      ? openid.clientCredentialsGrant(config, parameters)
      : openid.genericGrantRequest(config, grantType, parameters));
    return granted(results);
  }),
};

const oauth4webapi: ClientLibrary = {
  name: "oauth4webapi",
  challengeHidesError: true,
  statusHidesError: true,
  request: oneByOne(async (authUrl, { way, clientId, secret, scope, grantType = GRANT_TYPE }) => {
    const issuer = new URL(authUrl);
    const insecure = { [oauth.allowInsecureRequests]: true };
    const discovered = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
    const server = await oauth.processDiscoveryResponse(issuer, discovered);
    const client = { client_id: clientId };
    const authentication = way === "body" ? oauth.ClientSecretPost(secret) : oauth.ClientSecretBasic(secret);
    const parameters = new URLSearchParams(scope === undefined ? {} : { scope });
    if (grantType !== GRANT_TYPE) {
      const answer = await oauth.genericTokenEndpointRequest(
        server,
        client,
        authentication,
        grantType,
        parameters,
        insecure,
      );
      return granted(await oauth.processGenericTokenEndpointResponse(server, client, answer));
    }
    const answer = await oauth.clientCredentialsGrantRequest(server, client, authentication, parameters, insecure);
    return granted(await oauth.processClientCredentialsResponse(server, client, answer));
  }),
};

const simpleOauth2: ClientLibrary = {
  name: "simple-oauth2",
  oneGrant: true,
  request: oneByOne(async (authUrl, { way, clientId, secret, scope }) => {
    const client = new ClientCredentials({
      client: { id: clientId, secret },
      auth: { tokenHost: authUrl, tokenPath: "/oauth2/token" },
      options: { authorizationMethod: way === "body" ? "body" : "header" },
    });
    const { token } = await client.getToken(scope === undefined ? {} : { scope });
    return granted(token);
  }),
};

/** The answer as the client hands it on, which is requests for in the words of RFC 6749 by all of them. */
function granted(token: Readonly<Record<string, unknown>>): TokenResult {
  const { access_token, token_type, scope, expires_in } = token;
  return { token: String(access_token), type: String(token_type), scope: String(scope), expiresIn: Number(expires_in) };
}

function oneByOne(
  askOnce: (authUrl: string, requests: TokenRequest) => Promise<TokenResult>,
): ClientLibrary["request"] {
  return async (authUrl, requests) => {
    const results: TokenResult[] = [];
    for (const each of requests) results.push(await askOnce(authUrl, each).catch(understood));
    return results;
  };
}

/** What a client throws, in its own words for the response. */
function understood(error: unknown): TokenResult {
  if (error instanceof oauth.ResponseBodyError) {
    return { error: error.error, description: error.error_description };
  }
  if (error instanceof oauth.WWWAuthenticateChallengeError && error.status === 401) {
    const [challenge] = error.cause;
    if (challenge?.scheme === "basic" && challenge.parameters.realm === "parbook") return { error: "challenged" };
  }
  const { cause, data } = error as { cause?: unknown; data?: { payload?: Record<string, string> } };
  if (data?.payload?.error !== undefined) {
    return { error: data.payload.error, description: data.payload.error_description };
  }
  const response = cause instanceof Response ? cause : (cause as { cause?: unknown })?.cause;
  if (response instanceof Response) return { error: String(response.status) };
  throw error;
}

testClientLibraries(openidClient, oauth4webapi, simpleOauth2);
