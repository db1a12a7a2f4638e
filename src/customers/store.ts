import type { Queryable } from "../postgres/database.ts";
import { must } from "../std/assert.ts";
import type { Instant } from "../std/clock.ts";
import type { CustomerId } from "./customer-id.ts";

export interface Customer {
  readonly id: CustomerId;
  readonly name: string;
  readonly createdAt: Instant;
}

/** Answers the customer as it is: when the id was there before, with the name that it had. */
export async function insertCustomer(database: Queryable, { id, name, createdAt }: Customer): Promise<Customer> {
  await database.rows("insert into customer (id, name, created_at) values ($1, $2, $3) on conflict do nothing", [
    id,
    name,
    new Date(createdAt),
  ]);
  return must(await findCustomer(database, id), "a customer that was inserted is there");
}

export async function findCustomer(database: Queryable, id: CustomerId): Promise<Customer | undefined> {
  const [row] = await database.rows<{ id: CustomerId; name: string; created_at: Instant }>(
    "select id, name, created_at from customer where id = $1",
    [id],
  );
  return row && { id: row.id, name: row.name, createdAt: row.created_at };
}
