/** Both servers without a database, which note what they carry out. */

import { pino } from "pino";
import { feedRoutes } from "../../src/api/websocket-feeds/feeds.ts";
import { createAuthServer } from "../../src/oauth/server/auth-server.ts";
import { IdSource } from "../../src/std/id.ts";
import type { Network } from "../../src/std/network.ts";
import { pause } from "../../src/std/pause.ts";
import { reject } from "../../src/std/result.ts";
import { ToyFeed } from "../support/exchange/toy-feed.ts";
import { startToyApi } from "../support/http/toy-api.ts";
import type { Dialect } from "./raw-sequences.ts";

export interface NotingServers {
  readonly apiUrl: string;
  readonly authUrl: string;
  readonly feed: ToyFeed;
  /** The names of what was carried out, in its order. */
  readonly ran: readonly string[];
  close(): Promise<void>;
}

export const API: Omit<Dialect, "tag"> = {
  reads: ["/v2/toys", "/slow", "/nowhere"],
  postPath: "/ran",
  contentType: "application/json",
  body: (name) => JSON.stringify({ name }),
  feed: "/marketdata/BTCUSD",
};

export const AUTH: Omit<Dialect, "tag"> = {
  reads: ["/healthz", "/readyz", "/.well-known/oauth-authorization-server", "/nowhere"],
  postPath: "/oauth2/token",
  contentType: "application/x-www-form-urlencoded",
  body: (name) => `grant_type=client_credentials&client_id=${name}&client_secret=x`,
  feed: undefined,
};

export async function startNotingServers(trustedProxies: readonly Network[] = []): Promise<NotingServers> {
  const ran: string[] = [];
  const feed = new ToyFeed();
  const toy = await startToyApi(
    (api) => {
      feedRoutes(api, feed.exchange);
      const options = { config: { scope: "public" }, schema: { hide: true } } as const;
      api.post("/ran", options, async ({ body }) => {
        const { name } = body as { readonly name: string };
        ran.push(name);
        return { name };
      });
      api.get("/slow", options, async () => {
        await pause(2);
        return {};
      });
      api.get("/readyz", options, async () => ({}));
      api.get("/address", options, async ({ ip }) => ({ ip }));
    },
    { trustedProxies },
  );
  let authUrl = "";
  const auth = createAuthServer({
    authUrl: () => authUrl,
    keys: { published: () => [] },
    clients: {
      authenticate: async (id) => {
        ran.push(id);
        return reject("client_authentication_failed");
      },
    },
    tokens: { issue: () => Promise.reject(new Error("nobody is issued a token here")) },
    ids: new IdSource(),
    log: pino({ level: "silent" }),
    trustedProxies,
  });
  authUrl = await auth.listen({ host: "127.0.0.1", port: 0 });
  const close = async (): Promise<void> => void (await Promise.all([toy.close(), auth.close()]));
  return { apiUrl: toy.url, authUrl, feed, ran, close };
}
