import type { Command } from "commander";

/**
 * Rejects a single-value option that is given twice. Commander would silently use the last, and with an amount that is
 * too dangerous.
 */
export function rejectRepeatedOptions(command: Command): void {
  for (const option of command.options) {
    // Repeating a flag does no harm.
    if (option.isBoolean() || option.variadic) continue;
    let given = 0;
    command.on(`option:${option.name()}`, () => {
      given += 1;
      if (given === 1) return;
      command.error(`error: option '${option.flags}' may be given only once`, {
        code: "parbook.repeatedOption",
      });
    });
  }
  for (const below of command.commands) rejectRepeatedOptions(below);
}
