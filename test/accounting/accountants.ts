/** Three programs that keep books, none of which knows us: what each makes of a file of ours. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Format } from "../../src/accounting/export.ts";
import { amountOf, formatAmount } from "../../src/money/amount.ts";
import { missingProgram, runs } from "../support/required.ts";

export interface Accountant {
  readonly format: Format;
  /** Why it cannot be asked here, in words. */
  readonly missing: string | undefined;
  /** What it has to say against the file; nothing when everything fits. */
  object(file: string): Promise<string>;
  /** What it has added up, by "account commodity"; zeros are left out. */
  balances(file: string): Promise<ReadonlyMap<string, string>>;
}

/** Debian's own, which sees Debian's packages whatever else is called python3. */
const PYTHON = "/usr/bin/python3";
const BEANCOUNT = fileURLToPath(new URL("programs/beancount_balances.py", import.meta.url));

export const HLEDGER_MISSING = missingProgram("hledger");

export const ACCOUNTANTS: readonly Accountant[] = [
  {
    format: "hledger",
    missing: HLEDGER_MISSING,
    object: async (file) => (await run("hledger", "-f", file, "check", "commodities")).said,
    balances: async (file) => {
      const options = ["--flat", "--no-total", "--layout", "bare", "-O", "csv"];
      const { output } = await run("hledger", "-f", file, "balance", ...options);
      const rows = output
        .trim()
        .split("\n")
        .slice(1)
        .map((line) => line.slice(1, -1).split('","') as [string, string, string]);
      return nonZero(rows.map(([account, commodity, amount]) => [`${account} ${commodity}`, amount]));
    },
  },
  {
    format: "ledger",
    missing: missingProgram("ledger"),
    object: async (file) => (await run("ledger", "-f", file, "balance")).said,
    balances: async (file) => {
      const format = "%(account)\\t%(scrub(display_total))\\n";
      const { output } = await run("ledger", "-f", file, "balance", "--flat", "--no-total", "--format", format);
      const rows: [string, string][] = [];
      let account = "";
      // An account with several commodities has a line for each, of which the first one names it.
      for (const line of output.trimEnd().split("\n")) {
        const [amount = "", name = account] = line.split("\t").reverse();
        account = name;
        const [quantity = "", commodity = ""] = amount.trim().split(" ");
        rows.push([`${account} ${commodity.replaceAll('"', "")}`, quantity]);
      }
      return nonZero(rows);
    },
  },
  {
    format: "beancount",
    missing: runs(PYTHON, "-c", "import beancount") ? undefined : `${PYTHON} has no beancount`,
    object: async (file) => {
      const { output, said } = await run(PYTHON, BEANCOUNT, file);
      return output === "" ? said : (JSON.parse(output) as { errors: string[] }).errors.join("\n");
    },
    balances: async (file) => {
      const { output } = await run(PYTHON, BEANCOUNT, file);
      const { balances } = JSON.parse(output) as { balances: Record<string, string> };
      // What stands before a code that would be no currency.
      return nonZero(Object.entries(balances).map(([name, amount]) => [name.replace(" A-", " "), amount]));
    },
  },
];

function nonZero(rows: readonly (readonly [string, string])[]): Map<string, string> {
  const canonical = rows.map(([name, amount]): [string, string] => [name, formatAmount(amountOf(amount))]);
  return new Map(canonical.filter(([, amount]) => amount !== "0").sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function run(program: string, ...args: string[]): Promise<{ output: string; said: string }> {
  // Both Haskell and Python take the encoding of what they read from the locale.
  const options = { env: { ...process.env, LC_ALL: "C.UTF-8" }, timeout: 60_000, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve) => {
    execFile(program, args, options, (error, output, said) =>
      resolve({ output, said: said === "" && error !== null ? error.message : said }),
    );
  });
}
