/**
 * The API reference at /docs: Swagger UI from our own files, so that it works without internet access. Its content
 * security policy forbids loading anything from elsewhere.
 */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { PROGRAM_VERSION } from "../../std/program-version.ts";
import type { Api } from "../api.ts";
import { notFound } from "../problems/problems.ts";

/**
 * The style sheet has its icons in `data:` URLs; the page has no inline style or script. "Authorize" needs a connection
 * to auth_url.
 */
const policy = (authUrl: string): string =>
  `default-src 'self'; connect-src 'self' ${new URL(authUrl).origin}; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

const INDEX = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Parbook API</title>
<link rel="icon" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/initializer.js"></script>
</body>
</html>
`;

const initializer = (signsIn: boolean): string => `SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  displayRequestDuration: true,
  validatorUrl: null,${signsIn ? "\n  requestInterceptor: withDemoToken," : ""}
});
${signsIn ? SIGN_IN : ""}`;

/**
 * Requests without a token of the reader's own get one of the demo's client. It is asked for again before it expires, and
 * not again when it was denied.
 */
const SIGN_IN = `
let token;
let renewAt = 0;

async function withDemoToken(request) {
  if (request.loadSpec || request.headers.Authorization) return request;
  if (Date.now() >= renewAt) token = await demoToken();
  if (token) request.headers.Authorization = "Bearer " + token;
  return request;
}

async function demoToken() {
  renewAt = Date.now() + 50 * 60 * 1000;
  const client = await fetch("/docs/demo-client");
  if (!client.ok) return undefined;
  const body = new URLSearchParams({ grant_type: "client_credentials", ...(await client.json()) });
  const answer = await fetch("/oauth2/token", { method: "POST", body });
  return answer.ok ? (await answer.json()).access_token : undefined;
}
`;

const FROM_THE_PACKAGE = {
  "favicon-32x32.png": "image/png",
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
} as const;

/** Undefined while there is none. */
export type DemoClient = () => { readonly client_id: string; readonly client_secret: string } | undefined;

interface ReferenceOptions {
  readonly authUrl: () => string;
  readonly demoClient?: DemoClient | undefined;
}

export async function referencePage(api: Api, { authUrl, demoClient }: ReferenceOptions): Promise<void> {
  const folder = folderOfSwaggerUi();
  const serve = (path: string, type: string, content: string | Buffer, cacheControl: string): void => {
    api.get(path, { config: { scope: "public" }, schema: { hide: true } }, async (_request, reply) =>
      reply
        .headers({
          "content-security-policy": policy(authUrl()),
          "referrer-policy": "no-referrer",
          "content-type": type,
          "cache-control": cacheControl,
        })
        .send(content),
    );
  };
  for (const [name, type] of Object.entries(FROM_THE_PACKAGE)) {
    const file = await readFile(join(folder, name));
    serve(`/docs/${name}`, type, file, "public, max-age=3600");
  }
  serve("/docs", "text/html; charset=utf-8", INDEX, "no-cache");
  serve("/docs/initializer.js", "text/javascript; charset=utf-8", initializer(demoClient !== undefined), "no-cache");
  if (demoClient !== undefined) demoClientRoute(api, demoClient);
  frontPage(api);
}

const PUBLIC = { config: { scope: "public" as const }, schema: { hide: true } };

/**
 * Pages of other origins cannot read it: there are no CORS headers, JSON is no script, and a name that was made to lead
 * here (DNS rebinding) is rejected.
 */
function demoClientRoute(api: Api, demoClient: DemoClient): void {
  api.get("/docs/demo-client", PUBLIC, async (request, reply) => {
    const client = demoClient();
    if (client === undefined || !OWN_NAMES.has(request.hostname)) throw notFound("no demo");
    const { client_id, client_secret } = client;
    return reply.header("cross-origin-resource-policy", "same-origin").send({ client_id, client_secret });
  });
}

const OWN_NAMES: ReadonlySet<string> = new Set(["127.0.0.1", "localhost"]);

/** Browsers are sent to the reference, also by the address of a folder; programs are told where it is. */
function frontPage(api: Api): void {
  const addresses = { name: "Parbook", version: PROGRAM_VERSION, docs: "/docs", openapi: "/openapi.json" };
  api.get("/", PUBLIC, async ({ headers }, reply) =>
    headers.accept?.includes("text/html") ? reply.redirect("/docs") : reply.send(addresses),
  );
  api.get("/docs/", PUBLIC, async (_request, reply) => reply.redirect("/docs"));
}

/** The build copies its files beside the program (scripts/prepare.mjs). */
function folderOfSwaggerUi(): string {
  const copied = fileURLToPath(new URL("../../swagger-ui", import.meta.url));
  return existsSync(copied) ? copied : dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
}
