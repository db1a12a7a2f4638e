/** Why there is no embedded server, in one line for the operator: what is wrong, and what to do about it. */
export class EmbeddedError extends Error {
  override readonly name = "EmbeddedRefusal";
}

/** What helps whenever this machine cannot run the server that we bring. */
export const OWN_DATABASE = "set PARBOOK_DATABASE_URL to use a PostgreSQL of your own";
