/** What every judge of the token endpoint is asked, whoever made it, and how it has to have understood the answers. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Clients } from "../../src/customers/clients/clients.ts";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import { startRelay } from "../support/relay.ts";
import { required } from "../support/required.ts";
import { startTestService, type TestService } from "../support/service.ts";

/** How a client says who it is. */
export type Way = "body" | "basic";

export interface Asked {
  readonly way: Way;
  readonly clientId: string;
  readonly secret: string;
  /** Blanks between them; left out: all that the client holds. */
  readonly scope?: string;
  readonly grantType?: string;
}

/** What the judge made of the answer: the token, or the error by its name in RFC 6749. */
export type Heard =
  | { readonly token: string; readonly type: string; readonly scope: string; readonly expiresIn: number }
  | { readonly error: string; readonly description?: string | undefined };

export interface Judge {
  readonly name: string;
  /** Asks one after the other, and answers in the same order. */
  ask(authUrl: string, asked: readonly Asked[]): Promise<Heard[]>;
  /** Why it cannot be asked here, in words. */
  readonly missing?: string | undefined;
  /** It reads no body of an answer 401 with a challenge: the challenge is all that it hears. */
  readonly challengeHidesError?: true;
  /** It reads no body of an answer 503. */
  readonly statusHidesError?: true;
  /** It cannot ask for another grant. */
  readonly oneGrant?: true;
}

const GENERATED = { clientId: "generated", secret: "dGhlcmUgaXMgbm90aGluZyB0byBzZWUgaGVyZSBhdCA" };
const CHOSEN = { clientId: "chosen 1+1", secret: "s3cret: 100% + more?" };
const HELD = ["exchange:read_order", "funding:read_profile"];
const WAYS = ["body", "basic"] as const;

export function judged(...judges: readonly Judge[]): void {
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
        relay.refuse(true);
        relay.cut();
      }
    };
    close = async () => {
      for (const relay of relays) relay.refuse(false);
      await Promise.all([service.close(), cutOff.close()]);
      for (const relay of relays) await relay.close();
    };
  });

  afterAll(() => close());

  describe.each(judges)("$name", (judge) => {
    beforeEach((context) => required(context, judge.missing));

    test("obtains tokens that the API takes", async () => {
      const scopes = [undefined, HELD[1], [...HELD].reverse().join(" ")];
      const asked = WAYS.flatMap((way) =>
        scopes.map((scope) => ({ way, ...GENERATED, ...(scope === undefined ? {} : { scope }) })),
      );
      const heard = await judge.ask(service.authUrl, asked);
      expect(heard).toEqual(
        asked.map(({ scope = HELD.join(" ") }) => ({
          token: expect.any(String),
          type: "bearer",
          scope,
          expiresIn: 3_599,
        })),
      );
      for (const each of heard) {
        const answer = await service.call("GET", "/v2/profiles", { as: "token" in each ? each.token : "none" });
        expect(answer.status).toBe(200);
      }
    });

    test("authenticates with signs that have a meaning of their own in forms", async () => {
      const heard = await judge.ask(
        service.authUrl,
        WAYS.map((way) => ({ way, ...CHOSEN })),
      );
      expect(heard).toEqual(WAYS.map(() => expect.objectContaining({ type: "bearer", scope: HELD.join(" ") })));
    });

    test("understands what it did wrong", async () => {
      const failed = { error: "invalid_client", description: "client authentication failed" };
      const cases = WAYS.flatMap((way) => {
        const byChallenge = way === "basic" && judge.challengeHidesError ? { error: "challenged" } : failed;
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
          ...(judge.oneGrant
            ? []
            : [
                [
                  { way, ...GENERATED, grantType: "urn:example:grant" },
                  { error: "unsupported_grant_type", description: "grant_type must be client_credentials" },
                ],
              ]),
        ] as [Asked, Heard][];
      });
      const heard = await judge.ask(
        service.authUrl,
        cases.map(([asked]) => asked),
      );
      expect(heard).toEqual(cases.map(([, expected]) => expected));
    });
  });

  // Last, because nothing works after it.
  test("while the database is away every judge hears of it, and none takes it for a token", async () => {
    loseDatabase();
    for (const judge of judges.filter(({ missing }) => missing === undefined)) {
      const heard = await judge.ask(cutOff.authUrl, [{ way: "body", ...GENERATED }]);
      const description = "the database cannot be reached";
      const expected = judge.statusHidesError ? { error: "503" } : { error: "temporarily_unavailable", description };
      expect(heard, judge.name).toEqual([expected]);
    }
  });
}

async function addClients(clients: Clients, customerId: CustomerId): Promise<void> {
  for (const each of [GENERATED, CHOSEN]) {
    const made = await clients.create({ customerId, ...each, scopes: HELD });
    if (typeof made === "string") throw new Error(made);
  }
}
