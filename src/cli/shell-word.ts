/** A word of a command that is printed to be pasted into a shell: in quotes if the shell would take it for something else. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
