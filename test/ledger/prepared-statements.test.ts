/** What a lane's connection keeps of the statements that it has sent. */
import { expect, test } from "vitest";
import { PreparedStatements } from "../../src/ledger/writer/prepared-statements.ts";
import { testDatabase } from "../support/database.ts";

test("a connection keeps 200 statements, those used last, and one that was removed can be used again", async () => {
  const db = await testDatabase();
  const client = await db.database.connect({ pipeline: true });
  const prepared = new PreparedStatements(client);
  const ask = async (n: number): Promise<unknown> => {
    const name = prepared.nameOf(`shape_${n}`);
    // With a value: without one nothing would be prepared.
    const { rows } = await client.query({ name, text: `select ${n} + $1::int as sum`, values: [1] });
    return rows[0].sum;
  };
  const numbers = Array.from({ length: 300 }, (_, n) => n);
  // All at once: what is removed is removed in the midst of what others send.
  expect(await Promise.all(numbers.map(async (n) => [await ask(n), await ask(0)]))).toEqual(
    numbers.map((n) => [n + 1, 1]),
  );
  const kept = async (): Promise<string[]> => {
    const { rows } = await client.query("select name from pg_prepared_statements order by prepare_time");
    return rows.map(({ name }) => name.split("_")[1]);
  };
  expect(await kept()).toHaveLength(200);
  expect(await kept()).toEqual(expect.arrayContaining(["0", "299"]));
  expect(await kept()).not.toContain("1");
  expect([await ask(1), await ask(299), await ask(1)]).toEqual([2, 300, 2]);
  expect(await kept()).toHaveLength(200);
  const { parsedStatements } = (client as unknown as { connection: { parsedStatements: object } }).connection;
  expect(Object.keys(parsedStatements)).toHaveLength(200);
  await client.end();
  await db.close();
});
