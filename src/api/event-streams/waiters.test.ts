import { expect, test } from "vitest";
import type { CustomerId } from "../../customers/customer-id.ts";
import { Waiters, type WaitingRequest } from "./waiters.ts";

function request(customer: string, client: string, ip: string): WaitingRequest {
  const grant = { customerId: customer as CustomerId, clientId: client, tokenId: "t", scopes: new Set<never>() };
  return { grant, ip };
}

const MOST = { all: 10, ofCustomer: 4, ofClient: 2, ofAddress: 3 };

/** How many of these are let in, one after the other. */
function entered(waiters: Waiters, requests: readonly WaitingRequest[]): number {
  return requests.filter((one) => waiters.enter(one) !== undefined).length;
}

const many = (count: number, one: (place: number) => WaitingRequest): WaitingRequest[] =>
  Array.from({ length: count }, (_, place) => one(place));

test("a client, a customer, an address and the process have their maximum each", () => {
  const each = (one: (place: number) => WaitingRequest) => entered(new Waiters(MOST), many(20, one));
  expect(each(() => request("ann", "app", "10.0.0.1"))).toBe(2);
  expect(each((place) => request("ann", `app ${place}`, `10.0.0.${place}`))).toBe(4);
  expect(each((place) => request(`customer ${place}`, `app ${place}`, "10.0.0.1"))).toBe(3);
  expect(each((place) => request(`customer ${place}`, `app ${place}`, `10.0.0.${place}`))).toBe(10);
});

test("an IPv6 network of 64 bits is one address, and loopback is none", () => {
  const from = (ip: (place: number) => string) =>
    entered(
      new Waiters(MOST),
      many(20, (place) => request(`customer ${place}`, `app ${place}`, ip(place))),
    );
  expect(from((place) => `2001:db8::${place + 1}`)).toBe(3);
  expect(from(() => "127.0.0.1")).toBe(10);
});

test("who leaves makes room, and who was not let in takes none", () => {
  const waiters = new Waiters(MOST);
  const one = request("ann", "app", "10.0.0.1");
  const [first] = [waiters.enter(one), waiters.enter(one)];
  expect(
    entered(
      waiters,
      many(5, () => one),
    ),
  ).toBe(0);
  first?.();
  expect(
    entered(
      waiters,
      many(5, () => one),
    ),
  ).toBe(1);
  expect(entered(waiters, [request("ann", "other", "10.0.0.2"), request("ann", "other", "10.0.0.2")])).toBe(2);
});
