/** A setting with its rule: reads its text, or says what is wrong with it. */
export interface Setting<Value> {
  readonly absent: Value;
  readonly read: (text: string) => Value | Wrong;
}

/** What a setting has to be, as the end of a sentence. */
export class Wrong {
  readonly rule: string;
  constructor(rule: string) {
    this.rule = rule;
  }
}
