/** The fast tests that need no PostgreSQL: `npm run mutate` runs them on every mutant (docs/testing.md). */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // Property tests are slow when others run at the same time.
    testTimeout: 120_000,
    include: [
      "src/{catalogue,money,service/config,std}/**/*.test.ts",
      "src/conversions/{rules,settlement}.test.ts",
      "src/exchange/**/*.test.ts",
      "src/api/access/rate-limiting.test.ts",
      "src/api/requests/{paging,time-range}.test.ts",
      "src/ledger/{accounts,external-transfer-entries,rejections,writer/round-robin-queue}.test.ts",
      "src/service/bootstrap/bootstrap-file.test.ts",
      "src/transfers/{bulk-rules,notional-value,rules}.test.ts",
      "src/web/{connections,limits}/**/*.test.ts",
    ],
  },
});
