/** What there is for the fuzzer to ask about, and how to send what it makes. */
import { Agent, request } from "node:http";
import { IdSource } from "../../src/std/id.ts";
import { type Document, readDocument } from "../support/openapi.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { type Belongings, makerOf, ownerOfEverything } from "../tenancy/belongings.ts";
import type { HttpRequest, HttpResponse } from "./http-request.ts";

export interface World {
  readonly service: TestService;
  readonly document: Document;
  readonly own: Belongings;
  readonly token: string;
  readonly clientId: string;
  readonly secret: string;
  /** Ids of the caller's, of somebody else's, and of nothing. */
  readonly references: readonly string[];
  send(asked: HttpRequest): Promise<HttpResponse>;
  close(): Promise<void>;
}

export async function startWorld(): Promise<World> {
  // Conversions that settle meanwhile would be effects of nobody's doing.
  const service = await startTestService({ settlementDelayMs: 86_400_000 });
  const document = await readDocument(service);
  const maker = await makerOf(service);
  const owner = await ownerOfEverything(service, "fuzz", maker);
  const other = await ownerOfEverything(service, "other", maker);
  const ids = Object.values({ ...owner.has, ...prefixed(other.has) }).filter((value) => /^[0-9a-f-]{36}$/.test(value));
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  return {
    service,
    document,
    own: owner.has,
    token: owner.token,
    clientId: owner.clientId,
    secret: owner.secret,
    references: [...ids, new IdSource().next()],
    send: (asked) =>
      send(asked.operation.operationId === "issueToken" ? service.authUrl : service.baseUrl, asked, agent),
    close: async () => {
      agent.destroy();
      await service.close();
    },
  };
}

const prefixed = (has: Belongings): Record<string, string> =>
  Object.fromEntries(Object.entries(has).map(([name, value]) => [`other ${name}`, value]));

/** The address goes out as it is: a client that mends it would hide what is to be tried. */
function send(base: string, { method, address, headers, body }: HttpRequest, agent: Agent): Promise<HttpResponse> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
    const asking = request(
      { hostname, port, method, path: address, headers: { ...length, ...headers }, agent },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on("data", (chunk: Buffer) => chunks.push(chunk));
        answer.on("error", reject);
        answer.on("end", () =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: Buffer.concat(chunks).toString() }),
        );
      },
    );
    asking.on("error", reject);
    asking.end(body);
  });
}
