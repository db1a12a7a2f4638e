/**
 * The statements that a connection has prepared. PostgreSQL keeps each with its plan, some hundred kilobytes, until the
 * connection is closed, and one client can make thousands of shapes of batches: what is unused for longest is removed.
 */
import type pg from "pg";

/** More than ordinary work needs. */
const MOST = 200;

export class PreparedStatements {
  readonly #client: pg.Client;
  /** By shape; the one unused for longest first. */
  readonly #names = new Map<string, string>();
  #made = 0;

  constructor(client: pg.Client) {
    this.#client = client;
  }

  /**
   * To be called before a statement is sent.
   * @returns under which name: another one each time that it is prepared, as what was sent under a former one may not be
   * answered yet
   */
  nameOf(shape: string): string {
    const name = this.#names.get(shape) ?? this.#nextName(shape);
    this.#names.delete(shape);
    this.#names.set(shape, name);
    const [oldest] = this.#names;
    if (this.#names.size > MOST && oldest !== undefined) this.#remove(...oldest);
    return name;
  }

  #nextName(shape: string): string {
    this.#made += 1;
    return `${shape}_${this.#made}`;
  }

  #remove(shape: string, name: string): void {
    this.#names.delete(shape);
    // The driver has no API for this, and caches the names of prepared statements. If the connection is lost, the statements
    // sent after this one fail and report it.
    const forget = (): boolean => delete parsedBy(this.#client)[name];
    this.#client.query(`deallocate ${name}`).then(forget, () => undefined);
  }
}

const parsedBy = (client: pg.Client): Record<string, string> =>
  (client as unknown as { connection: { parsedStatements: Record<string, string> } }).connection.parsedStatements;
