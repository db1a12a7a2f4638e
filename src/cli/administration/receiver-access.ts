/** The file of `--receiver-access`, whose secret no command line shows. */
import type { SentWebhook } from "../../api/routes/webhooks/webhook-body.ts";
import { WrongUsage } from "../command.ts";
import { readInputFile } from "../input-file.ts";

const ACCESS_FIELDS = ["type", "header", "token_url", "client_id", "scope", "secret"];

/** From a file: a command line is seen by everybody on the machine. An empty object removes what there is, and nothing else does. */
export async function accessIn(
  path: string | undefined,
): Promise<{ receiver_access?: SentWebhook["receiver_access"] | undefined }> {
  if (path === undefined) return {};
  const access = objectIn((await readInputFile(path)).toString());
  const isKnown = Object.entries(access ?? {}).every(
    ([name, value]) => ACCESS_FIELDS.includes(name) && typeof value === "string",
  );
  const isOfType = access && (["API_KEY", "OAUTH"].includes(String(access.type)) || Object.keys(access).length === 0);
  if (!isKnown || !isOfType)
    throw new WrongUsage(
      `--receiver-access has a JSON object with a type, API_KEY or OAUTH, and texts of ${ACCESS_FIELDS.slice(1).join(", ")}`,
    );
  return { receiver_access: access.type === undefined ? undefined : (access as SentWebhook["receiver_access"]) };
}

/** @returns undefined if it is JSON, but no object */
function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    // The message of the error would show the secret.
    throw new WrongUsage("--receiver-access is not a JSON file");
  }
}
