/** Every command that writes takes --as and is in the audit trail. A command that is new is put into one of the lists. */
import type { Command } from "commander";
import { expect, test } from "vitest";
import { buildProgram } from "../../src/cli/parbook.ts";

const leaves = (command: Command, path: readonly string[] = []): (readonly [path: string, command: Command])[] =>
  command.commands.length === 0
    ? [[path.join(" "), command]]
    : command.commands.flatMap((each) => leaves(each, [...path, each.name()]));

const hasAs = (command: Command): boolean => command.options.some(({ long }) => long === "--as");

/** They change nothing that the audit trail is about, or work on files, or are clients of the API. */
const WITHOUT_AS = [
  ...["audit denials", "audit writes", "backup", "carry-over", "checkpoint", "client list", "customer list", "demo"],
  ...[
    "doctor",
    "events rebuild",
    "export",
    "fee list",
    "hold list",
    "key list",
    "market list",
    "migrate",
    "payout run",
  ],
  ...[
    "profile list",
    "restore",
    "schema",
    "start",
    "transfer list",
    "verify",
    "webhook attempts",
    "webhook list",
    "webhook show",
  ],
];

test("every command that writes takes the name of the person with --as", () => {
  const without = leaves(buildProgram()).flatMap(([path, command]) => (hasAs(command) ? [] : [path]));
  expect(without.sort()).toEqual(WITHOUT_AS);
});
