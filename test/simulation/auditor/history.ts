/** The values that something had, each with the time of its beginning. */
export class History<Value> {
  readonly #states: { readonly at: number; readonly value: Value }[] = [];

  add(at: number, value: Value): void {
    this.#states.push({ at, value });
  }

  get now(): Value | undefined {
    return this.#states.at(-1)?.value;
  }

  /** All values between two times; undefined is the time before the first. */
  between(from: number, to: number): (Value | undefined)[] {
    const values: (Value | undefined)[] = [];
    let begins = Number.NEGATIVE_INFINITY;
    let value: Value | undefined;
    for (const next of [...this.#states, { at: Number.POSITIVE_INFINITY, value: undefined }]) {
      if (next.at >= from && begins <= to) values.push(value);
      ({ at: begins, value } = next);
    }
    return values;
  }
}

/** The history of this name, empty at first. */
export function historyOf<Value>(all: Map<string, History<Value>>, name: string): History<Value> {
  const history = all.get(name) ?? new History<Value>();
  all.set(name, history);
  return history;
}
