/** What something was, and from when on. */
export class History<Value> {
  readonly #states: { readonly at: number; readonly value: Value }[] = [];

  add(at: number, value: Value): void {
    this.#states.push({ at, value });
  }

  get now(): Value | undefined {
    return this.#states.at(-1)?.value;
  }

  /** All that it was between two moments; undefined stands for the time before the first state. */
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

/** The history of this name, which begins when it is first asked for. */
export function historyOf<Value>(all: Map<string, History<Value>>, name: string): History<Value> {
  const history = all.get(name) ?? new History<Value>();
  all.set(name, history);
  return history;
}
