import type { Database } from "../../../src/postgres/database.ts";
import type { Ended } from "../../cli/parbook.ts";

/** What the storm needs of the place where the service runs. */
export interface StormSite {
  /** Past the service, as PostgreSQL's superuser. */
  readonly database: Database;
  /** As the owner of the database connects, for commands of the operator. */
  readonly databaseUrl: string;
  readonly baseUrl: string;
  readonly authUrl: string;
  /** Where the last checkpoint of the chains and its key are. */
  readonly checkpoint: { readonly file: string; readonly key: string };
  /** Runs a command of the operator. */
  run(...command: string[]): Promise<Ended>;
  /** Stops the service in order. */
  stop(): Promise<void>;
  close(): Promise<void>;
}
