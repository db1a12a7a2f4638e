/** What the service's own role cannot do, whatever bug the service has. */
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { APPEND_ONLY, LANE_TABLES } from "../../src/verify/lane-tables.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

const DENIED = { code: "42501" };

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.close());

test.each(APPEND_ONLY)("the service adds to %s and changes nothing in it", async (name) => {
  await expect(
    db.database.rows(`update ${name} set ${name === "event_cut" ? "cut = cut" : "slot = slot"}`),
  ).rejects.toMatchObject(DENIED);
  await expect(db.database.rows(`delete from ${name}`)).rejects.toMatchObject(DENIED);
  await expect(db.database.rows(`truncate ${name}`)).rejects.toMatchObject(DENIED);
});

test.each([...LANE_TABLES.states.map(({ name }) => name), "claim", "customer", "lease"])(
  "the service cannot remove from %s",
  async (name) => {
    await expect(db.database.rows(`delete from ${name}`)).rejects.toMatchObject(DENIED);
    await expect(db.database.rows(`truncate ${name}`)).rejects.toMatchObject(DENIED);
  },
);

test("the service adds to what lanes write, and changes only rows that have versions", async () => {
  const granted = await db.owner.rows<{ name: string; privileges: string }>(
    `select table_name::text as name, string_agg(privilege_type, ' ' order by privilege_type) as privileges
       from information_schema.role_table_grants where grantee = $1 and table_name = any($2) group by 1`,
    [inject("serviceRole"), [...LANE_TABLES.records, ...LANE_TABLES.states].map(({ name }) => name)],
  );
  const opened = LANE_TABLES.states.filter(({ openedOutsideBatches }) => openedOutsideBatches === true);
  // Of their rows only some columns may be changed. Some are inserted by the service, the catalogue's are not.
  const withoutInsert = granted.map(({ name, privileges }) => ({
    name,
    privileges: opened.some((table) => table.name === name) ? privileges.replace("INSERT ", "") : privileges,
  }));
  const due = [
    ...LANE_TABLES.records.map(({ name }) => ({ name, privileges: "INSERT SELECT" })),
    ...LANE_TABLES.states.map((table) => ({
      name: table.name,
      privileges: opened.includes(table) ? "SELECT" : "INSERT SELECT UPDATE",
    })),
  ];
  const byName = (all: readonly { readonly name: string }[]) => all.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  expect(byName(withoutInsert)).toEqual(byName(due));
});

test("the service cannot change the tables, their constraints, triggers or owners", async () => {
  for (const statement of [
    "alter table posting add column more text",
    "alter table batch drop constraint rows_changed_meanwhile",
    "alter table account disable trigger all",
    "drop table posting",
    "create trigger mine before update on posting execute function suppress_redundant_updates_trigger()",
    "create table mine (id integer)",
    "alter table posting owner to current_user",
    "update market set tick = 1",
    "insert into asset (code, kind, precision) values ('MINE', 'fiat', 2)",
  ]) {
    await expect(db.database.rows(statement), statement).rejects.toMatchObject(DENIED);
  }
});

test("the service is neither a superuser nor a member of the owner's role", async () => {
  const [role] = await db.database.rows(
    `select rolsuper, rolcreaterole, rolbypassrls, rolreplication,
            pg_has_role(current_user, (select tableowner from pg_tables where tablename = 'posting'), 'member') as member
       from pg_roles where rolname = current_user`,
  );
  expect(role).toEqual({
    rolsuper: false,
    rolcreaterole: false,
    rolbypassrls: false,
    rolreplication: false,
    member: false,
  });
});
