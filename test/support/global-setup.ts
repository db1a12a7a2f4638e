/**
 * Once before all tests: a PostgreSQL server, the embedded one or that of PARBOOK_DATABASE_URL (as a role that may make
 * databases and roles), and in it a migrated database that every test file copies.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClientConfig } from "pg";
import type { ProvidedContext } from "vitest";
import type { TestProject } from "vitest/node";
import { fillCatalogue, readOwnCatalogue } from "../../src/catalogue/fill-catalogue.ts";
import { Database } from "../../src/postgres/database.ts";
import { startEmbedded } from "../../src/postgres/embedded/embedded.ts";
import { migrate } from "../../src/postgres/migrations.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** As the owner of what the tests make, without a database. */
    owner: ClientConfig;
    template: string;
    serviceRole: string;
  }
}

interface TestServer {
  readonly provided: ProvidedContext;
  readonly stop: () => Promise<void>;
}

/** Vitest loads this file for each project that names it, all in one process: they share the server, and the last stops it. */
const shared = globalThis as { testServer?: { projects: number; readonly server: Promise<TestServer> } | undefined };

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  shared.testServer ??= { projects: 0, server: prepareServer() };
  const { testServer } = shared;
  testServer.projects += 1;
  const { provided, stop } = await testServer.server;
  for (const name of ["owner", "template", "serviceRole"] as const) project.provide(name, provided[name]);
  return async () => {
    testServer.projects -= 1;
    if (testServer.projects > 0) return;
    shared.testServer = undefined;
    await stop();
  };
}

async function prepareServer(): Promise<TestServer> {
  const server = await startServer();
  const template = `parbook_template_${process.pid}`;
  const serviceRole = `parbook_service_${process.pid}`;
  const admin = new Database({
    connection: { ...server.owner, database: "postgres" },
    maxConnections: 1,
    onIdleError: ignore,
  });
  await admin.rows(`create database ${template} template template0`);
  await admin.rows(`create role ${serviceRole} login password '${serviceRole}'`);
  const inTemplate = new Database({
    connection: { ...server.owner, database: template },
    maxConnections: 2,
    onIdleError: ignore,
  });
  await migrate(inTemplate, serviceRole);
  await fillCatalogue(inTemplate, await readOwnCatalogue(), false);
  await inTemplate.close();
  return {
    provided: { owner: server.owner, template, serviceRole },
    stop: async () => {
      await admin.rows(`drop database ${template}`);
      await admin.rows(`drop role ${serviceRole}`).catch(ignore);
      await admin.close();
      await server.stop();
    },
  };
}

async function startServer(): Promise<{ owner: ClientConfig; stop: () => Promise<void> }> {
  const url = process.env.PARBOOK_DATABASE_URL;
  if (url !== undefined) {
    const { hostname, port, username, password, searchParams } = new URL(url);
    const owner = {
      host: searchParams.get("host") ?? decodeURIComponent(hostname),
      port: Number(port || searchParams.get("port") || 5432),
      user: decodeURIComponent(username),
      password: decodeURIComponent(password),
    };
    return { owner, stop: async () => undefined };
  }
  const directory = await mkdtemp(join(tmpdir(), "parbook-test-"));
  const server = await startEmbedded({
    directory,
    log: () => undefined,
    // Durability is tested where it is the subject, on servers of those tests' own.
    settings: { fsync: "off", max_connections: "300" },
  });
  const { database: _, ...owner } = server.connection("postgres", "postgres");
  return {
    owner,
    stop: async () => {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function ignore(): void {}
