/** One of each type of event, made over the API, for tests and for the examples of docs/events.md. */
import type { MarketCode } from "../../src/catalogue/market.ts";
import { haltMarket, resumeMarket } from "../../src/exchange/market-status/halt.ts";
import { TESTER } from "../support/movements.ts";
import { unwrap } from "../support/results.ts";
import type { TestCustomer, TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

// biome-ignore lint/suspicious/noExplicitAny: a body of any kind
type Body = any;

/** Calls as a customer, which have to succeed. */
export function callerAs(service: TestService, { token }: TestCustomer) {
  return async (method: string, path: string, body?: unknown): Promise<Body> => {
    const answer = await service.call(method, path, { as: token, body });
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
}

/** All events of a customer once there are none behind them, and these types are among them. */
export async function eventsOf(
  service: TestService,
  customer: TestCustomer,
  types: readonly string[] = [],
): Promise<Body[]> {
  const get = callerAs(service, customer);
  const events: Body[] = [];
  await until(`there are events of ${types.join(", ")}`, async () => {
    const page = await get("GET", `/v2/events?after_number=${events.at(-1)?.number ?? 0}`);
    events.push(...page.events);
    return page.events.length === 0 && types.every((type) => events.some((event) => event.type === type));
  });
  return events;
}

/** A customer to whom everything happens that the API can bring about. */
export async function eventfulCustomer(service: TestService): Promise<TestCustomer> {
  const customer = await service.customer("Acme");
  const send = callerAs(service, customer);
  const other = await service.customer("Other");
  const desk = await service.profile(customer, { USD: "100000", BTC: "10" });
  const { id: spare } = await send("POST", "/v2/profiles", { nickname: "spare" });
  await send("PUT", `/v2/profiles/${spare}`, { description: "for later" });
  await send("PUT", `/v2/profiles/${spare}/deactivate`);
  await send("POST", `/v2/sandbox/profiles/${spare}/deposit`, { asset: "USD", amount: "10" });
  const move = { from_profile_id: desk, amount: "5", asset: "USD" };
  await send("POST", "/v2/transfer/internal", { ...move, to_profile_id: spare, ref_id: "internal" });
  await send("POST", "/v2/transfer/platform", { ...move, to_profile_id: other.defaultProfile, ref_id: "payout" });
  const mint = { profile_id: desk, amount: "7", source_asset: "USD", target_asset: "USDG" };
  await send("POST", "/v2/conversion/stablecoins", mint);
  const { id: undone } = await send("POST", "/v2/conversion/stablecoins", mint);
  await send("DELETE", `/v2/conversion/stablecoins/${undone}`);
  const orders = `/v2/profiles/${desk}/orders`;
  const sell = { side: "SELL", market: "BTCUSD", type: "LIMIT", base_amount: "0.02", price: "25000" };
  const place = (fields: object) => send("POST", orders, { ...sell, ...fields });
  const isNow = (order: { id: string }, status: string) =>
    until(`the order is ${status}`, async () => (await send("GET", `${orders}/${order.id}`)).status === status);
  const bystander = await service.profile(other, { USD: "100000" });
  const buy = { side: "BUY", market: "BTCUSD", type: "LIMIT", price: "25000" };
  const buyAsOther = (amount: string) =>
    callerAs(service, other)("POST", `/v2/profiles/${bystander}/orders`, {
      ...buy,
      base_amount: amount,
      await_fill_millis: 10_000,
    });
  const offered = await place({});
  await isNow(offered, "OPEN");
  for (const change of [haltMarket, resumeMarket])
    unwrap(await service.service.core.lane.execute(change("BTCUSD" as MarketCode, TESTER)));
  const stop = await place({ type: "STOP_LIMIT", stop_price: "24000", price: "23000", base_amount: "0.01" });
  await isNow(stop, "SUBMITTED");
  await buyAsOther("0.01");
  await buyAsOther("0.01");
  await isNow(offered, "FILLED");
  await place({ type: "POST_ONLY_LIMIT", side: "BUY", price: "1" });
  const low = await place({ side: "BUY", price: "24000", base_amount: "0.01" });
  await isNow(low, "OPEN");
  const bid = { ...buy, price: "24000", base_amount: "0.01" };
  await send("DELETE", `${orders}/${low.id}`);
  await isNow(low, "CANCELLED");
  await callerAs(service, other)("POST", `/v2/profiles/${bystander}/orders`, bid);
  const sold = await place({ price: "24000", base_amount: "0.01" });
  await isNow(sold, "FILLED");
  await isNow(stop, "OPEN");
  await place({ side: "BUY", price: "1", identity_id: "of nobody's account" });
  return customer;
}
