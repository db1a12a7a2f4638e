import { expect, test } from "vitest";
import { accept, finding } from "../../service/doctor/finding.ts";
import type { Report } from "./examine-all.ts";
import { reportLines } from "./report-lines.ts";

const report = (findings: Report["findings"]): Report => ({
  mode: "production",
  postgres: "15.18",
  findings,
  sound: ["schema", "fsync"],
});
const shown = (...given: Parameters<typeof reportLines>) =>
  reportLines(...given).map((line) => (typeof line === "string" ? line : `${line.colour}|${line.text}`));

test("findings are shown with what is so, why it matters and what changes it; those of one name once", () => {
  const findings = [
    finding("role", "the service's role can change or remove rows of posting: it was granted update", "use another"),
    finding("role", "it has CREATEROLE", "use another"),
    finding("archive-off", "archive_mode is off", "archive the log (docs/backup.md)"),
    finding("secret-files", "a.json has mode 644", "chmod 600 a.json"),
    finding("secret-files", "key.pem has mode 640", "chmod 600 key.pem"),
    ...accept([finding("no-standby", "the database has no standby", "add two")], new Set(["no-standby"])),
  ];
  expect(shown(report(findings), { isComplete: false, columns: 60 })).toEqual([
    "red|fatal    role: the service's role can change or remove rows",
    "red|         of posting: it was granted update",
    "red|         it has CREATEROLE",
    "grey|         A bug or a stolen password could rewrite the",
    "grey|         ledger.",
    "         -> use another",
    "",
    "yellow|warning  archive-off: archive_mode is off",
    "grey|         A restore ends at the last backup.",
    "         -> archive the log (docs/backup.md)",
    "",
    "yellow|warning  secret-files: a.json has mode 644",
    "yellow|         key.pem has mode 640",
    "grey|         Other users of the machine can read or replace",
    "grey|         them.",
    "         -> chmod 600 a.json",
    "         -> chmod 600 key.pem",
    "",
    "cyan|accepted no-standby: the database has no standby",
    "grey|         What was answered is lost with the database's",
    "grey|         machine.",
    "",
    "red|Not fit for production, with 2 fatal, 3 warnings, 1 note; 2 checks found nothing (--all).",
  ]);
});

test("without findings there is one line, and on request all that is in order", () => {
  expect(shown(report([]), { isComplete: false, columns: undefined })).toEqual([
    "green|Fit for production; 2 checks found nothing (--all).",
  ]);
  expect(shown(report([]), { isComplete: true, columns: undefined })).toEqual([
    "green|ok       the schema is this program's",
    "green|ok       fsync is on",
    "",
    "green|Fit for production; 2 checks found nothing.",
  ]);
});
