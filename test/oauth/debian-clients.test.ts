/**
 * The token endpoint, with clients outside of JavaScript: two libraries for Python as Debian packages them, and
 * curl by hand. Where one is missing its tests say so and are skipped, unless skipping is forbidden (`required`).
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { missingProgram, runs } from "../support/required.ts";
import { type ClientLibrary, type TokenRequest, type TokenResult, testClientLibraries } from "./client-library.ts";

/** Debian's own, which sees Debian's packages whatever else is called python3. */
const PYTHON = "/usr/bin/python3";
const PROGRAMS = new URL("programs/", import.meta.url);

testClientLibraries(
  {
    name: "requests-oauthlib",
    oneGrant: true,
    missing: pythonPackage("requests_oauthlib"),
    request: inPython("requests_oauthlib_client.py"),
  },
  {
    name: "authlib",
    statusHidesError: true,
    missing: pythonPackage("authlib"),
    request: inPython("authlib_client.py"),
  },
  { name: "curl -F", missing: missingProgram("curl"), request: byCurl("-F") },
  { name: "curl --data-urlencode", missing: missingProgram("curl"), request: byCurl("--data-urlencode") },
);

function inPython(file: string): ClientLibrary["request"] {
  return async (authUrl, requests) =>
    JSON.parse(
      await outputOf(PYTHON, [fileURLToPath(new URL(file, PROGRAMS))], JSON.stringify({ authUrl, requests })),
    ) as TokenResult[];
}

/** The form as curl makes it of one option for each field; `-u` puts the credentials into the header as they are. */
function byCurl(option: "-F" | "--data-urlencode"): ClientLibrary["request"] {
  return async (authUrl, requests) => {
    const results: TokenResult[] = [];
    for (const each of requests) {
      const fields = Object.entries(fieldsOf(each)).flatMap(([name, value]) => [option, `${name}=${value}`]);
      const basic = each.way === "basic" ? ["-u", `${each.clientId}:${each.secret}`] : [];
      const answer = await outputOf("curl", [
        "--silent",
        "--show-error",
        ...basic,
        ...fields,
        `${authUrl}/oauth2/token`,
      ]);
      results.push(understood(JSON.parse(answer) as Record<string, string>));
    }
    return results;
  };
}

function fieldsOf({
  way,
  clientId,
  secret,
  scope,
  grantType = "client_credentials",
}: TokenRequest): Record<string, string> {
  return {
    grant_type: grantType,
    ...(way === "body" ? { client_id: clientId, client_secret: secret } : {}),
    ...(scope === undefined ? {} : { scope }),
  };
}

function understood({ error, error_description, ...body }: Readonly<Record<string, string>>): TokenResult {
  if (error !== undefined) return { error, description: error_description };
  const { access_token = "", token_type = "", scope = "", expires_in } = body;
  return { token: access_token, type: token_type, scope, expiresIn: Number(expires_in) };
}

function outputOf(program: string, args: readonly string[], input = ""): Promise<string> {
  return new Promise((resolve, reject) => {
    // oauthlib refuses addresses without TLS unless it is told that this is a test.
    const env = { ...process.env, OAUTHLIB_INSECURE_TRANSPORT: "1" };
    const child = execFile(program, args, { env, timeout: 60_000 }, (error, stdout) =>
      error === null ? resolve(stdout) : reject(error),
    );
    child.stdin?.end(input);
  });
}

function pythonPackage(name: string): string | undefined {
  return runs(PYTHON, "-c", `import ${name}`) ? undefined : `${PYTHON} has no ${name}`;
}
