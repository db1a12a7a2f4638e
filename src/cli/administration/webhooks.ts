/** `parbook webhook`: webhooks of customers, set and looked after by the operator. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { LONGEST_OVERLAP_MS } from "../../customers/webhooks/webhooks.ts";
import { readDuration, readEventNumber, readList, readPath, readText, readTime, readUuid } from "../arguments.ts";
import { addCommand, addGroup, type CommandResult, setAction, setWritingAction } from "../command.ts";
import { CUSTOMER_OPTION } from "./customers.ts";

const DAY_MS = 86_400_000;
const CUSTOMER = "--customer Acme";
const WEBHOOK = "0190d5a4-2222-7000-8000-000000000001";

/** What the commands do. It needs the words of the API, which take longer to load than everything else. */
const actions = () => import("./webhook-actions.ts");

type Actions = Awaited<ReturnType<typeof actions>>;

const of =
  <Given extends unknown[]>(pick: (all: Actions) => (...given: Given) => Promise<CommandResult>) =>
  async (...given: Given): Promise<CommandResult> =>
    pick(await actions())(...given);

const create = of((all) => all.create);
const listOf = of((all) => all.listOf);
const show = of((all) => all.show);
const update = of((all) => all.update);
const remove = of((all) => all.remove);
const rotate = of((all) => all.rotate);
const test = of((all) => all.test);
const replay = of((all) => all.replay);
const enable = of((all) => all.enable);
const disable = of((all) => all.disable);
const attempts = of((all) => all.attempts);

export function addWebhookCommands(program: Command): void {
  const webhook = addGroup(program, "webhook", "webhooks, which post a customer's events to its receivers");
  const creating = settings(
    addCommand(webhook, "create", {
      summary: "create a webhook; its signing secret is shown once",
      examples: [`webhook create ${CUSTOMER} --name books --url https://acme.example/events --types 'transfer.*'`],
    }),
  );
  setWritingAction(creating, create);

  const list = ofCustomer(
    addCommand(webhook, "list", {
      summary: "list the webhooks of a customer, including disabled ones",
      examples: [`webhook list ${CUSTOMER}`],
    }),
  );
  setAction(list, listOf);

  setAction(one(webhook, "show", "show a webhook"), show);
  const updating = settings(
    one(webhook, "update", "change what is given of a webhook", "--url https://acme.example/new"),
  );
  setWritingAction(updating, update);
  setWritingAction(one(webhook, "delete", "delete a webhook for good"), remove);

  const rotating = one(webhook, "rotate-secret", "give a webhook new secrets to sign with", "--overlap 24h").addOption(
    new Option("--overlap <time>", "how long the former ones sign too, e.g. 24h, 7d or 0")
      .argParser(readOverlap)
      .default(DAY_MS, "24h"),
  );
  setWritingAction(rotating, rotate);

  setWritingAction(one(webhook, "test", "post a signed test event at once"), test);
  const replaying = one(webhook, "replay", "deliver events again", "--from-number 4711")
    .option("--from-number <number>", "the event of this number and all after it", readEventNumber)
    .option("--from-time <time>", "the first event of this time or later, and all after it", readTime)
    .option("--only-undelivered", "what waits for its next attempt or was given up, up to a thousand events");
  setWritingAction(replaying, replay);

  const enabling = one(webhook, "enable", "deliver again", "--from where-it-stood").addOption(
    new Option("--from <place>", "where it goes on; from now, only what was tried and failed counts as undelivered")
      .choices(["where-it-stood", "now"])
      .makeOptionMandatory(),
  );
  setWritingAction(enabling, enable);
  setWritingAction(one(webhook, "disable", "deliver nothing more until it is enabled"), disable);
  setAction(one(webhook, "attempts", "list what was posted and what was answered, the latest first"), attempts);
}

function ofCustomer(command: Command): Command {
  return command.requiredOption(...CUSTOMER_OPTION);
}

function one(group: Command, name: string, summary: string, example = ""): Command {
  const examples = [`webhook ${name} ${WEBHOOK} ${CUSTOMER} ${example}`.trim()];
  return ofCustomer(addCommand(group, name, { summary, examples }).argument("<id>", "the webhook's id", readUuid));
}

function settings(command: Command): Command {
  const isNew = command.name() === "create";
  const must = (option: Option): Option => (isNew ? option.makeOptionMandatory() : option);
  return (isNew ? ofCustomer(command) : command)
    .addOption(
      must(new Option("--name <name>", "unique among the customer's, 1 to 100 characters").argParser(readText)),
    )
    .addOption(must(new Option("--url <url>", "where events are posted to")))
    .addOption(
      must(
        new Option("--types <list>", "comma-separated types, e.g. order.filled or transfer.*, or * for all").argParser(
          readList,
        ),
      ),
    )
    .addOption(new Option("--body <form>", "thin, or full: with the object (default: thin)").choices(["thin", "full"]))
    .addOption(
      new Option("--order <order>", "of deliveries (default: per_object)").choices(["per_object", "strict", "any"]),
    )
    .addOption(new Option("--per-second <number>", "deliveries a second, 1 to 100 (default: 10)").argParser(readRate))
    .option(
      "--receiver-access <file>",
      "a JSON file with what the API has as receiver_access, and its secret; {} for the signature alone",
      readPath,
    );
}

function readRate(text: string): number {
  if (/^[0-9]{1,3}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Must be a whole number from 1 to 100.");
}

function readOverlap(text: string): number {
  const overlapMs = readDuration(text);
  if (overlapMs <= LONGEST_OVERLAP_MS) return overlapMs;
  throw new InvalidArgumentError("Must be at most 7d.");
}
