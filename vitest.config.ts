import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    reporters: ["default", "./scripts/closing-line.mjs"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 30_000,
    // Longer than a service is waited for: hooks start some, on a machine that may be busy.
    hookTimeout: 180_000,
  },
});
