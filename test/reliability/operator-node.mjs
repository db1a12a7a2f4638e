/**
 * An operator's commands in a process of their own, with a lane of its own, on the database of the settings: a message for
 * each command and one for its outcome, in the words of the wire, until it is killed. `operator-node.mjs <name>`
 */
import { prepare } from "../../scripts/prepare.mjs";

await prepare();
const { transferBody } = await import("../../dist/api/routes/transfer-record.js");
const { readConfig } = await import("../../dist/service/config/config.js");
const { Unavailable } = await import("../../dist/ledger/decision.js");
const { createLegalHolds } = await import("../../dist/customers/legal-holds/legal-holds.js");
const { findLegalHold } = await import("../../dist/customers/legal-holds/store.js");
const { amountOf, formatAmount } = await import("../../dist/money/amount.js");
const { DatabaseAway, isTimeout } = await import("../../dist/postgres/database.js");
const { openCore } = await import("../../dist/service/core.js");
const { createLogger } = await import("../../dist/service/logger.js");
const { ClockFault } = await import("../../dist/std/clock.js");
const { createTransfers } = await import("../../dist/transfers/transfers.js");

const [operator] = process.argv.slice(2);
const config = readConfig(process.env);
const core = await openCore(config, "command", createLogger(config, 2));
const [transfers, legalHolds] = [createTransfers(core), createLegalHolds(core)];

const COMMANDS = {
  request: async ({ amount, ...request }) => {
    const wanted = { ...request, amount: amountOf(amount), hasSteps: true };
    const outcome = await transfers.recordExternal(wanted, { operator, operation: "request" });
    if (outcome.kind === "rejected") return outcome;
    const { customerId } = request;
    const record = outcome.kind === "done" ? outcome.value : await transfers.find(customerId, outcome.id);
    return { kind: outcome.kind, record: record && transferBody(record) };
  },
  step: async ({ customerId, id, step }) => {
    const outcome = await transfers.step(customerId, id, step, { operator, operation: `transfer ${step.to}` });
    return outcome.kind === "rejected" ? outcome : { kind: "done", record: transferBody(outcome.value) };
  },
  place: async ({ amount, ...request }) => {
    const wanted = { ...request, amount: amountOf(amount) };
    const outcome = await legalHolds.place(wanted, { operator, operation: "hold place" });
    if (outcome.kind === "rejected") return outcome;
    const { profileId } = request;
    const hold = outcome.kind === "done" ? outcome.value : await findLegalHold(core.database, profileId, outcome.id);
    return { kind: outcome.kind, record: hold && holdBody(hold) };
  },
  lift: async ({ profileId, id }) => {
    const outcome = await legalHolds.lift(profileId, id, { operator, operation: "hold lift" });
    return outcome.kind === "rejected" ? outcome : { kind: "done", record: holdBody(outcome.value) };
  },
};

const holdBody = ({ id, profileId, asset, amount, refId, reason, placedBy, liftedBy }) => ({
  ...{ id, profile_id: profileId, asset, amount: formatAmount(amount), ref_id: refId, reason, placed_by: placedBy },
  ...(liftedBy === undefined ? { status: "HELD" } : { status: "LIFTED", lifted_by: liftedBy }),
});

/** As the service, which responds to these with 503. */
const isFault = (error) =>
  error instanceof Unavailable || error instanceof ClockFault || error instanceof DatabaseAway || isTimeout(error);

process.on("message", async ({ number, command, details }) => {
  const answer = await COMMANDS[command](details).then(
    (outcome) => ({ outcome }),
    (error) => ({ fault: { isBug: !isFault(error), error: String(error?.stack) } }),
  );
  process.send({ number, ...answer });
});
process.send({ number: 0 });
