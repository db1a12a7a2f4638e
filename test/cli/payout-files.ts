/** Payout files in a folder of their own, beside the secret of the client that pays; the command that runs them, and what was paid. */
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestCustomer, TestService } from "../support/service.ts";
import { run, type Said } from "./in-process.ts";

export const HEAD = "from_profile_id,to_profile_id,amount,asset,ref_id,metadata.note";

export async function makeFolder(secret: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "payout-"));
  await writeFile(secretIn(folder), `${secret}\n`);
  return folder;
}

const secretIn = (folder: string): string => join(folder, "acme.secret");

/** @returns its path */
export async function writeLines(folder: string, name: string, lines: readonly string[]): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, `${lines.join("\n")}\n`);
  return path;
}

export function runPayout(folder: string, clientId: string, path: string, ...options: string[]): Promise<Said> {
  return run(["payout", "run", path, "--client", clientId, "--secret-file", secretIn(folder), ...options]);
}

/** What a customer's profile has in USD. */
export async function availableTo(service: TestService, customer: TestCustomer, profile: string): Promise<string> {
  const { body } = await service.call("GET", `/v2/profiles/${profile}/balances/USD`, { as: customer.token });
  return body.available;
}
