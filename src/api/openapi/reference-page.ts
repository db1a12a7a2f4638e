/**
 * The API reference at /docs: Swagger UI from our own files, so that it works without internet access. Its content
 * security policy forbids loading anything from elsewhere.
 */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Api } from "../api.ts";

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

const INITIALIZER = `SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  displayRequestDuration: true,
  validatorUrl: null,
});
`;

const FROM_THE_PACKAGE = {
  "favicon-32x32.png": "image/png",
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
} as const;

export async function referencePage(api: Api, authUrl: () => string): Promise<void> {
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
  serve("/docs/initializer.js", "text/javascript; charset=utf-8", INITIALIZER, "no-cache");
}

/** The build copies its files beside the program (scripts/prepare.mjs). */
function folderOfSwaggerUi(): string {
  const copied = fileURLToPath(new URL("../../swagger-ui", import.meta.url));
  return existsSync(copied) ? copied : dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
}
