/** What is kept on disk is its owner's alone, whatever the umask lets others do. */
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Service, startService } from "../../src/main.ts";
import { readConfig } from "../../src/service/config/config.ts";

let directory: string;
let service: Service | undefined;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parbook-disk-"));
});
afterAll(async () => {
  await service?.stop();
  await rm(directory, { recursive: true, force: true });
});

test("a data directory that a start makes is open to its owner alone, and so is everything secret in it", async () => {
  const dataDir = join(directory, "made", "by the start");
  const config = readConfig({
    PARBOOK_DATA_DIR: dataDir,
    PARBOOK_PORT: "0",
    PARBOOK_AUTH_PORT: "0",
    PARBOOK_SANDBOX_MAKER: "off",
  });
  service = await startService({ config, log: pino({ level: "silent" }) });
  const modes: Record<string, string> = {};
  for (const name of ["", "demo.json", "ready.json", "postgres", "postgres/.s.PGSQL.5432", "postgres.log"]) {
    modes[name] = ((await stat(join(dataDir, name))).mode & 0o777).toString(8);
  }
  expect(modes).toEqual({
    "": "700",
    "demo.json": "600",
    // Says where the service is, and no secret: the owner of the directory may let others read.
    "ready.json": "644",
    postgres: "700",
    // Whoever reaches the socket can be anybody in the database.
    "postgres/.s.PGSQL.5432": "700",
    "postgres.log": "600",
  });
});
