/**
 * What a customer has in the walk: one of everything that has an id or a name, and two of everything that is listed,
 * so that its lists have a second page.
 */

import { ORDER_ANNOTATIONS } from "../../src/exchange/order.ts";
import { type AnnotationDescriptions, ofSide } from "../../src/ledger/annotations.ts";
import { TRANSFER_ANNOTATIONS } from "../../src/transfers/transfer.ts";
import { TESTER } from "../support/movements.ts";
import { unwrap } from "../support/results.ts";
import type { TestCustomer, TestService } from "../support/service.ts";

/** Each kind of thing by its id or name. The walk sends every one of these to every input that takes an id. */
export interface Belongings {
  readonly customer: string;
  /** Which the customer does not call with. */
  readonly client: string;
  readonly profile: string;
  readonly spareProfile: string;
  readonly defaultProfile: string;
  readonly openOrder: string;
  readonly filledOrder: string;
  readonly transfer: string;
  readonly internalTransfer: string;
  readonly conversion: string;
  readonly cancelledConversion: string;
  readonly execution: string;
  readonly event: string;
  readonly webhook: string;
  readonly spareWebhook: string;
  readonly transaction: string;
  readonly transferRef: string;
  readonly conversionRef: string;
  readonly orderRef: string;
  readonly identity: string;
  readonly account: string;
  readonly nickname: string;
}

export interface Owner extends TestCustomer {
  readonly has: Belongings;
}

/** The same text in each annotation that is a text, by its field. */
const annotated = (described: AnnotationDescriptions, text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.values(described).flatMap(({ kind, name }) => (kind === "text" ? [[name, text]] : [])));

/** A customer with one of everything. `maker` is a profile with orders on the book, and its token. */
export async function ownerOfEverything(
  service: TestService,
  name: string,
  maker: { readonly profile: string; readonly token: string },
): Promise<Owner> {
  const customer = await service.customer(name);
  const as = customer.token;
  const send = async (method: string, path: string, body?: unknown) => {
    const answer = await service.call(method, path, { as, body });
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const nickname = `${name}'s nickname`;
  const [identity, account] = [`${name}'s identity`, `${name}'s account`];
  const profile = await service.profile(customer, { USD: "1000000", BTC: "10" });
  const spareProfile = (await send("POST", "/v2/profiles", { nickname })).id;

  const move = { from_profile_id: profile, amount: "5", asset: "USD", metadata: { of: name } };
  const people = { ...annotated(ofSide("from_", TRANSFER_ANNOTATIONS), account), from_identity_id: identity };
  const transferRef = `${name}'s transfer`;
  const transfer = await send("POST", "/v2/transfer/platform", {
    ...{ ...move, ...people, to_profile_id: maker.profile, ref_id: transferRef },
  });
  const internal = await send("POST", "/v2/transfer/internal", {
    ...move,
    ...people,
    to_profile_id: customer.defaultProfile,
  });

  const deposit = await send("POST", `/v2/sandbox/profiles/${profile}/deposit`, { asset: "USDG", amount: "3" });
  const { crypto_tx_hash: transaction } = await send("GET", `/v2/transfer/transfers/${deposit.activity_id}`);

  const mint = { profile_id: profile, amount: "7", source_asset: "USD", target_asset: "USDG" };
  const conversionRef = `${name}'s conversion`;
  const conversion = await send("POST", "/v2/conversion/stablecoins", { ...mint, ref_id: conversionRef });
  const cancelled = await send("POST", "/v2/conversion/stablecoins", mint);
  await send("DELETE", `/v2/conversion/stablecoins/${cancelled.id}`);

  const orderRef = `${name}'s order`;
  const orders = `/v2/profiles/${profile}/orders`;
  const buy = { side: "BUY", market: "BTCUSD", type: "LIMIT", base_amount: "0.01" };
  const traded = { ...buy, price: "25000", await_fill_millis: 10_000 };
  const open = await send("POST", orders, { ...buy, price: "20000", ref_id: orderRef });
  await send("POST", orders, traded);
  const filled = await send("POST", orders, {
    ...{ ...traded, ...annotated(ORDER_ANNOTATIONS, account), identity_id: identity },
  });
  const executions = await send("GET", `/v2/executions?order_id=${filled.id}`);
  const { clientId: client } = unwrap(
    await service.service.core.clients.create({ customerId: customer.id, scopes: ["*"] }, TESTER),
  );
  const hook = { url: "http://127.0.0.1:9/", types: ["*"] };
  const webhook = await send("POST", "/v2/webhooks", { ...hook, name: `${name}'s webhook` });
  const spareWebhook = await send("POST", "/v2/webhooks", { ...hook, name: `${name}'s other webhook` });
  for (const { id } of [webhook, spareWebhook]) await send("POST", `/v2/webhooks/${id}/disable`);
  for (let i = 0; i < 2; i += 1) await send("POST", `/v2/webhooks/${webhook.id}/test`);
  const { events } = await send("GET", "/v2/events?limit=1&wait_millis=30000");
  return {
    ...customer,
    has: {
      customer: customer.id,
      client,
      profile,
      spareProfile,
      defaultProfile: customer.defaultProfile,
      openOrder: open.id,
      filledOrder: filled.id,
      transfer: transfer.id,
      internalTransfer: internal.id,
      conversion: conversion.id,
      cancelledConversion: cancelled.id,
      execution: executions.items[0].execution_id,
      event: events[0].id,
      webhook: webhook.id,
      spareWebhook: spareWebhook.id,
      ...{ transaction, transferRef, conversionRef, orderRef, identity, account, nickname },
    },
  };
}

/** Somebody who sells, so that the others' orders can be filled. */
export async function makerOf(service: TestService): Promise<{ profile: string; token: string }> {
  const customer = await service.customer("maker");
  const profile = await service.profile(customer, { BTC: "10" });
  const body = { side: "SELL", market: "BTCUSD", type: "LIMIT", base_amount: "5", price: "25000" };
  const answer = await service.call("POST", `/v2/profiles/${profile}/orders`, { as: customer.token, body });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return { profile, token: customer.token };
}
