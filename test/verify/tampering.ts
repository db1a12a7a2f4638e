/** One way to change the books behind the lane's back, and what `verify` has to say about it. */
export interface Tampering {
  readonly title: string;
  /** SQL in which `:name` stands for the id of that name. */
  readonly sql: string;
  /** "check: record message", with names for ids. */
  readonly findings: readonly string[];
}
