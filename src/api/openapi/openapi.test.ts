import { runInNewContext } from "node:vm";
import { Type } from "typebox";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { ask, startToyApi, type ToyApi } from "../../../test/support/http/toy-api.ts";
import { must } from "../../std/assert.ts";
import { PROGRAM_VERSION } from "../../std/program-version.ts";
import { createDialect, OWN_WORDS } from "../../web/dialect/dialect.ts";
import { errors } from "../problems/problem-responses.ts";
import { PROBLEM_PAGES } from "../problems/problem-texts.ts";
import { PROBLEM_KINDS, type ProblemSlug } from "../problems/problems.ts";
import { Amount, Body, ListOf, ListQuery, Metadata, RefId, Timestamp, UuidText } from "../requests/schemas.ts";
import type { Api } from "../server.ts";

const Toy = Type.Object(
  { id: UuidText, amount: Amount, created_at: Timestamp },
  {
    title: "Toy",
    description: "A toy.",
    examples: [{ id: "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00", amount: "1", created_at: "2026-11-21T09:30:00.000Z" }],
  },
);

function documentedRoutes(api: Api): void {
  api.post(
    "/v2/documented",
    {
      config: { scope: "transfer:write_internal_transfer" },
      schema: {
        operationId: "makeToy",
        tags: ["Transfers"],
        summary: "Make a toy",
        body: Body(
          { amount: Amount, ref_id: Type.Optional(RefId), metadata: Type.Optional(Metadata) },
          { title: "NewToy", examples: [{ amount: "1" }] },
        ),
        response: {
          200: Toy,
          ...errors(400, "exceed_precision", 401, 403, "insufficient_funds", "already_exists", 503),
        },
      },
    },
    async () => ({ id: "a", amount: "1", created_at: "b", secret: "never in the schema" }),
  );
  api.get(
    "/v2/documented",
    {
      config: { scope: ["transfer:read_transfer", "funding:read_profile"] },
      schema: {
        operationId: "listToys",
        tags: ["Transfers"],
        summary: "List toys",
        querystring: ListQuery({}, { standard: 100, maximum: 1000 }),
        response: { 200: ListOf(Toy), ...errors(400, 401, 403, 503) },
      },
    },
    async () => ({ items: [], next_page_cursor: "" }),
  );
  api.get(
    "/v2/documented/:id",
    {
      config: { scope: "public" },
      schema: {
        operationId: "getToy",
        tags: ["Markets"],
        summary: "Read a toy",
        params: Type.Object({ id: UuidText }),
        response: { 200: Toy, ...errors(400, 404) },
      },
    },
    async () => ({ id: "a", amount: "1", created_at: "b" }),
  );
}

// biome-ignore lint/suspicious/noExplicitAny: the document is read by its paths, which is what is tested
let document: any;
let toy: ToyApi;
beforeAll(async () => {
  toy = await startToyApi(documentedRoutes);
  document = (await ask(toy, "/openapi.json", { token: null })).body;
});
afterAll(() => toy.close());

test("an operation says which scopes it takes, a public one none", () => {
  expect(document.paths["/v2/documented"].get.security).toEqual([
    { oauth2: ["transfer:read_transfer"] },
    { oauth2: ["funding:read_profile"] },
  ]);
  expect(document.paths["/v2/documented/{id}"].get.security).toEqual([]);
  const flow = document.components.securitySchemes.oauth2.flows.clientCredentials;
  expect(flow.tokenUrl).toBe("http://auth.toy.test/oauth2/token");
  expect(flow.scopes["transfer:read_transfer"]).toBe("Read transfers.");
  expect(document.servers).toEqual([{ url: "http://toy.test", description: "This service." }]);
});

test("a schema with a title is said once", () => {
  expect(Object.keys(document.components.schemas)).toEqual([
    "FailingField",
    "GrantType",
    "NewToy",
    "Problem",
    "ProblemMeta",
    "Token",
    "TokenError",
    "TokenErrorCode",
    "TokenRequest",
    "TokenType",
    "Toy",
    "ToyList",
  ]);
  const { get, post } = document.paths["/v2/documented"];
  expect(post.responses[200].content["application/json"].schema).toEqual({ $ref: "#/components/schemas/Toy" });
  expect(get.responses[200].content["application/json"].schema).toEqual({ $ref: "#/components/schemas/ToyList" });
  expect(document.components.schemas.ToyList.properties.items).toEqual({
    type: "array",
    items: { $ref: "#/components/schemas/Toy" },
  });
  expect(post.requestBody.content["application/json"]).toEqual({ schema: { $ref: "#/components/schemas/NewToy" } });
});

test("the token endpoint is there under its own address, open to all, with a form of two encodings", () => {
  const { servers, security, operationId, tags, requestBody, responses } = document.paths["/oauth2/token"].post;
  expect({ servers, security, operationId, tags }).toEqual({
    servers: [{ url: "http://auth.toy.test", description: "The authorization server." }],
    security: [],
    operationId: "issueToken",
    tags: ["Tokens"],
  });
  const { content, required } = requestBody;
  expect(required).toBe(true);
  expect(Object.keys(content)).toEqual(["multipart/form-data", "application/x-www-form-urlencoded"]);
  const [multipart, urlencoded] = Object.values(content);
  expect(multipart).toEqual({
    schema: { $ref: "#/components/schemas/TokenRequest" },
    example: {
      grant_type: "client_credentials",
      client_id: "acme",
      client_secret: "correct horse battery staple",
    },
  });
  expect(urlencoded).toEqual(multipart);
  const form = document.components.schemas.TokenRequest;
  expect(Object.keys(form.properties)).toEqual(["grant_type", "client_id", "client_secret", "scope"]);
  expect(form.properties.client_secret).toMatchObject({ type: "string", format: "password", writeOnly: true });
  const schemas = Object.entries<{ content: object }>(responses).map(([status, { content }]) => [status, content]);
  const error = { schema: { $ref: "#/components/schemas/TokenError" }, examples: expect.any(Object) };
  expect(Object.fromEntries(schemas)).toEqual({
    200: { "application/json": { schema: { $ref: "#/components/schemas/Token" }, example: expect.any(Object) } },
    400: { "application/json": error },
    401: { "application/json": error },
    429: { "application/json": error },
    500: { "application/json": error },
    503: { "application/json": error },
  });
  expect(Object.keys(responses[401].headers)).toEqual(["X-Request-Id", "WWW-Authenticate"]);
  expect(Object.keys(responses[503].headers)).toEqual(["X-Request-Id", "Retry-After"]);
});

test("problems of one status stand together", () => {
  const { responses } = document.paths["/v2/documented"].post;
  expect(Object.keys(responses)).toEqual(["200", "400", "401", "403", "409", "503"]);
  expect(responses[403].description).toBe("Forbidden or Insufficient Funds.");
  const { schema } = responses[403].content["application/problem+json"];
  expect(schema).toEqual({ $ref: "#/components/schemas/Problem" });
  expect(Object.keys(responses[503].headers)).toEqual(["X-Request-Id", "Retry-After"]);
});

test("a parameter with a default need not be sent", () => {
  const [limit] = document.paths["/v2/documented"].get.parameters;
  expect(limit).toMatchObject({ name: "limit", in: "query", required: false, schema: { default: 100, maximum: 1000 } });
});

test("an answer holds what its schema says and nothing else", async () => {
  const { body } = await ask(toy, "/v2/documented", { method: "POST", json: { amount: "1" } });
  expect(body).toEqual({ id: "a", amount: "1", created_at: "b" });
});

test("the routes that run the service are not in the document", () => {
  expect(Object.keys(document.paths)).toEqual(["/oauth2/token", "/v2/documented", "/v2/documented/{id}"]);
});

test("the reference page and all that it loads come from here, and it may load nothing else", async () => {
  const page = await ask(toy, "/docs", { token: null });
  expect(page.status).toBe(200);
  expect(page.headers).toEqual({
    "cache-control": "no-cache",
    "content-security-policy":
      "default-src 'self'; connect-src 'self' http://auth.toy.test; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "content-type": "text/html; charset=utf-8",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-request-id": "r-1",
  });
  const loaded = [...String(page.body).matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path]) => String(path));
  expect(loaded).toEqual([
    "/docs/favicon-32x32.png",
    "/docs/swagger-ui.css",
    "/docs/swagger-ui-bundle.js",
    "/docs/initializer.js",
  ]);
  for (const path of loaded) expect((await ask(toy, path, { token: null })).status).toBe(200);
  expect(String(page.body)).not.toMatch(/<script>|<style|style=/);
});

test("/ sends browsers to the reference page, and tells programs where it is", async () => {
  const browser = await fetch(toy.url, { headers: { accept: "text/html,*/*" }, redirect: "manual" });
  expect([browser.status, browser.headers.get("location")]).toEqual([302, "/docs"]);
  const folder = await fetch(`${toy.url}/docs/`, { redirect: "manual" });
  expect([folder.status, folder.headers.get("location")]).toEqual([302, "/docs"]);
  const program = await ask(toy, "/", { token: null });
  expect(program.body).toEqual({ name: "Parbook", version: PROGRAM_VERSION, docs: "/docs", openapi: "/openapi.json" });
});

test("in a sandbox the reference page signs in by itself, with a client that only its own address is told", async () => {
  expect((await ask(toy, "/docs/demo-client", { token: null })).status).toBe(404);
  expect((await ask(toy, "/docs/initializer.js", { token: null })).body).not.toContain("demo");
  const client = { client_id: "acme-1a2b3c", client_secret: "of the demo" };
  const sandbox = await startToyApi(undefined, { demoClient: () => ({ ...client, scopes: ["*"] }) });
  onTestFinished(() => sandbox.close());
  const told = await ask(sandbox, "/docs/demo-client", { token: null });
  expect(told.body).toEqual(client);
  expect(told.headers).toMatchObject({ "cross-origin-resource-policy": "same-origin", "cache-control": "no-store" });
  const script = String((await ask(sandbox, "/docs/initializer.js", { token: null })).body);
  const page = await runInitializer(script, client);
  const sent = async (request: object) => (await page.requestInterceptor({ headers: {}, ...request })).headers;
  expect(await sent({ url: "/v2/profiles" })).toEqual({ Authorization: "Bearer t-1" });
  expect(await sent({ url: "/v2/transfers" })).toEqual({ Authorization: "Bearer t-1" });
  expect(await sent({ headers: { Authorization: "Bearer mine" } })).toEqual({ Authorization: "Bearer mine" });
  expect(await sent({ loadSpec: true })).toEqual({});
});

test("the reference page gets another token before one ends, and none once it was denied one", async () => {
  const sandbox = await startToyApi(undefined, { demoClient: () => ({ client_id: "acme", client_secret: "hush" }) });
  onTestFinished(() => sandbox.close());
  const script = String((await ask(sandbox, "/docs/initializer.js", { token: null })).body);
  let minutes = 0;
  const now = () => minutes * 60_000;
  const page = await runInitializer(script, { client_id: "acme" }, now);
  const sent = async (on = page) => (await on.requestInterceptor({ headers: {} })).headers;
  const tokens: object[] = [];
  for (minutes of [0, 45, 59, 104, 118]) tokens.push(await sent());
  const [first, second, third] = ["t-1", "t-2", "t-3"].map((token) => ({ Authorization: `Bearer ${token}` }));
  expect(tokens).toEqual([first, first, second, second, third]);
  const denied = await runInitializer(script, undefined, now);
  expect([await sent(denied), await sent(denied), denied.asked]).toEqual([{}, {}, 1]);
});

test("the demo's client is not told to a page whose name was made to lead to this machine", async () => {
  const client = { client_id: "acme-1a2b3c", client_secret: "of the demo" };
  const sandbox = await startToyApi(undefined, { demoClient: () => client });
  onTestFinished(() => sandbox.close());
  for (const host of ["attacker.example:8080", "localhost.attacker.example", "127.0.0.1.attacker.example:80"]) {
    const answer = await sandbox.api.inject({ url: "/docs/demo-client", headers: { host } });
    expect([host, answer.statusCode]).toEqual([host, 404]);
  }
});

interface Page {
  readonly requestInterceptor: (request: object) => Promise<{ readonly headers: object }>;
  /** How often it has asked for the client. */
  asked: number;
}

/** As a browser does, which gets tokens for the client; without one it is denied it. */
async function runInitializer(script: string, client: object | undefined, now = Date.now): Promise<Page> {
  let tokens = 0;
  let page: Page | undefined;
  const answer = (body: object) => ({ ok: true, json: async () => body });
  const fetch = async (path: string) => {
    if (path === "/docs/demo-client") {
      must(page, "it has started").asked += 1;
      return client === undefined ? { ok: false } : answer(client);
    }
    tokens += 1;
    return answer({ access_token: `t-${tokens}` });
  };
  const SwaggerUIBundle = (given: Page): void => {
    page = { ...given, asked: 0 };
  };
  runInNewContext(script, { SwaggerUIBundle, fetch, URLSearchParams, Date: { now } });
  return must(page, "the script starts Swagger UI");
}

test("every problem with an address has a page there", async () => {
  for (const [slug, { meaning, advice, meta }] of Object.entries(PROBLEM_PAGES)) {
    const page = await ask(toy, `/problems/${slug}`, { token: null });
    expect(page.status).toBe(200);
    expect(page.headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(page.body).toContain(`http://toy.test/problems/${slug}`);
    const { status, title } = PROBLEM_KINDS[slug as ProblemSlug];
    expect(page.body).toContain(`<h1>${title}</h1>\n<p>Status ${status}, <code>${slug}</code></p>`);
    expect(page.body).toContain(`<h2>What happened</h2>\n<p>${meaning}</p>`);
    expect(page.body).toContain(`<h2>What to do</h2>\n<p>${advice}</p>`);
    const members = Object.entries(meta).map(([name, says]) => `<dt><code>${name}</code></dt><dd>${says}</dd>`);
    expect(page.body).toContain(`<dl>\n${members.join("\n")}\n</dl>`);
  }
  expect((await ask(toy, "/problems/toString", { token: null })).status).toBe(404);
});

test("the page of a problem has the title and the type that it has in a dialect", async () => {
  const problemTitles = new Map([["Insufficient Funds", "Not Enough Money"]]);
  const dialect = createDialect({ ...OWN_WORDS, problemTitles, problemTypes: "https://problems.example/" });
  const renamed = await startToyApi(undefined, { dialect });
  onTestFinished(() => renamed.close());
  const { body } = await ask(renamed, "/problems/insufficient-funds", { token: null });
  expect(body).toContain("<h1>Not Enough Money</h1>");
  expect(body).toContain("&quot;type&quot;: &quot;https://problems.example/insufficient-funds&quot;");
  expect(body).toContain("&quot;title&quot;: &quot;Not Enough Money&quot;");
});
