/** A customer's API clients (docs/contract/tokens.md#api-credentials). */

import { afterAll, beforeAll, expect, test } from "vitest";
import { SCOPES } from "../../src/oauth/scopes.ts";
import { parseNetwork } from "../../src/std/network.ts";
import { TESTER } from "../support/movements.ts";
import { unwrap } from "../support/results.ts";
import { startTestService, type TestCustomer, type TestService } from "../support/service.ts";
import { until, untilNextMillisecond } from "../support/until.ts";

const PATH = "/v2/api-creds/credentials";

let service: TestService;
let acme: TestCustomer;
let birch: TestCustomer;
/** Acme's, oldest first: the one that calls, one with networks, one without. */
let clientIds: string[];
beforeAll(async () => {
  service = await startTestService();
  acme = await service.customer("Acme");
  birch = await service.customer("Birch");
  const { clients } = service.service.core;
  const network = parseNetwork("192.0.2.0/24");
  const [scopes, customerId] = [["transfer:read_transfer"], acme.id];
  const near = unwrap(
    await clients.create({ customerId, scopes, clientId: "acme/near", networks: [network ?? never()] }, TESTER),
  );
  // Clients of one millisecond are in the order of their ids.
  await untilNextMillisecond();
  const free = unwrap(await clients.create({ customerId, scopes, clientId: "acme.free" }, TESTER));
  clientIds = [acme.clientId, near.clientId, free.clientId];
});
afterAll(() => service.close());

function never(): never {
  throw new Error("this is a network");
}

const list = async (query = "", as = acme.token) => (await service.call("GET", `${PATH}?${query}`, { as })).body;
const remove = (clientId: string, as = acme.token) =>
  service.call("DELETE", `${PATH}/${encodeURIComponent(clientId)}`, { as });
const idsOf = ({ items }: { readonly items: readonly { readonly client_id: string }[] }) =>
  items.map(({ client_id }) => client_id);
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

test("a customer lists its own clients, newest first, and never a secret", async () => {
  const common = { customer_id: acme.id, status: "APPROVED", ip_allowlist: [], created_at: TIME };
  const item = (id: string, more: object) => ({ ...common, id, client_id: id, ...more });
  const [first = "", near = "", free = ""] = clientIds;
  const client_scopes = ["transfer:read_transfer"];
  expect(await list()).toEqual({
    items: [
      item(free, { client_scopes }),
      item(near, { client_scopes, ip_allowlist: ["192.0.2.0/24"] }),
      item(first, { client_scopes: Object.keys(SCOPES) }),
    ],
    next_page_cursor: "",
  });
});

test("a list has filters and pages", async () => {
  const [first = "", near = "", free = ""] = clientIds;
  expect(idsOf(await list("order=ASC"))).toEqual([first, near, free]);
  expect(idsOf(await list(`client_ids=${near}&client_ids=${first}`))).toEqual([near, first]);
  expect(idsOf(await list(`ids=${near}&client_ids=${first}`))).toEqual([]);
  expect(idsOf(await list(`ids=${birch.clientId}`))).toEqual([]);
  for (const order of ["ASC", "DESC"]) {
    const walked: string[] = [];
    let cursor = "";
    do {
      const page = await list(`order=${order}&limit=1&page_cursor=${cursor}`);
      walked.push(...idsOf(page));
      cursor = page.next_page_cursor;
    } while (cursor !== "");
    expect(walked).toEqual(order === "ASC" ? clientIds : clientIds.toReversed());
  }
});

test("another customer's client is not found, and stays enabled", async () => {
  const answer = await remove(birch.clientId);
  const never = await remove("nobody");
  expect([answer.status, never.status]).toEqual([404, 404]);
  expect(answer.body.detail).toBe(`API credentials not found: ${birch.clientId}`);
  expect(idsOf(await list("", birch.token))).toEqual([birch.clientId]);
});

test("a deleted client gets no token, its tokens are rejected, and the list shows it as disabled", async () => {
  const { clients } = service.service.core;
  const made = unwrap(await clients.create({ customerId: acme.id, scopes: ["transfer:read_transfer"] }, TESTER));
  const token = await service.token(made);
  const calls = () => service.call("GET", "/v2/transfer/transfers", { as: token });
  expect((await calls()).status).toBe(200);
  const { status, body } = await remove(made.clientId);
  const disabled = { status: "DISABLED", disabled_at: TIME };
  expect([status, body.credentials]).toEqual([200, expect.objectContaining({ client_id: made.clientId, ...disabled })]);
  await expect(service.token(made)).rejects.toThrow("invalid_client");
  await until("its token is rejected", async () => (await calls()).status === 401);

  expect(idsOf(await list())).toEqual(clientIds.toReversed());
  for (const query of ["statuses=DISABLED", "statuses=DISABLED&statuses=DISABLED"])
    expect(await list(query)).toEqual({ items: [body.credentials], next_page_cursor: "" });
  expect(idsOf(await list("statuses=DISABLED&statuses=APPROVED"))).toEqual([made.clientId, ...clientIds.toReversed()]);
  // Again: it keeps its time.
  expect((await remove(made.clientId)).body).toEqual(body);
});
