/**
 * `parbook carry-over`: writes the customers, profiles and balances of a database of 0.1 as a bootstrap file. Reads one
 * snapshot and changes nothing. Rejects while a process of 0.1 runs or money is held.
 */
import type { Command } from "commander";
import { composedName, MAX_NAME } from "../../customers/customer-name.ts";
import { amountOf, formatAmount, plus, ZERO } from "../../money/amount.ts";
import { Database, type Queryable } from "../../postgres/database.ts";
import { isDatabaseOf01 } from "../../postgres/migrations.ts";
import type { BootstrapFile } from "../../service/bootstrap/bootstrap-file.ts";
import { createLogger } from "../../service/logger.ts";
import { provideDatabase } from "../../service/provide-database.ts";
import { writeAtomically } from "../../std/write-atomically.ts";
import { addCommand, CommandRejected, type CommandResult, commandConfig, setAction } from "../command.ts";
import { fileExists } from "../file-exists.ts";
import {
  countUnfinished,
  type LeftBehind,
  type OldProfile,
  readLeftBehind,
  readProfiles,
  type Unfinished,
} from "./store.ts";

export function addCarryOver(program: Command): void {
  const carryOver = addCommand(program, "carry-over <file>", {
    summary:
      "write customers and balances of the former Parbook 0.1 (first migration: 0001-core.sql) as a bootstrap file (docs/upgrade.md)",
    examples: ["carry-over /etc/parbook/customers.json"],
  });
  setAction(carryOver, writeBalances);
}

async function writeBalances(file: string): Promise<CommandResult> {
  if (await fileExists(file)) throw new CommandRejected(`${file} is there already: name another file`);
  const config = commandConfig();
  const log = createLogger(config, 2);
  const provided = await provideDatabase(config, "command", (line) => log.info(line));
  try {
    const database = new Database({ connection: provided.service, maxConnections: 1, onIdleError: () => undefined });
    try {
      const { bootstrap, renamed, left } = await database.transaction(readSnapshot, "any time");
      await writeAtomically(file, `${JSON.stringify(bootstrap, undefined, 2)}\n`, 0o600);
      // Proves that the service can read it.
      // Not imported above: other commands would wait for the schema validator.
      const { readBootstrapFile } = await import("../../service/bootstrap/bootstrap-file.ts");
      await readBootstrapFile(file);
      return resultOf(file, bootstrap, renamed, left);
    } finally {
      await database.close();
    }
  } finally {
    await provided.close();
  }
}

interface Snapshot {
  readonly bootstrap: BootstrapFile;
  /** The new names of customers whose names others have too. */
  readonly renamed: readonly string[];
  readonly left: LeftBehind;
}

async function readSnapshot(database: Queryable): Promise<Snapshot> {
  await database.rows("set transaction isolation level repeatable read read only");
  if (!(await isDatabaseOf01(database))) throw new CommandRejected("this is not a database of Parbook 0.1");
  const reasons = reasonsAgainst(await countUnfinished(database));
  if (reasons.length > 0) throw new CommandRejected(`nothing was written: ${reasons.join("; ")}`);
  const customers = customersOf(await readProfiles(database));
  const renamed = renameDoubled(customers);
  return { bootstrap: { customers }, renamed, left: await readLeftBehind(database) };
}

function reasonsAgainst({ running, orders, conversions, unsound }: Unfinished): string[] {
  const reasons: string[] = [];
  if (running > 0)
    reasons.push("a process of 0.1 is running (one that was killed counts for 15 seconds): stop every one");
  if (orders > 0) reasons.push(`open orders hold money (${orders}): cancel them with 0.1`);
  if (conversions > 0)
    reasons.push(`unsettled conversions hold money (${conversions}): let 0.1 settle them, or cancel them`);
  if (unsound > 0) reasons.push(`accounts differ from their postings (${unsound}): run "parbook verify" of 0.1`);
  return reasons;
}

type CustomerEntry = BootstrapFile["customers"][number];
type ProfileEntry = NonNullable<CustomerEntry["profiles"]>[number];

interface CarriedOver {
  readonly id: string;
  name: string;
  readonly profiles: ProfileEntry[];
}

function customersOf(rows: readonly OldProfile[]): CarriedOver[] {
  const customers = new Map<string, CarriedOver>();
  for (const row of rows) {
    const customer = customers.get(row.customer_id) ?? {
      id: row.customer_id,
      name: composedName(row.name),
      profiles: [],
    };
    customers.set(row.customer_id, customer);
    const profile = profileEntry(row);
    if (profile !== undefined) customer.profiles.push(profile);
  }
  return [...customers.values()];
}

/** In 0.1 customers could have the same name. All but the first get their ids behind it. */
function renameDoubled(customers: readonly CarriedOver[]): string[] {
  const taken = new Set<string>();
  return customers.flatMap((customer) => {
    const { name } = customer;
    const isDoubled = taken.has(name);
    taken.add(name);
    if (!isDoubled) return [];
    const suffix = ` (${customer.id})`;
    // By code points: half a character would be no text. Nor has a name two blanks beside each other.
    customer.name =
      [...name]
        .slice(0, MAX_NAME - suffix.length)
        .join("")
        .trimEnd() + suffix;
    return [customer.name];
  });
}

/** Inactive profiles are empty, and every customer of a bootstrap file gets a new DEFAULT profile of this name. */
function profileEntry({ id, kind, status, nickname, balances }: OldProfile): ProfileEntry | undefined {
  if (id === null || (status === "INACTIVE" && balances === null)) return undefined;
  const held = balances === null ? {} : { balances };
  if (kind === "NORMAL") return { id, nickname, ...held };
  return balances === null ? undefined : { nickname: "default", ...held };
}

function resultOf(
  file: string,
  { customers }: BootstrapFile,
  renamed: readonly string[],
  left: LeftBehind,
): CommandResult {
  const profiles = customers.flatMap((customer) => customer.profiles ?? []);
  const totals = totalsOf(profiles);
  return {
    json: {
      ...{ file, customers: customers.length, profiles: profiles.length },
      ...{ balances: totals, renamed, not_carried_over: left },
    },
    prose: [
      `wrote ${file}: customers ${customers.length}, profiles ${profiles.length}; ${amountsText(totals)}`,
      ...(renamed.length === 0
        ? []
        : [
            `Renamed, because names of customers are unique now: ${renamed.map((name) => JSON.stringify(name)).join(", ")}`,
          ]),
      "Start this version with it on a new, empty database (PARBOOK_BOOTSTRAP). Compare these sums with the new ledger's.",
      "Not carried over:",
      "  all history and every ref_id: keep the old database and its backups",
      "  the ids of DEFAULT profiles; the descriptions of profiles; inactive profiles",
      `  API clients, because secrets are stored nowhere. Create them: ${left.clients.join(", ") || "none"}`,
      `  fee agreements (${left.fee_agreements}), 30-day volumes, halts, changes of the catalogue`,
      `  what the platform earned in fees: ${amountsText(left.fees)}`,
      `  remainders below an asset's decimals: ${amountsText(left.remainders)}`,
    ],
  };
}

type Amounts = Readonly<Record<string, string>>;

function totalsOf(profiles: readonly ProfileEntry[]): Amounts {
  const totals = new Map<string, ReturnType<typeof amountOf>>();
  for (const { balances = {} } of profiles) {
    for (const [asset, text] of Object.entries(balances))
      totals.set(asset, plus(totals.get(asset) ?? ZERO, amountOf(text)));
  }
  return Object.fromEntries([...totals].sort().map(([asset, amount]) => [asset, formatAmount(amount)]));
}

function amountsText(amounts: Amounts): string {
  return (
    Object.entries(amounts)
      .map(([asset, amount]) => `${amount} ${asset}`)
      .join(", ") || "nothing"
  );
}
