/**
 * The demo's command, as the reader would type it. npm's variables tell how this program was started: by npx, by a script
 * of the checkout, by one of another project, or without npm.
 */
export function demoCommand({ npm_command: command, npm_package_name: project }: NpmVariables): string {
  if (command === undefined) return "parbook demo";
  return command !== "exec" && project === "parbook" ? "npm run demo" : "npx parbook demo";
}

type NpmVariables = Readonly<Partial<Record<"npm_command" | "npm_package_name", string>>>;
