/** A database that is stopped and started again under a lane that goes on. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fillCatalogue, readOwnCatalogue } from "../../src/catalogue/fill-catalogue.ts";
import { Database } from "../../src/postgres/database.ts";
import { type EmbeddedServer, startEmbedded } from "../../src/postgres/embedded/embedded.ts";
import { migrate } from "../../src/postgres/migrations.ts";
import { pause } from "../../src/std/pause.ts";
import { expectBooksBalance } from "../support/books.ts";
import { availableUsd, movement, newId, newProfiles, startLane } from "../support/movements.ts";
import { until } from "../support/until.ts";

let directory: string;
let server: EmbeddedServer;
const start = (): Promise<EmbeddedServer> => startEmbedded({ directory, log: () => undefined });
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parbook-away-"));
  server = await start();
});
afterAll(async () => {
  await server.stop();
  await rm(directory, { recursive: true, force: true });
});

test("while the database is down requests get 503; afterwards service resumes without a restart, and nothing is lost or duplicated", async () => {
  const connection = server.connection("postgres", "postgres");
  const database = new Database({ connection, maxConnections: 5, onIdleError: () => undefined });
  await database.rows("create role service");
  await migrate(database, "service");
  await fillCatalogue(database, await readOwnCatalogue(), false);
  const { lane, fund, events } = await startLane(database);
  const [from, to] = newProfiles(2);
  await fund([from], "1000");

  const customerId = newId();
  const answered: string[] = [];
  /** One client: sends one after the other, and repeats what was not answered with the same ref_id. */
  const client = async (name: string, count: number): Promise<void> => {
    for (let i = 0; i < count; ) {
      const claim = { customerId, refId: `${name}/${i}` };
      const outcome = await lane.execute(movement({ from, to, amount: "1", claim })).catch((error: Error) => {
        expect(error.name).toBe("Unavailable");
        return pause(20);
      });
      if (outcome === undefined) continue;
      answered.push(claim.refId);
      i += 1;
    }
  };
  const clients = ["a", "b", "c", "d"].map((name) => client(name, 150));
  await until("some are done", () => answered.length > 40);
  await server.stop();
  await until("the lane says that it takes nothing in", () => lane.unavailableReason !== undefined);
  await expect(lane.execute(movement({ from, to, amount: "1" }))).rejects.toMatchObject({ name: "Unavailable" });
  const before = answered.length;
  server = await start();
  await until("the lane works again", () => answered.length > before);
  await Promise.all(clients);
  expect(await availableUsd(database, [from, to])).toEqual(["400", "600"]);
  expect(events.some(({ kind }) => kind === "command_failed")).toBe(false);
  await lane.stop();
  await expectBooksBalance(database);
  await database.close();
});
