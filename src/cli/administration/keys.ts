/** `parbook key`: the keys that sign access tokens. Running services pick up changes within seconds. */
import type { Command } from "commander";
import type { Webhooks } from "../../customers/webhooks/webhooks.ts";
import type { OperatorCaller } from "../../ledger/caller.ts";
import type { SigningKey, SigningKeys } from "../../oauth/keys/signing-keys.ts";
import type { Config } from "../../service/config/config.ts";
import type { Foundation } from "../../service/core.ts";
import { judgeEncryptionKeys } from "../../service/doctor/examine-database.ts";
import { logFindings } from "../../service/doctor/log-findings.ts";
import { type ComparedClock, formatInstant } from "../../std/clock.ts";
import { readText } from "../arguments.ts";
import {
  addCommand,
  addGroup,
  CommandRejected,
  type CommandResult,
  setAction,
  setWritingAction,
  withConfiguration,
  withFoundation,
} from "../command.ts";
import { table } from "../terminal.ts";

export function addKeyCommands(program: Command): void {
  const key = addGroup(program, "key", "the keys that sign access tokens");
  const rotate = addCommand(key, "rotate", {
    summary:
      "sign with a new key; the previous one verifies until its last token has expired. Encrypts secrets of webhooks anew, if the encryption key has changed",
    examples: ["key rotate"],
  });
  setWritingAction(rotate, (operator) =>
    withKeys(withConfiguration, (keys, { webhooks }) => rotateKey(keys, webhooks, operator)),
  );

  const revoke = addCommand(key, "revoke", {
    summary: "revoke a compromised key and all tokens it has signed, within 5 s on every node",
    examples: ["key revoke --kid uNq2kV1nLZ0q7o6Yp0d8mJmV3Z1c2QbJw9T4h5xKcEo"],
  }).requiredOption("--kid <kid>", "the key id, from key list", readText);
  setWritingAction(revoke, (operator, { kid }: { kid: string }) =>
    withKeys(withConfiguration, (keys, { clock }) => revokeKey(keys, clock, kid, operator)),
  );

  const list = addCommand(key, "list", { summary: "list the keys whose tokens are valid", examples: ["key list"] });
  setAction(list, () => withKeys(withFoundation, async (keys) => listed(keys)));
}

function withKeys(
  within: typeof withConfiguration,
  work: (keys: SigningKeys, foundation: Foundation) => Promise<CommandResult>,
): Promise<CommandResult> {
  return within(async (foundation, config) => {
    if (config.mode === "production") logFindings(judgeEncryptionKeys(config), config, foundation.log);
    return work(await readSigningKeys(foundation, config), foundation);
  });
}

/**
 * Each command that encrypts a secret begins with it: what it encrypts with a key that the nodes lack, they cannot use.
 * @throws CannotDecrypt if PARBOOK_KEY_ENCRYPTION_KEY is not that of the nodes
 */
export async function readSigningKeys({ database, clock }: Foundation, config: Config): Promise<SigningKeys> {
  // Not imported above: it brings the token server with it, which other commands would wait for.
  const { createSigningKeys } = await import("../../oauth/oauth.ts");
  const keys = createSigningKeys(database, clock, config.signingKeys);
  await keys.read();
  return keys;
}

async function rotateKey(keys: SigningKeys, webhooks: Webhooks, operator: OperatorCaller): Promise<CommandResult> {
  const kid = await keys.rotate(operator);
  const { encrypted, unreadable } = await webhooks.encryptSecretsAnew();
  const prose = [`key ${kid} starts signing in ten seconds`];
  if (encrypted > 0) prose.push(`${encrypted} secrets of webhooks are encrypted anew`);
  if (unreadable > 0)
    prose.push(
      `${unreadable} secrets of webhooks are encrypted, and no key of PARBOOK_KEY_ENCRYPTION_KEY decrypts them`,
    );
  const secrets = { encrypted, unreadable };
  return { json: { kid, webhook_secrets: secrets }, prose, failed: unreadable > 0 };
}

/** Works even if the clock is wrong: a compromised key cannot wait. */
async function revokeKey(
  keys: SigningKeys,
  clock: ComparedClock,
  kid: string,
  operator: OperatorCaller,
): Promise<CommandResult> {
  if ((await keys.revoke(kid, operator)) === "key_not_found") throw new CommandRejected(`key not found: ${kid}`);
  const { fault } = clock;
  const next =
    fault === undefined
      ? []
      : [`${fault}: if this was the current key, a node with a correct clock will create the next one`];
  return { json: { kid, revoked: true }, prose: [`key ${kid} and its tokens are revoked`, ...next] };
}

function listed(keys: SigningKeys): CommandResult {
  const items = keys.list().map(keyRecord);
  const rows = items.map((item) => [item.kid, item.state, item.created_at, item.encrypted ? "yes" : "no"]);
  return { json: { items }, prose: table(["kid", "state", "created", "encrypted"], rows) };
}

function keyRecord({ kid, createdAt, retiredAt, encrypted }: SigningKey) {
  return {
    kid,
    state: retiredAt === undefined ? "current" : "retired",
    created_at: formatInstant(createdAt),
    retired_at: retiredAt && formatInstant(retiredAt),
    encrypted,
  };
}
