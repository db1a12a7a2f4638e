/**
 * The bootstrap file: customers with their clients, profiles and opening balances, applied at every start. Read and
 * checked as a whole before anything of it is applied.
 */

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import Type, { type Static } from "typebox";
import Value from "typebox/value";
import { DECIMAL_PATTERN } from "../money/amount.ts";
import type { Uuid } from "../std/id.ts";

const UUID = Type.String({ pattern: "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$" });
const closed = { additionalProperties: false };

const BootstrapShape = Type.Object(
  {
    customers: Type.Array(
      Type.Object(
        {
          id: Type.Optional(UUID),
          name: Type.String({ minLength: 1, maxLength: 100 }),
          clients: Type.Optional(
            Type.Array(
              Type.Object(
                {
                  client_id: Type.String({ minLength: 1, maxLength: 100 }),
                  client_secret: Type.String({ minLength: 1, maxLength: 256 }),
                  scopes: Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }),
                },
                closed,
              ),
            ),
          ),
          profiles: Type.Optional(
            Type.Array(
              Type.Object(
                {
                  id: Type.Optional(UUID),
                  nickname: Type.String({ minLength: 1, maxLength: 100 }),
                  balances: Type.Optional(Type.Record(Type.String(), Type.String({ pattern: DECIMAL_PATTERN }))),
                },
                closed,
              ),
            ),
          ),
        },
        closed,
      ),
    ),
  },
  closed,
);

export type BootstrapFile = Static<typeof BootstrapShape>;

/** One message with every line that is wrong. */
export class BootstrapRefusal extends Error {
  override readonly name = "BootstrapRefusal";
}

export async function readBootstrapFile(path: string): Promise<BootstrapFile> {
  let file: unknown;
  try {
    file = JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    throw new BootstrapRefusal(`the bootstrap file ${path} cannot be read: ${(error as Error).message}`);
  }
  if (Value.Check(BootstrapShape, file)) return file;
  const lines = [...Value.Errors(BootstrapShape, file)].map(
    ({ instancePath, message }) => `  ${instancePath || "/"} ${message}`,
  );
  throw new BootstrapRefusal([`the bootstrap file ${path} is wrong:`, ...lines].join("\n"));
}

/** The id of something that the file does not give one: always the same for the same words. A UUID of version 8. */
export function idOf(...words: readonly string[]): Uuid {
  const hex = createHash("sha256").update(JSON.stringify(words)).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}` as Uuid;
}
