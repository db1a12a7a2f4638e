import pg from "pg";
import { expect, test } from "vitest";
import { prepareSession } from "./session.ts";

/** A server that does not know a setting, as PostgreSQL 13 does not know idle_session_timeout. */
function oldServer(code: string) {
  const query = async ({ text }: { readonly text: string }) => {
    if (text === "show server_version") return { rows: [{ server_version: "13.23" }] };
    throw Object.assign(new pg.DatabaseError("unrecognized configuration parameter", 0, "error"), { code });
  };
  return { query } as unknown as pg.ClientBase;
}

test("a server that is too old is rejected with its version", async () => {
  await expect(prepareSession(oldServer("42704"), {})).rejects.toThrow(
    "this is PostgreSQL 13.23, and Parbook needs 15 or newer",
  );
  await expect(prepareSession(oldServer("42501"), {})).rejects.toThrow("unrecognized configuration parameter");
});
