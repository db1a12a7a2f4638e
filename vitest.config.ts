import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Unit tests of what is mostly SQL. */
const SQL_UNITS = [
  "src/customers/operator-queries.test.ts",
  "src/customers/{clients/clients,webhooks/{secrets,webhooks}}.test.ts",
  "src/api/error-handler.test.ts",
  "src/ledger/balances.test.ts",
  "src/oauth/{oauth,keys/signing-keys,server/token-endpoint,tokens/tokens}.test.ts",
  "src/postgres/{excess-privileges,leases,migrations,schema-dump}.test.ts",
];

/** Tests of whole parts that need no PostgreSQL. */
const PURE_PARTS = ["test/{reference,scripts}/*.test.ts"];

/**
 * Many files on the one server that share processes, which saves loading the program for each. No file here may mock a
 * module or leave a changed global behind. The others have a process of their own.
 */
const IN_SHARED_PROCESSES = ["test/{accounting,exchange,ledger,metrics,protocol}/**/*.test.ts", ...SQL_UNITS];

/** Long tests that start servers of their own, or need none. `npm test` runs them on the embedded PostgreSQL only. */
const STANDALONE = [
  // Looks at the modules that the built program loads.
  "src/cli/parbook.test.ts",
  "src/postgres/embedded/*.test.ts",
  "test/backup/*.test.ts",
  "test/cli/{long-work,secrets,service}.test.ts",
  "test/production/*.test.ts",
  "test/reliability/storm/*.test.ts",
  "test/service/shutdown.test.ts",
  "test/simulation/simulation.test.ts",
];

/**
 * What these show does not depend on the version of a server: they bring one of their own, or are about requests, programs
 * and processes, with statements that other tests send too. `.ci/run` does not repeat them on another PostgreSQL.
 */
const SAME_ON_EACH_SERVER = [
  "test/cli/{doctor,doctor-standby,terminal,usage-errors}.test.ts",
  "test/durability/*.test.ts",
  "test/{fuzz,market-maker,openapi,proxies,tenancy,traces}/*.test.ts",
  "test/ledger/database-away.test.ts",
  "test/oauth/{debian-clients,nothing-secret,npm-clients}.test.ts",
  "test/security/{attack,disk}.test.ts",
  "test/service/{fatal-errors,log,stalled-callers,tls}.test.ts",
];
/** Needs programs of Debian and minutes, so it is a step of its own in `.ci/run`. */
const CLUSTER = ["test/cluster/*.test.ts"];
// biome-ignore lint/style/noProcessEnv: the tests are run by it, not the service
const withCluster = process.env.STORM_CLUSTER !== undefined;
// biome-ignore lint/style/noProcessEnv: the tests are run by it, not the service
const isAnotherServer = process.env.PARBOOK_DATABASE_URL !== undefined;

/** The generators of clients bring tests of their own along. */
const INSTALLED = ["**/node_modules/**"];

/** Long tests first: one that starts last would run alone, beside an idle core. */
class LongTestsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ project }: TestSpecification): boolean => project.name === "standalone";
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  test: {
    reporters: ["default", "./scripts/closing-line.mjs"],
    pool: "forks",
    maxWorkers: 2,
    sequence: { sequencer: LongTestsFirst },
    // A machine that others keep busy has been seen to take half a minute for what takes a second.
    testTimeout: 120_000,
    // Longer than a service is waited for: hooks start some, on a machine that may be busy.
    hookTimeout: 180_000,
    // The global setup starts PostgreSQL, which takes seconds. Runs without a file of `database` do not need it.
    projects: [
      {
        extends: true,
        // One process runs many files: half of the time was spent on starting processes and loading modules.
        test: {
          name: "pure",
          isolate: false,
          include: ["src/**/*.test.ts", ...PURE_PARTS],
          exclude: [...INSTALLED, ...SQL_UNITS, ...STANDALONE],
        },
      },
      {
        extends: true,
        test: {
          name: "database",
          isolate: false,
          include: IN_SHARED_PROCESSES,
          exclude: [...INSTALLED, ...(isAnotherServer ? SAME_ON_EACH_SERVER : [])],
          globalSetup: ["test/support/global-setup.ts"],
        },
      },
      {
        extends: true,
        test: {
          name: "database, isolated",
          include: ["test/**/*.test.ts"],
          exclude: [
            ...INSTALLED,
            ...IN_SHARED_PROCESSES,
            ...PURE_PARTS,
            ...STANDALONE,
            ...CLUSTER,
            ...(isAnotherServer ? SAME_ON_EACH_SERVER : []),
          ],
          globalSetup: ["test/support/global-setup.ts"],
        },
      },
      { extends: true, test: { name: "standalone", include: STANDALONE } },
      // `npm run storm -- --cluster`
      { extends: true, test: { name: "cluster", include: withCluster ? CLUSTER : [] } },
    ],
  },
});
