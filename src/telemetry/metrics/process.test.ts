import { readFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { readCertificate } from "../../../test/support/http/certificate.ts";
import { addProcessMetrics, type ProcessSources } from "./process.ts";

const { version } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));

async function served(machine: Partial<ProcessSources>): Promise<string[]> {
  const registry = new Registry();
  addProcessMetrics(registry, {
    mode: "production",
    embedded: true,
    dataDir: "/nowhere",
    certificate: () => undefined,
    lastVerify: async () => undefined,
    droppedLogLines: () => 0,
    ...machine,
  });
  return (await registry.metrics()).split("\n").filter((line) => line.startsWith("parbook_"));
}

const info = (mode: string, database: string): string =>
  `parbook_info{version="${version}",node="${process.version}",mode="${mode}",database="${database}"} 1`;

test("certificate, last verify and lost log lines are served, times in seconds", async () => {
  const certificate = (): string => readCertificate().cert.toString();
  const lastVerify = { finishedAt: 1_795_253_400_250, sound: true };
  const lines = await served({ certificate, lastVerify: async () => lastVerify, droppedLogLines: () => 3 });
  expect(lines).toEqual([
    info("production", "embedded"),
    `parbook_certificate_expires_timestamp_seconds ${Date.parse("2126-10-28T05:32:22Z") / 1_000}`,
    "parbook_verify_finished_timestamp_seconds 1795253400.25",
    "parbook_verify_sound 1",
    "parbook_log_lines_dropped_total 3",
  ]);
  const unsound = await served({ lastVerify: async () => ({ ...lastVerify, sound: false }) });
  expect(unsound).toContain("parbook_verify_sound 0");
});

test("without a data directory, TLS and a verify their metrics are missing", async () => {
  expect(await served({ mode: "sandbox", embedded: false })).toEqual([
    info("sandbox", "external"),
    "parbook_log_lines_dropped_total 0",
  ]);
});

test("lost log lines are served as they were counted, whatever was served before", async () => {
  const registry = new Registry();
  let dropped = 5;
  const machine = { mode: "sandbox", embedded: true, dataDir: "/nowhere", certificate: () => undefined };
  addProcessMetrics(registry, { ...machine, lastVerify: async () => undefined, droppedLogLines: () => dropped });
  await registry.metrics();
  dropped = 7;
  expect(await registry.metrics()).toContain("\nparbook_log_lines_dropped_total 7\n");
});

test("of the data directory's disk, the space that is free for the service and the size are served", async () => {
  const dataDir = process.cwd();
  const { bavail, blocks, bsize } = await statfs(dataDir);
  const lines = await served({ dataDir });
  const value = (name: string): number =>
    Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1));
  expect(value("parbook_data_directory_size_bytes")).toBe(blocks * bsize);
  // Others write to it meanwhile.
  expect(Math.abs(value("parbook_data_directory_free_bytes") - bavail * bsize)).toBeLessThan(0.05 * blocks * bsize);
});
