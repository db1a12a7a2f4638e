/**
 * Clients that three generators make of the OpenAPI document: they compile with strict settings, and work. The generators are
 * a package of their own, which `.ci/run` installs: npm ci --prefix test/openapi/clients
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectBooksBalance } from "../support/books.ts";
import { required } from "../support/required.ts";
import { startTestService, type TestCustomer, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const ROOT = join(import.meta.dirname, "../..");
const CLIENTS = join(import.meta.dirname, "clients");
const GENERATORS = join(CLIENTS, "node_modules");
const isInstalled = existsSync(join(GENERATORS, "typescript"));
const MARKET = "BTCUSD";
const PRICE = "25000";

/** Connects the client of a module that is named, and prints what came of its calls. */
const RUN = `
const [, name, baseUrl, given] = process.argv;
const { connect } = await import("./built/" + name + ".js");
const { fiveOperations } = await import("./built/five-operations.js");
console.log(JSON.stringify(await fiveOperations(connect(baseUrl), JSON.parse(given))));
`;

let service: TestService;
let seller: TestCustomer;
let folder: string;
beforeAll(async () => {
  if (!isInstalled) return;
  service = await startTestService();
  seller = await service.customer("Seller");
  folder = await mkdtemp(join(tmpdir(), "parbook-clients-"));
  await cp(CLIENTS, folder, { recursive: true, filter: (path) => path !== GENERATORS });
  await symlink(GENERATORS, join(folder, "node_modules"));
});
afterAll(async () => {
  if (!isInstalled) return;
  await service.close();
  await rm(folder, { recursive: true });
});

test("clients that are generated from the document compile, and run the five operations", {
  timeout: 240_000,
}, async (context) => {
  required(context, isInstalled ? undefined : "the generators are not installed: npm ci --prefix test/openapi/clients");
  await generate();
  // Separate programs, because each generator may set what the whole process has.
  for (const name of ["openapi-fetch-client", "hey-api-client", "redocly-client"]) {
    expect([name, await runWith(name)]).toEqual([
      name,
      {
        transfer: "PLATFORM_TRANSFER_DEBIT 12.5 COMPLETED",
        conversions: ["PYUSD CREATED", "USD CREATED", "USDP CREATED"],
        order: "FILLED 0.01",
        executions: [`0.01 at ${PRICE}`],
        rejected: "403 Insufficient Funds",
      },
    ]);
  }
  await expectBooksBalance(service.db.owner);
});

/** Makes the three clients of the document that the service has, and compiles what calls them. */
async function generate(): Promise<void> {
  const document = join(folder, "openapi.json");
  await writeFile(document, JSON.stringify((await service.call("GET", "/openapi.json")).body));
  await program(GENERATORS, "openapi-typescript", [document, "--output", "generated/openapi-typescript.ts"]);
  await program(GENERATORS, "openapi-ts", ["--input", document, "--output", "generated/hey-api", "--no-log-file"]);
  const redocly = ["generate-client", document, "--output", "generated/redocly.ts", "--error-mode", "result"];
  await program(join(ROOT, "node_modules"), "redocly", redocly);
  await program(GENERATORS, "tsc", ["--project", "."]);
}

function program(modules: string, name: string, args: readonly string[]): Promise<string> {
  return run(join(modules, ".bin", name), args);
}

async function run(command: string, args: readonly string[]): Promise<string> {
  const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
  const failed = (error: { readonly stdout: string; readonly message: string }): never => {
    throw new Error(`${error.message}\n${error.stdout}`);
  };
  const { stdout } = await promisify(execFile)(command, args, { cwd: folder, env }).catch(failed);
  return stdout;
}

/** The five operations by a customer with money, for whom there is an offer on the market. */
async function runWith(name: string): Promise<unknown> {
  const { clientId, secret: clientSecret, ...customer } = await service.customer(name);
  const from = await service.profile(customer, { USD: "10000", PYUSD: "1000" });
  const desk = await service.profile(seller, { BTC: "0.01" });
  const body = { side: "SELL", market: MARKET, type: "LIMIT", base_amount: "0.01", price: PRICE };
  await service.call("POST", `/v2/profiles/${desk}/orders`, { as: seller.token, body });
  await until("the offer is on the book", async () => {
    const { body: book } = await service.call("GET", `/v2/markets/${MARKET}/order-book`);
    return book.asks.length === 1;
  });
  const given = JSON.stringify({ clientId, clientSecret, from, to: customer.defaultProfile });
  return JSON.parse(await run(process.execPath, ["--input-type=module", "--eval", RUN, name, service.baseUrl, given]));
}
