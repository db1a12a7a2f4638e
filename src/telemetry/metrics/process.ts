import { X509Certificate } from "node:crypto";
import { statfs } from "node:fs/promises";
import { Counter, collectDefaultMetrics, type Registry } from "prom-client";
import { PROGRAM_VERSION } from "../../std/program-version.ts";
import { gauge, plainGauge } from "./gauge.ts";

export interface ProcessSources {
  readonly mode: string;
  readonly embedded: boolean;
  readonly dataDir: string;
  /** The current certificate in PEM; undefined with plain HTTP. */
  readonly certificate: () => string | undefined;
  readonly lastVerify: () => Promise<LastVerify | undefined>;
  /** Since the process started. */
  readonly droppedLogLines: () => number;
}

export interface LastVerify {
  readonly finishedAt: number;
  readonly sound: boolean;
}

/** Metrics of the process: version, disk, certificate, last verify, log. */
export function addProcessMetrics(registry: Registry, machine: ProcessSources): void {
  const { mode, embedded, dataDir, certificate, lastVerify, droppedLogLines } = machine;
  collectDefaultMetrics({ register: registry });
  const labels = {
    version: PROGRAM_VERSION,
    node: process.version,
    mode,
    database: embedded ? "embedded" : "external",
  };
  gauge(
    registry,
    {
      name: "parbook_info",
      help: "Always 1; the labels describe this process.",
      labels: ["version", "node", "mode", "database"],
    },
    () => [[labels, 1]],
  );
  plainGauge(
    registry,
    "parbook_data_directory_free_bytes",
    "Free space on the disk of PARBOOK_DATA_DIR, which holds the embedded database. Says nothing about an external one.",
    async () => (await spaceIn(dataDir))?.free,
  );
  plainGauge(
    registry,
    "parbook_data_directory_size_bytes",
    "Size of the disk of PARBOOK_DATA_DIR.",
    async () => (await spaceIn(dataDir))?.size,
  );
  plainGauge(
    registry,
    "parbook_certificate_expires_timestamp_seconds",
    "Expiry of the current certificate. Missing with plain HTTP.",
    () => {
      const pem = certificate();
      return pem === undefined ? undefined : Date.parse(new X509Certificate(pem).validTo) / 1_000;
    },
  );
  plainGauge(
    registry,
    "parbook_verify_finished_timestamp_seconds",
    "When parbook verify last finished with this PARBOOK_DATA_DIR. Missing: never.",
    async () => seconds((await lastVerify())?.finishedAt),
  );
  plainGauge(
    registry,
    "parbook_verify_sound",
    "1: the last parbook verify found the ledger sound. 0: stop, and read its report.",
    async () => {
      const last = await lastVerify();
      return last === undefined ? undefined : Number(last.sound);
    },
  );
  new Counter({
    name: "parbook_log_lines_dropped_total",
    help: "Log lines dropped because the reader was gone or slow or the disk full. The service continues.",
    registers: [registry],
    collect() {
      this.reset();
      this.inc(droppedLogLines());
    },
  });
}

const seconds = (instant: number | undefined): number | undefined =>
  instant === undefined ? undefined : instant / 1_000;

async function spaceIn(directory: string): Promise<{ free: number; size: number } | undefined> {
  try {
    const { bavail, blocks, bsize } = await statfs(directory);
    return { free: bavail * bsize, size: blocks * bsize };
  } catch {
    // With an external database the directory may not exist yet.
    return undefined;
  }
}
