/** Orders over HTTP against the whole service, for tests that read like the story of a market. */
import { expect } from "vitest";
import type { TestCustomer, TestService } from "../service.ts";
import { until } from "../until.ts";

/** An order as it is sent, without what is the same for the whole story. */
export type Fields = Readonly<Record<string, string | number>>;

/** An order as GET answers it. */
export interface Told {
  readonly id: string;
  readonly status: string;
  readonly amount_filled: string;
  readonly volume_weighted_average_price: string;
  readonly is_triggered: boolean;
  readonly reject_reason?: string;
  readonly modified_at: string;
  readonly expiration_date?: string;
}

/** Somebody with one profile and one market to trade on. */
export class Desk {
  readonly service: TestService;
  readonly customer: TestCustomer;
  readonly profileId: string;
  readonly market: string;

  constructor(service: TestService, customer: TestCustomer, profileId: string, market: string) {
    this.service = service;
    this.customer = customer;
    this.profileId = profileId;
    this.market = market;
  }

  /** `of`: a desk of somebody whose customer this one is, too. */
  static async open(
    service: TestService,
    market: string,
    balances: Readonly<Record<string, string>>,
    of?: Desk,
  ): Promise<Desk> {
    const customer = of?.customer ?? (await service.customer());
    return new Desk(service, customer, await service.profile(customer, balances), market);
  }

  send(order: Fields) {
    const path = `/v2/profiles/${this.profileId}/orders`;
    return this.service.call("POST", path, { as: this.customer.token, body: { market: this.market, ...order } });
  }

  /** Places an order, which has to be stored, and waits until the engine has dealt with it. */
  async place(order: Fields): Promise<Told> {
    const { status, body } = await this.send(order);
    expect([status, body], JSON.stringify(order)).toEqual([200, expect.objectContaining({ market: this.market })]);
    return this.received(body.id, ({ status: now }) => now !== "PENDING_SUBMISSION");
  }

  /** The order, when it is as it has to be. */
  async received(id: string, is: (order: Told) => boolean = () => true): Promise<Told> {
    const path = `/v2/profiles/${this.profileId}/orders/${id}`;
    let order: Told | undefined;
    await until(`order ${id} is as expected`, async () => {
      order = (await this.service.call("GET", path, { as: this.customer.token })).body as Told;
      return is(order);
    });
    return order as Told;
  }

  closed(id: string): Promise<Told> {
    return this.received(
      id,
      ({ status }) => status !== "OPEN" && status !== "SUBMITTED" && status !== "PENDING_SUBMISSION",
    );
  }

  cancel(id: string) {
    return this.service.call("DELETE", `/v2/profiles/${this.profileId}/orders/${id}`, { as: this.customer.token });
  }

  /** "available/trading". */
  async balance(asset: string): Promise<string> {
    const path = `/v2/profiles/${this.profileId}/balances/${asset}`;
    const { body } = await this.service.call("GET", path, { as: this.customer.token });
    return `${body.available}/${body.trading}`;
  }
}

export const limit = (side: string, base_amount: string, price: string, more: Fields = {}): Fields => ({
  type: "LIMIT",
  side,
  base_amount,
  price,
  ...more,
});

/** Two who trade with each other, with money enough for both sides of a market for USD. */
export async function openPair(
  service: TestService,
  market: string,
  base: string,
): Promise<[maker: Desk, taker: Desk]> {
  const money = { USD: "1000000", [base]: "1000" };
  return [await Desk.open(service, market, money), await Desk.open(service, market, money)];
}

/** How an order ended, in a line: "FILLED 2 at 100.5 triggered". */
export function tell({
  status,
  amount_filled,
  volume_weighted_average_price,
  is_triggered,
  reject_reason,
}: Told): string {
  const filled = amount_filled === "0" ? "" : ` ${amount_filled} at ${volume_weighted_average_price}`;
  const reason = reject_reason === undefined ? "" : ` ${reject_reason}`;
  return `${status}${filled}${is_triggered ? " triggered" : ""}${reason}`;
}
