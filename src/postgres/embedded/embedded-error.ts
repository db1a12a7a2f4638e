/** The embedded server cannot be used. The message states in one line what is wrong and what to do. */
export class EmbeddedError extends Error {
  override readonly name: string = "EmbeddedError";
}

/** The advice when the embedded server cannot run on this machine. */
export const OWN_DATABASE = "set PARBOOK_DATABASE_URL to use your own PostgreSQL";
