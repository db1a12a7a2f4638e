/** For the tests, which are checked. */
export interface Network {
  readonly ours: string;
  readonly theirs: string;
  readonly ours6: string;
  readonly wide6: string;
  readonly command: (...words: string[]) => string[];
  readonly remove: () => void;
}
export function whyNoNetwork(): string | undefined;
export function makeNetwork(): Network;
