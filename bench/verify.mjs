/**
 * How fast `verify` checks transfers: CPU of its process and of the database for each, in a ledger of transfers between random
 * profiles. Beside it, in the same run, how many transfers of pgbench's TPC-B kind a database of the same size can do is in
 * `bench.mjs`.
 *
 *   node bench/verify.mjs [--transfers 100000] [--profiles 1000] [--rounds 2] [--profile FILE]
 *
 * `--profile` writes a CPU profile of the last round, for Chrome's DevTools.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { prepare } from "../scripts/prepare.mjs";
import { printTable } from "./report/table.mjs";
import { databaseCpu, startService } from "./service.mjs";

const { values } = parseArgs({
  options: {
    transfers: { type: "string", default: "100000" },
    profiles: { type: "string", default: "1000" },
    rounds: { type: "string", default: "2" },
    profile: { type: "string" },
  },
});
const [transfers, profiles, rounds] = [values.transfers, values.profiles, values.rounds].map(Number);

await prepare({ tools: true });
const directory = await mkdtemp(join(tmpdir(), "parbook-verify-"));
const service = await startService(directory, { PARBOOK_LOG_LEVEL: "error" });
try {
  const customerId = service.customers[0].id;
  const wanted = { customerId, tag: "verify" };
  const ids = await service.ask("fill", { ...wanted, kind: "profiles", count: profiles, amount: "1000000" });
  await service.ask("fill", { ...wanted, kind: "transfers", count: transfers, profiles: ids });
  const rows = [];
  for (let round = 1; round <= rounds; round += 1) rows.push([`round ${round}`, ...(await measure(round === rounds))]);
  printTable(["", "seconds", "transfers/s", "verify us", "database us", "memory MB"], rows);
} finally {
  await service.stop();
  await rm(directory, { recursive: true, force: true });
}

async function measure(isLast) {
  const before = { ...(await service.ask("used")), database: databaseCpu(directory) };
  const startedMs = performance.now();
  const sound = await service.ask("verify", isLast ? { profile: values.profile } : {});
  const seconds = (performance.now() - startedMs) / 1_000;
  const after = { ...(await service.ask("used")), database: databaseCpu(directory) };
  if (!sound) throw new Error("verify found something");
  const each = (micros) => micros / transfers;
  return [
    seconds,
    transfers / seconds,
    each(after.serviceCpu - before.serviceCpu),
    each(after.database - before.database),
    after.resident / 1e6,
  ];
}
