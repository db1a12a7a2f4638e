/** A process of its own that does nothing but start the embedded server, and what belongs to that server. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

export interface EmbeddedService {
  readonly child: ChildProcess;
  /** The process id of its postmaster. */
  readonly postmaster: number;
}

/** Starts the program that `compileService` has made, and waits until its server answers. */
export async function startEmbeddedService(program: string, directory: string): Promise<EmbeddedService> {
  const child = spawn(process.execPath, [program, directory], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(child.stdout.setEncoding("utf8"), "data");
  return { child, postmaster: Number(line) };
}

/** The process ids of a session that still run: of a server's those of the postmaster and its watcher. */
export function sessionOf(leader: number): number[] {
  const processes = execFileSync("ps", ["-A", "-o", "pid=,sid=,stat="], { encoding: "utf8" }).trim().split("\n");
  return processes
    .map((line) => line.trim().split(/ +/))
    .filter(([, session, state]) => Number(session) === leader && state?.startsWith("Z") === false)
    .map(([pid]) => Number(pid));
}

/** Compiles the launcher into a folder of its own, with a service that does nothing but start it. */
export function compileService(folder: string): string {
  const source = fileURLToPath(new URL("../../../src/", import.meta.url));
  const target = join(folder, "compiled");
  for (const part of ["std", "postgres/embedded"]) {
    for (const name of readdirSync(join(source, part), { encoding: "utf8", recursive: true })) {
      if (!name.endsWith(".ts") || name.endsWith(".test.ts")) continue;
      mkdirSync(dirname(join(target, part, name)), { recursive: true });
      const { outputText } = ts.transpileModule(readFileSync(join(source, part, name), "utf8"), {
        compilerOptions: {
          module: ts.ModuleKind.ESNext,
          target: ts.ScriptTarget.ES2023,
          rewriteRelativeImportExtensions: true,
        },
      });
      writeFileSync(join(target, part, name.replace(/\.ts$/, ".js")), outputText);
    }
  }
  writeFileSync(join(target, "package.json"), JSON.stringify({ type: "module" }));
  symlinkSync(join(source, "../node_modules"), join(target, "node_modules"));
  writeFileSync(join(target, "service.js"), SERVICE);
  return join(target, "service.js");
}

const SERVICE = `
  import pg from "pg";
  import { startEmbedded } from "./postgres/embedded/embedded.js";
  const server = await startEmbedded({ directory: process.argv[2], log: () => {}, settings: { fsync: "off" } });
  const client = new pg.Client(server.connection("postgres", "postgres"));
  await client.connect();
  await client.query("create table if not exists kept (one int)");
  await client.query("insert into kept values (1)");
  console.log(server.pid);
`;
