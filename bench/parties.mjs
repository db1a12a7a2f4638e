/**
 * The test fixture of a run: a running service, with profiles and requests shared by several rows. Each is created on
 * first use.
 */
import { orderBody, transferBodies } from "./bodies.mjs";
import { requestTo } from "./load.mjs";
import { makeProfiles } from "./service.mjs";

const MARKET = "ETHUSD";
const PROFILES = 1_000;
const TRADERS = 100;
/** In the short form, where making them would take longer than measuring. */
const [FEW_PROFILES, FEW_TRADERS] = [200, 20];
const WAITED_FOR_MS = 60_000;

export class Parties {
  service;
  /** Fewer profiles, and no time is spent on looking for the best setting of what the service is compared with. */
  isShort;
  #made = new Map();

  constructor(service, isShort = false) {
    this.service = service;
    this.isShort = isShort;
  }

  get url() {
    return this.service.baseUrl;
  }

  /** The requests of transfers over a thousand profiles, sent to any path. */
  async transfers() {
    const profiles = await this.profiles();
    return this.transfersOf(profiles);
  }

  transfersOf(profiles) {
    const [customer] = this.service.customers;
    const bodies = transferBodies(profiles);
    return (path) => {
      const request = requestTo(this.url, "POST", path, customer.headers);
      return () => request(bodies());
    };
  }

  /** The requests of bulks over these profiles. */
  bulksOf(profiles, mode, items) {
    const [customer] = this.service.customers;
    const body = transferBodies(profiles);
    const request = requestTo(this.url, "POST", "/v2/transfer/platform/bulk", customer.headers);
    return () => request(`{"mode":"${mode}","items":[${Array.from({ length: items }, body).join(",")}]}`);
  }

  profiles() {
    const count = this.isShort ? FEW_PROFILES : PROFILES;
    return this.once("profiles", () => makeProfiles(this.service.customers[0], count, { USD: "100000" }));
  }

  /** The requests of orders: a sale and a purchase at the same price in turn, each in the next profile. */
  async orders() {
    const [seller, buyer] = this.service.customers;
    const count = this.isShort ? FEW_TRADERS : TRADERS;
    const sides = await this.once("traders", async () => [
      { side: "SELL", customer: seller, profiles: await makeProfiles(seller, count, { ETH: "1000000" }) },
      { side: "BUY", customer: buyer, profiles: await makeProfiles(buyer, count, { USD: "1000000" }) },
    ]);
    return (pathOf = (profile) => `/v2/profiles/${profile}/orders`) => {
      const made = sides.map(({ side, customer, profiles }) => ({
        side,
        requests: profiles.map((profile) => requestTo(this.url, "POST", pathOf(profile), customer.headers)),
      }));
      let number = 0;
      return () => {
        const { side, requests } = made[number % 2];
        const request = requests[(number >> 1) % requests.length];
        number += 1;
        return request(orderBody(side, MARKET));
      };
    };
  }

  /** Waits until no order is pending. Some of the last orders may stay unmatched. */
  async untilMatched() {
    await this.#untilNone("select count(*) as waiting from pending_order");
  }

  async untilSettled() {
    await this.#untilNone("select count(*) as waiting from conversion where status = 'CREATED'");
  }

  async #untilNone(text) {
    const end = performance.now() + WAITED_FOR_MS;
    while (performance.now() < end) {
      const [{ waiting }] = await this.service.ask("rows", { text });
      if (Number(waiting) === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    throw new Error(`work was still pending after ${WAITED_FOR_MS} ms`);
  }

  once(name, make) {
    if (!this.#made.has(name)) this.#made.set(name, make());
    return this.#made.get(name);
  }
}
