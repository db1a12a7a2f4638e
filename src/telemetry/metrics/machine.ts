import { X509Certificate } from "node:crypto";
import { statfs } from "node:fs/promises";
import { createRequire } from "node:module";
import { Counter, collectDefaultMetrics, type Registry } from "prom-client";
import { gauge, plainGauge } from "./gauge.ts";

export interface Machine {
  readonly mode: string;
  readonly embedded: boolean;
  readonly dataDir: string;
  /** In PEM, as it is in use; undefined: plain HTTP. */
  readonly certificate: () => string | undefined;
  readonly lastVerify: () => Promise<LastVerify | undefined>;
  /** Since the process began. */
  readonly droppedLogLines: () => number;
}

export interface LastVerify {
  readonly finishedAt: number;
  readonly sound: boolean;
}

/** The process, what it was built from, and what its machine has to spare. */
export function addMachine(registry: Registry, machine: Machine): void {
  const { mode, embedded, dataDir, certificate, lastVerify, droppedLogLines } = machine;
  collectDefaultMetrics({ register: registry });
  const { version } = createRequire(import.meta.url)("../../../package.json") as { readonly version: string };
  const labels = { version, node: process.version, mode, database: embedded ? "embedded" : "external" };
  gauge(
    registry,
    { name: "parbook_info", help: "1; what runs here.", labels: ["version", "node", "mode", "database"] },
    () => [[labels, 1]],
  );
  plainGauge(
    registry,
    "parbook_data_directory_free_bytes",
    "What is left on the disk of PARBOOK_DATA_DIR: that of the embedded database. An external one's is not known here.",
    async () => (await spaceIn(dataDir))?.free,
  );
  plainGauge(
    registry,
    "parbook_data_directory_size_bytes",
    "The size of that disk.",
    async () => (await spaceIn(dataDir))?.size,
  );
  plainGauge(
    registry,
    "parbook_certificate_expires_timestamp_seconds",
    "When the certificate in use ends. Not there with plain HTTP.",
    () => {
      const pem = certificate();
      return pem === undefined ? undefined : Date.parse(new X509Certificate(pem).validTo) / 1_000;
    },
  );
  plainGauge(
    registry,
    "parbook_verify_finished_timestamp_seconds",
    "When parbook verify last came to an end with this PARBOOK_DATA_DIR. Not there: never.",
    async () => seconds((await lastVerify())?.finishedAt),
  );
  plainGauge(
    registry,
    "parbook_verify_sound",
    "1: it found everything sound. 0: stop, and read what it has found.",
    async () => {
      const last = await lastVerify();
      return last === undefined ? undefined : Number(last.sound);
    },
  );
  new Counter({
    name: "parbook_log_lines_dropped_total",
    help: "Lines of the log that could not be written: their reader was gone or too slow, or the disk full. The service goes on without.",
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
    // It is made at the first start; with an external database perhaps later than this is asked for.
    return undefined;
  }
}
