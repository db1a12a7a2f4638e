/** What the tests use of simple-oauth2, which brings no types. */
declare module "simple-oauth2" {
  export interface ClientCredentialsConfig {
    readonly client: { readonly id: string; readonly secret: string };
    readonly auth: { readonly tokenHost: string; readonly tokenPath: string };
    readonly options: { readonly authorizationMethod: "body" | "header" };
  }

  export class ClientCredentials {
    constructor(config: ClientCredentialsConfig);
    getToken(params: { scope?: string }): Promise<{ readonly token: Readonly<Record<string, unknown>> }>;
  }
}
