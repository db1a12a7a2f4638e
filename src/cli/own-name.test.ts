import { expect, test } from "vitest";
import { demoCommand } from "./own-name.ts";

test.each([
  ["parbook demo", {}],
  ["npx parbook demo", { npm_command: "exec" }],
  ["npm run demo", { npm_command: "start", npm_package_name: "parbook" }],
  ["npm run demo", { npm_command: "run-script", npm_package_name: "parbook" }],
  ["npx parbook demo", { npm_command: "exec", npm_package_name: "parbook" }],
  ["npx parbook demo", { npm_command: "start", npm_package_name: "shop" }],
])("the reader is told to type %s when the program was started with %o", (command, variables) => {
  expect(demoCommand(variables)).toBe(command);
});
