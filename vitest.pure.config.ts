/** The tests that need no PostgreSQL, which judge the mutants of `npm run mutate` (docs/testing.md). */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // The tests of laws take their time beside others.
    testTimeout: 120_000,
    include: [
      "src/{catalogue,config,money,std}/**/*.test.ts",
      "src/conversions/{rules,settlement}.test.ts",
      "src/exchange/**/*.test.ts",
      "src/http/access/rate-limiting.test.ts",
      "src/http/requests/{paging,time-range}.test.ts",
      "src/ledger/{accounts,external-transfers,rejections,lane/fair-queue}.test.ts",
      "src/service/bootstrap-file.test.ts",
      "src/transfers/{notional-value,rules}.test.ts",
      "src/web/{connections,limits}/**/*.test.ts",
    ],
  },
});
