import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { startTestService } from "./service.ts";

/** The path of a bootstrap file, which is there until the test ends. @param content a text as it is, or what is written as JSON */
export function bootstrapFile(content: unknown): string {
  const directory = mkdtempSync(join(tmpdir(), "parbook-bootstrap-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, "bootstrap.json");
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

type TestService = Awaited<ReturnType<typeof startTestService>>;

/** What a bootstrap file is applied to. */
export function partsOf({ service }: TestService, mode: "sandbox" | "production" = "sandbox") {
  return { ...service.core, ...service, mode };
}
