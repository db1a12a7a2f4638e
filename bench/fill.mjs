/** Fills the database of the long form, in the server's process and through the lane, so that `parbook verify` passes. */
import { amountOf } from "../dist/money/amount.js";

const CALLER = { operator: "bench", operation: "fill" };
/** Below the admission limit of one customer. */
const AT_ONCE = 1_000;
/** One order trades with at most a thousand others. */
const MADE_FOR_A_TAKER = 500;

const FILLS = {
  profiles: fillProfiles,
  transfers: fillTransfers,
  executions: fillExecutions,
  withdrawals: fillWithdrawals,
};

export const fill = (service, { kind, ...wanted }) => FILLS[kind](service, wanted);

/** Profiles with a USD balance each. */
function fillProfiles({ core, transfers }, { customerId, count, amount, tag }) {
  return someAtOnce(count, async (number) => {
    const request = { customerId, nickname: `bench ${tag}-${number}`, description: undefined };
    const { value } = done(await core.profiles.create(request, CALLER));
    const deposit = { asset: "USD", amount: amountOf(amount), direction: "CREDIT", type: "WIRE_DEPOSIT", details: {} };
    done(await transfers.recordExternal({ customerId, profileId: value.id, ...deposit, opening: true }, CALLER));
    return value.id;
  });
}

/** Transfers between random profiles. */
async function fillTransfers({ transfers }, { customerId, profiles, count, tag }) {
  const pick = () => Math.floor(Math.random() * profiles.length);
  await someAtOnce(count, async (number) => {
    const from = pick();
    const to = (from + 1 + Math.floor(Math.random() * (profiles.length - 1))) % profiles.length;
    const what = { asset: "USD", amount: amountOf("0.01"), refId: `${tag}-${number}` };
    const sides = {
      from: { profileId: profiles[from], metadata: { purpose: "bench" } },
      to: { profileId: profiles[to] },
    };
    done(await transfers.move({ customerId, kind: "platform", ...sides, ...what }, CALLER));
  });
}

/** Withdrawals that take all their steps; one in four comes back. */
async function fillWithdrawals({ transfers }, { customerId, profiles, count, tag }) {
  const what = { asset: "USD", amount: amountOf("0.01"), direction: "DEBIT", type: "WIRE_WITHDRAWAL", details: {} };
  await someAtOnce(count, async (number) => {
    const profileId = profiles[Math.floor(Math.random() * profiles.length)];
    const request = { customerId, profileId, ...what, refId: `${tag}-${number}`, hasSteps: true };
    const { id } = done(await transfers.recordExternal(request, CALLER)).value;
    const end = Math.random() < 0.25 ? { to: "failed", reason: "it came back" } : { to: "completed" };
    for (const step of [{ to: "approved" }, { to: "sent" }, end])
      done(await transfers.step(customerId, id, step, CALLER));
  });
}

/** Sells that rest, and for each few hundred of them a buy that takes them all: two executions for each sell. */
async function fillExecutions({ exchange }, { seller, buyer, market, count }) {
  const price = { amount: amountOf("100"), isExact: true };
  const order = { market, type: "LIMIT", timeInForce: "GTC", price };
  const place = async ({ customerId, profileId }, side, amount) =>
    done(await exchange.place({ ...order, customerId, profileId, side, baseAmount: amountOf(amount) }, CALLER));
  const sells = Math.ceil(count / 2);
  let placed = 0;
  const trade = async () => {
    while (placed < sells) {
      placed += MADE_FOR_A_TAKER;
      await Promise.all(Array.from({ length: MADE_FOR_A_TAKER }, () => place(seller, "SELL", "0.001")));
      const { value } = await place(buyer, "BUY", String(MADE_FOR_A_TAKER / 1_000));
      await exchange.untilClosed(value, 10_000, new AbortController().signal);
    }
  };
  // While one of them waits for its match the other places.
  await Promise.all([trade(), trade()]);
}

/** With a fixed concurrency. */
async function someAtOnce(count, one) {
  const results = [];
  let begun = 0;
  const work = async () => {
    while (begun < count) {
      const number = begun++;
      results[number] = await one(number);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return results;
}

function done(outcome) {
  if (outcome.kind !== "done") throw new Error(`command failed: ${JSON.stringify(outcome)}`);
  return outcome;
}
