/** A page for each problem type, at the URL that is its `type` (RFC 9457, section 3.1.1). */
import { Type } from "typebox";
import { type Dialect, OWN_DIALECT } from "../../web/dialect/dialect.ts";
import type { Api } from "../api.ts";
import { PROBLEM_EXAMPLES, PROBLEM_PAGES } from "./problem-texts.ts";
import { notFound, PROBLEM_KINDS, Problem, type ProblemSlug, problemBody } from "./problems.ts";

export function problemPages(api: Api, baseUrl: () => string, dialect: Dialect = OWN_DIALECT): void {
  api.get(
    "/problems/:slug",
    { config: { scope: "public" }, schema: { hide: true, params: Type.Object({ slug: Type.String() }) } },
    async (request, reply) => {
      const { slug } = request.params;
      if (!isSlug(slug)) throw notFound("no such path");
      reply.headers(PAGE_HEADERS).type("text/html; charset=utf-8");
      return pageOf(slug, baseUrl(), dialect);
    },
  );
}

const PAGE_HEADERS = {
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  "referrer-policy": "no-referrer",
  "cache-control": "public, max-age=3600",
};

function isSlug(text: string): text is ProblemSlug {
  return Object.hasOwn(PROBLEM_PAGES, text);
}

function pageOf(slug: ProblemSlug, baseUrl: string, dialect: Dialect): string {
  const { status } = PROBLEM_KINDS[slug];
  const title = dialect.problemTitles.given(PROBLEM_KINDS[slug].title);
  const { meaning, advice, meta } = PROBLEM_PAGES[slug];
  const { detail, meta: exampleMeta } = PROBLEM_EXAMPLES[slug];
  const example = problemBody(new Problem(slug, detail, { meta: exampleMeta }), {
    baseUrl,
    requestId: "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f01",
    dialect,
  });
  const members = Object.entries(meta).map(
    ([name, text]) => `<dt><code>${escaped(name)}</code></dt><dd>${escaped(text)}</dd>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 42rem; margin: 3rem auto; padding: 0 1rem; color-scheme: light dark }
pre { overflow-x: auto; padding: 1rem; border: 1px solid #8886; border-radius: 4px }
dt { margin-top: .5rem }
</style>
</head>
<body>
<h1>${escaped(title)}</h1>
<p>Status ${status}, <code>${escaped(slug)}</code></p>
<h2>What happened</h2>
<p>${escaped(meaning)}</p>
<h2>What to do</h2>
<p>${escaped(advice)}</p>
<h2>What <code>meta</code> says</h2>
<dl>
${members.join("\n")}
</dl>
<h2>Example</h2>
<pre>${escaped(JSON.stringify(example, null, 2))}</pre>
</body>
</html>
`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
