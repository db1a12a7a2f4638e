/** Reads the text of a setting; `absent` is its default. */
export interface Setting<Value> {
  readonly absent: Value;
  readonly read: (text: string) => Value | InvalidValue;
}

/** The rule that a value breaks, as a sentence without its subject. */
export class InvalidValue {
  readonly rule: string;
  constructor(rule: string) {
    this.rule = rule;
  }
}
