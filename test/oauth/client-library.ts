/** The requests that every OAuth client library sends to the token endpoint, and how it must understand the responses. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Clients } from "../../src/customers/clients/clients.ts";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import { TESTER } from "../support/movements.ts";
import { startRelay } from "../support/postgres/relay.ts";
import { required } from "../support/required.ts";
import { unwrap } from "../support/results.ts";
import { startTestService, type TestService } from "../support/service.ts";

/** How a client authenticates. */
export type Way = "body" | "basic";

export interface TokenRequest {
  readonly way: Way;
  readonly clientId: string;
  readonly secret: string;
  /** Separated by spaces; all of the client's scopes when left out. */
  readonly scope?: string;
  readonly grantType?: string;
}

/** What the library returned: the token, or the error by its name in RFC 6749. */
export type TokenResult =
  | { readonly token: string; readonly type: string; readonly scope: string; readonly expiresIn: number }
  | { readonly error: string; readonly description?: string | undefined };

export interface ClientLibrary {
  readonly name: string;
  /** Sends the requests one after the other. @returns the results, in order */
  request(authUrl: string, requests: readonly TokenRequest[]): Promise<TokenResult[]>;
  /** Why it cannot run here. */
  readonly missing?: string | undefined;
  /** It does not read the body of a 401 with a challenge. */
  readonly challengeHidesError?: true;
  /** It does not read the body of a 503. */
  readonly statusHidesError?: true;
  /** It supports no other grant. */
  readonly oneGrant?: true;
}

const GENERATED = { clientId: "generated", secret: "dGhlcmUgaXMgbm90aGluZyB0byBzZWUgaGVyZSBhdCA" };
const CHOSEN = { clientId: "chosen 1+1", secret: "s3cret: 100% + more?" };
const HELD = ["exchange:read_order", "funding:read_profile"];
const WAYS = ["body", "basic"] as const;

export function testClientLibraries(...libraries: readonly ClientLibrary[]): void {
  let service: TestService;
  let cutOff: TestService;
  let loseDatabase = (): void => undefined;
  let close = async (): Promise<void> => undefined;

  beforeAll(async () => {
    service = await startTestService();
    await addClients(service.service.core.clients, (await service.customer()).id);
    const relays: Awaited<ReturnType<typeof startRelay>>[] = [];
    cutOff = await startTestService({}, async (database) => {
      const relay = await startRelay(database);
      relays.push(relay);
      return relay.connection;
    });
    loseDatabase = () => {
      for (const relay of relays) {
        relay.reject(true);
        relay.cut();
      }
    };
    close = async () => {
      for (const relay of relays) relay.reject(false);
      await Promise.all([service.close(), cutOff.close()]);
      for (const relay of relays) await relay.close();
    };
  });

  afterAll(() => close());

  describe.each(libraries)("$name", (library) => {
    beforeEach((context) => required(context, library.missing));

    test("obtains tokens that the API accepts", async () => {
      const scopes = [undefined, HELD[1], [...HELD].reverse().join(" ")];
      const requests = WAYS.flatMap((way) =>
        scopes.map((scope) => ({ way, ...GENERATED, ...(scope === undefined ? {} : { scope }) })),
      );
      const results = await library.request(service.authUrl, requests);
      expect(results).toEqual(
        requests.map(({ scope = HELD.join(" ") }) => ({
          token: expect.any(String),
          type: "bearer",
          scope,
          expiresIn: 3_599,
        })),
      );
      for (const each of results) {
        const answer = await service.call("GET", "/v2/profiles", { as: "token" in each ? each.token : "none" });
        expect(answer.status).toBe(200);
      }
    });

    test("authenticates with characters that forms encode", async () => {
      const results = await library.request(
        service.authUrl,
        WAYS.map((way) => ({ way, ...CHOSEN })),
      );
      expect(results).toEqual(WAYS.map(() => expect.objectContaining({ type: "bearer", scope: HELD.join(" ") })));
    });

    test("reports what was wrong with the request", async () => {
      const failed = { error: "invalid_client", description: "client authentication failed" };
      const cases = WAYS.flatMap((way) => {
        const byChallenge = way === "basic" && library.challengeHidesError ? { error: "challenged" } : failed;
        return [
          [{ way, ...GENERATED, secret: "wrong" }, byChallenge],
          [{ way, ...GENERATED, clientId: "nobody" }, byChallenge],
          [
            { way, ...GENERATED, scope: "exchange:write_order" },
            { error: "invalid_scope", description: "the client does not hold the scope exchange:write_order" },
          ],
          [
            { way, ...GENERATED, clientId: "c".repeat(101) },
            { error: "invalid_request", description: "client_id is longer than 100 characters" },
          ],
          ...(library.oneGrant
            ? []
            : [
                [
                  { way, ...GENERATED, grantType: "urn:example:grant" },
                  { error: "unsupported_grant_type", description: "grant_type must be client_credentials" },
                ],
              ]),
        ] as [TokenRequest, TokenResult][];
      });
      const results = await library.request(
        service.authUrl,
        cases.map(([requests]) => requests),
      );
      expect(results).toEqual(cases.map(([, expected]) => expected));
    });
  });

  // Last, because nothing works after it.
  test("while the database is unavailable every library reports an error", async () => {
    loseDatabase();
    for (const library of libraries.filter(({ missing }) => missing === undefined)) {
      const results = await library.request(cutOff.authUrl, [{ way: "body", ...GENERATED }]);
      const description = "the database cannot be reached";
      const expected = library.statusHidesError ? { error: "503" } : { error: "temporarily_unavailable", description };
      expect(results, library.name).toEqual([expected]);
    }
  });
}

async function addClients(clients: Clients, customerId: CustomerId): Promise<void> {
  for (const each of [GENERATED, CHOSEN]) {
    unwrap(await clients.create({ customerId, ...each, scopes: HELD }, TESTER));
  }
}
