/** Configuration or database not fit to serve. One or more lines for the operator. */
export class StartupError extends Error {
  override readonly name = "StartupError";
  readonly lines: readonly string[];

  constructor(...lines: readonly string[]) {
    super(lines.join("\n"));
    this.lines = lines;
  }
}
