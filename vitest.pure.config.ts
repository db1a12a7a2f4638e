/** The tests that need no PostgreSQL, which judge the mutants of `npm run mutate` (docs/testing.md). */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // The tests of laws take their time beside others.
    testTimeout: 120_000,
    include: [
      "src/{bootstrap,catalogue,config,limits,money,std}/**/*.test.ts",
      "src/conversions/{rules,settlement}.test.ts",
      "src/exchange/{book,feed}/**/*.test.ts",
      "src/exchange/{engine-book,engine-expiries,execution-id,matching,matching-money,order-kinds,place-order,traded-sums}.test.ts",
      "src/http/{paging,rate-limiting,time-range}.test.ts",
      "src/ledger/{accounts,crossings,refusals,turns}.test.ts",
      "src/transfers/{notional-value,rules}.test.ts",
    ],
  },
});
