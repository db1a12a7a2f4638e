/** The keys that sign access tokens. A running service follows what is done here within seconds. */
import type { Command } from "commander";
import type { SigningKey, SigningKeys } from "../../oauth/keys/signing-keys.ts";
import { createSigningKeys } from "../../oauth/oauth.ts";
import { warnOfClearKeys } from "../../service/core.ts";
import { type ComparedClock, formatInstant } from "../../std/clock.ts";
import { readText } from "../arguments.ts";
import { type Answer, addCommand, addGroup, answering, CommandRejected, withFoundation } from "../command.ts";
import { table } from "../terminal.ts";

export function addKeyCommands(program: Command): void {
  const key = addGroup(program, "key", "what signs access tokens");
  const rotate = addCommand(key, "rotate", {
    summary: "sign with a new key; the former verifies until its last token has expired",
    examples: ["key rotate"],
  });
  answering(rotate, () => withKeys(rotateKey));

  const revoke = addCommand(key, "revoke", {
    summary: "end a key and all tokens that it has signed, within 5 s on every node: for a key in wrong hands",
    examples: ["key revoke --kid uNq2kV1nLZ0q7o6Yp0d8mJmV3Z1c2QbJw9T4h5xKcEo"],
  }).requiredOption("--kid <kid>", "which: see key list", readText);
  answering(revoke, ({ kid }: { kid: string }) => withKeys((keys, clock) => revokeKey(keys, clock, kid)));

  const list = addCommand(key, "list", { summary: "list the keys whose tokens are valid", examples: ["key list"] });
  answering(list, () => withKeys(async (keys) => listed(keys)));
}

function withKeys(work: (keys: SigningKeys, clock: ComparedClock) => Promise<Answer>): Promise<Answer> {
  return withFoundation(async ({ database, clock, log }, config) => {
    warnOfClearKeys(config, log);
    const keys = createSigningKeys(database, clock, config.signingKeys);
    await keys.read();
    return work(keys, clock);
  });
}

async function rotateKey(keys: SigningKeys): Promise<Answer> {
  const kid = await keys.rotate();
  return { json: { kid }, prose: [`key ${kid} signs in ten seconds`] };
}

/** Not refused for a clock that is wrong: the key is in wrong hands now. */
async function revokeKey(keys: SigningKeys, clock: ComparedClock, kid: string): Promise<Answer> {
  if ((await keys.revoke(kid)) === "key_not_found") throw new CommandRejected(`key not found: ${kid}`);
  const { fault } = clock;
  const next =
    fault === undefined ? [] : [`${fault}: if it was the current key, a node whose clock is right makes the next`];
  return { json: { kid, revoked: true }, prose: [`key ${kid} is revoked, and so are its tokens`, ...next] };
}

function listed(keys: SigningKeys): Answer {
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
