/**
 * The sandbox demo: a bootstrap file with two customers that can trade with each other. Created once, with random
 * secrets, in the data directory.
 */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { IdSource } from "../../std/id.ts";
import { writeAtomically } from "../../std/write-atomically.ts";
import type { BootstrapFile } from "./bootstrap-file.ts";

export function demoFile(dataDir: string): string {
  return join(dataDir, "demo.json");
}

/** The form of the demo's client_ids, by which production recognises them. */
export const DEMO_CLIENT = /^(?:acme|borealis)-[0-9a-f]{6}$/;

/** Creates the file if missing, with mode 0600. @returns Its path. */
export async function ensureDemoFile(dataDir: string, ids: IdSource): Promise<string> {
  const path = demoFile(dataDir);
  try {
    await readFile(path);
  } catch {
    await writeAtomically(path, `${JSON.stringify(makeDemo(ids), undefined, 2)}\n`, 0o600);
  }
  return path;
}

function makeDemo(ids: IdSource): BootstrapFile {
  const secret = (): string => randomBytes(32).toString("base64url");
  const tag = randomBytes(3).toString("hex");
  return {
    customers: [
      {
        id: ids.next(),
        name: "Acme",
        clients: [{ client_id: `acme-${tag}`, client_secret: secret(), scopes: ["*"] }],
        profiles: [
          { id: ids.next(), nickname: "treasury", balances: { USD: "1000000", PYUSD: "1000", BTC: "10" } },
          { id: ids.next(), nickname: "payouts" },
        ],
      },
      {
        id: ids.next(),
        name: "Borealis",
        clients: [{ client_id: `borealis-${tag}`, client_secret: secret(), scopes: ["*"] }],
        profiles: [{ id: ids.next(), nickname: "desk", balances: { USD: "1000000", BTC: "10", ETH: "100" } }],
      },
    ],
  };
}
