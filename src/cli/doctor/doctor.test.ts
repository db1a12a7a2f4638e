import { beforeEach, expect, test, vi } from "vitest";
import { run } from "../../../test/cli/in-process.ts";
import { accept, type Finding, finding } from "../../service/doctor/finding.ts";
import type { Report } from "./examine-all.ts";

const examined = vi.hoisted(() => ({ findings: [] as readonly Finding[] }));
vi.mock("./examine-all.ts", () => ({
  examineAll: async (): Promise<Report> => ({
    mode: "production",
    postgres: "15.18",
    findings: examined.findings,
    sound: ["schema"],
  }),
}));
beforeEach(() => {
  examined.findings = [];
});

const FATAL = finding("fsync", "the database runs with fsync=off", "set it");
const WARNING = finding("archive-off", "archive_mode is off", "archive the log");
const ACCEPTED = accept([FATAL, WARNING], new Set(["fsync", "archive-off"]));

test.each([
  ["nothing was found", 0, []],
  ["what was found is accepted", 0, ACCEPTED],
  ["there is a warning", 1, [...ACCEPTED, WARNING]],
  ["something is fatal", 2, [FATAL, WARNING]],
])("if %s, the exit code is %d", async (_name, exitCode, findings) => {
  examined.findings = findings;
  const { stdout, ...ended } = await run(["doctor", "--json"]);
  expect(ended).toEqual({ exitCode, stderr: "" });
  expect(JSON.parse(stdout)).toEqual({
    mode: "production",
    postgres: "15.18",
    node: process.versions.node,
    findings,
    sound: ["schema"],
  });
});
