/** A page for each problem type, at the URL that is its `type` (RFC 9457, section 3.1.1). */
import { Type } from "typebox";
import { type Dialect, OWN_DIALECT } from "../../web/dialect/dialect.ts";
import type { Api } from "../api.ts";
import { recordedExamples } from "../openapi/recorded-examples.ts";
import { PROBLEM_PAGES } from "./problem-texts.ts";
import { notFound, PROBLEM_KINDS, type ProblemSlug } from "./problems.ts";

export function problemPages(api: Api, baseUrl: () => string, dialect: Dialect = OWN_DIALECT): void {
  const pages = new Map<ProblemSlug, string>();
  api.get(
    "/problems/:slug",
    { config: { scope: "public" }, schema: { hide: true, params: Type.Object({ slug: Type.String() }) } },
    async (request, reply) => {
      const { slug } = request.params;
      if (!isSlug(slug)) throw notFound("no such path");
      reply.headers(PAGE_HEADERS).type("text/html; charset=utf-8");
      const page = pages.get(slug) ?? pageOf(slug, baseUrl(), dialect);
      pages.set(slug, page);
      return page;
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
  const example = exampleOf(slug, baseUrl, dialect);
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
${example === undefined ? "" : `<h2>Example</h2>\n<pre>${escaped(JSON.stringify(example, null, 2))}</pre>`}
</body>
</html>
`;
}

/** The first one that was recorded of this type. */
function exampleOf(slug: ProblemSlug, baseUrl: string, { problemTitles, problemTypes }: Dialect): object | undefined {
  const type = `${baseUrl}/problems/${slug}`;
  const recorded = Object.values(recordedExamples(baseUrl)).flatMap(({ problems = {} }) => Object.values(problems));
  const found = (recorded as Recorded[]).find((problem) => problem.type === type);
  return (
    found && {
      ...found,
      type: problemTypes === undefined ? type : `${problemTypes}${slug}`,
      title: problemTitles.given(found.title),
    }
  );
}

interface Recorded {
  readonly type: string;
  readonly title: string;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
