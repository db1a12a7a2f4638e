/** Alerts, dashboard and runbook, held against what the service really serves. */
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectBooksBalance } from "../support/books.ts";
import { type Scrape, scrape } from "../support/http/metrics.ts";
import { startTestService, type TestService } from "../support/service.ts";

interface Alert {
  readonly name: string;
  readonly expr: string;
  /** As the runbook has it: a page is urgent at night. */
  readonly severity: string;
  readonly runbook: string;
}

const file = (path: string): Promise<string> => readFile(new URL(`../../${path}`, import.meta.url), "utf8");

/** Of the names in an expression those of metrics: ours, and those that come with Node's client of Prometheus. */
const metricsIn = (expr: string): string[] => expr.match(/\b(?:parbook|nodejs|process)_\w+/g) ?? [];

function alertsIn(yaml: string): Alert[] {
  return yaml
    .split("- alert: ")
    .slice(1)
    .map((rule) => ({
      name: /^\w+/.exec(rule)?.[0] ?? "",
      expr: /^ +expr: (['"])(.+)\1$/m.exec(rule)?.[2] ?? "",
      severity: /^ +severity: (\w+)$/m.exec(rule)?.[1]?.replace(/^[a-z]/, (letter) => letter.toUpperCase()) ?? "",
      runbook: /^ +runbook_url: (\S+)$/m.exec(rule)?.[1] ?? "",
    }));
}

let service: TestService;
let seen: Scrape;
let served: ReadonlySet<string>;
let alerts: readonly Alert[];
let runbook: string;
beforeAll(async () => {
  service = await startTestService({ metricsPort: 0, settlementDelayMs: 3_600_000 });
  const acme = await service.customer();
  const profile = await service.profile(acme, { USD: "10" });
  const mint = { profile_id: profile, amount: "3", source_asset: "USD", target_asset: "PYUSD" };
  await service.call("POST", "/v2/conversion/stablecoins", { as: acme.token, body: mint });
  seen = await scrape(service.service.metricsUrl);
  served = seen.names;
  alerts = alertsIn(await file("ops/alerts.yml"));
  runbook = await file("docs/runbook.md");
});
afterAll(() => service.close());

test("a conversion whose delay is not over is not reported as late", async () => {
  expect((await service.db.owner.rows("select status from conversion"))[0]).toEqual({ status: "CREATED" });
  const late = ["due_conversions", "lag_seconds"].map((name) => seen.value(`parbook_settlement_${name}`));
  expect(late).toEqual([0, 0]);
  await expectBooksBalance(service.db.owner);
});

test("every alert rests on metrics that are served", () => {
  expect(alerts.length).toBeGreaterThan(15);
  for (const { name, expr } of alerts) {
    const metrics = name === "ParbookDown" ? [] : metricsIn(expr);
    expect(metrics.filter((metric) => !served.has(metric))).toEqual([]);
    expect([name, name === "ParbookDown" || metrics.length > 0]).toEqual([name, true]);
  }
});

test("every alert has its section in the runbook, at which it points, with its severity and expression, and every section its alert", () => {
  const sections = runbook.split(/^## /m).slice(1);
  expect(sections.map((section) => /^\w+/.exec(section)?.[0])).toEqual(alerts.map(({ name }) => name));
  for (const [i, { name, expr, severity, runbook: url }] of alerts.entries()) {
    expect(url.endsWith(`/docs/runbook.md#${name.toLowerCase()}`)).toBe(true);
    const [head] = (sections[i] ?? "").replace(":\n", ": ").split("\n\n");
    expect(head).toBe(`${name}\n${severity}: \`${expr}\``);
    for (const part of ["Means", "Customers", "Look", "Do", "Over"]) expect(sections[i]).toContain(`**${part}`);
    expect(metricsIn(sections[i] ?? "").filter((metric) => !served.has(metric))).toEqual([]);
  }
});

test("every panel of the dashboard shows metrics that are served, and every metric of ours that moves is on it or in an alert", async () => {
  const { panels, schemaVersion } = JSON.parse(await file("ops/grafana-dashboard.json"));
  const shown = panels.flatMap(({ targets }: { targets: { expr: string }[] }) =>
    targets.flatMap(({ expr }) => metricsIn(expr)),
  );
  expect(schemaVersion).toBeGreaterThan(30);
  expect(shown.filter((metric: string) => !served.has(metric))).toEqual([]);
  const used = new Set([...shown, ...alerts.flatMap(({ expr }) => metricsIn(expr))]);
  const family = (name: string): string => name.replace(/_(?:bucket|sum|count)$/, "");
  const families = new Set([...used].map(family));
  const unused = [...served].filter((name) => name.startsWith("parbook_") && !families.has(family(name)));
  expect(unused).toEqual(["parbook_maker_failures_total", "parbook_engine_serving", "parbook_info"]);
});

test("every statement of the runbook runs as the service's role", async () => {
  const statements = [...runbook.matchAll(/^```sql\n([\s\S]+?)\n```$/gm)].map(([, sql]) => sql ?? "");
  expect(statements.length).toBe(13);
  for (const sql of statements) expect(await service.service.core.database.rows(sql)).toBeInstanceOf(Array);
});
