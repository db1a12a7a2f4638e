import type { Command } from "commander";

/**
 * Commander takes the last of an option that is given twice, without a word. An amount that is given twice is one that
 * nobody can be sure of, so options that have one value are taken once.
 */
export function refuseRepeatedOptions(command: Command): void {
  for (const option of command.options) {
    // A flag says the same however often it is there.
    if (option.isBoolean() || option.variadic) continue;
    let given = 0;
    command.on(`option:${option.name()}`, () => {
      given += 1;
      if (given === 1) return;
      command.error(`error: option '${option.flags}' is given more than once, and has one value`, {
        code: "parbook.repeatedOption",
      });
    });
  }
  for (const below of command.commands) refuseRepeatedOptions(below);
}
