/** The part of the story that is about webhooks, with a receiver that accepts everything. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestService } from "../support/service.ts";
import type { Failing, Recorder } from "./recorder.ts";
import { NOBODYS } from "./story-customers.ts";

const body = (fields: Readonly<Record<string, unknown>>): Failing => ({ body: fields });

interface Stage {
  readonly service: TestService;
  readonly recorder: Recorder;
}

const NOT_FOUND = { "webhook-not-found": { path: { id: NOBODYS } } };

/** Of a customer that has at most ten active webhooks. */
export async function useWebhooks({ service, recorder }: Stage): Promise<void> {
  const receiver = createServer((request, response) => {
    request.resume().once("end", () => response.writeHead(200).end("ok"));
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/parbook-events`;
  const call = (method: string, to: string, body?: unknown) =>
    service.call(method, `/v2/webhooks${to}`, { as: recorder.token ?? "", ...(body !== undefined && { body }) });
  const others: string[] = [];
  const fill = async (): Promise<void> => {
    for (;;) {
      const made = await call("POST", "", { name: `other ${others.length}`, url, types: ["order.filled"] });
      if (made.status !== 200) return;
      others.push(made.body.id);
    }
  };
  const clear = async (): Promise<void> => {
    for (const id of others.splice(0)) await call("DELETE", `/${id}`);
  };
  const tooMany = { before: fill, after: clear };

  recorder.at("11:10");
  const settings = { name: "books", url, types: ["transfer.*", "order.filled"] };
  const { id } = await recorder.record<{ readonly id: string }>(
    "createWebhook",
    { body: { ...settings, receiver_access: { type: "API_KEY", header: "X-Api-Key", secret: "correct horse" } } },
    {
      "invalid-webhook": body({ name: "not used yet", types: ["order.fille"] }),
      "too-many-webhooks": { ...body({ name: "not used yet" }), ...tooMany },
    },
  );
  // Events of before may be on their way.
  const idle = (read: object) => ({ ...read, backlog: { events: 0 } });
  await recorder.record("getWebhook", { path: { id } }, NOT_FOUND, idle);
  await recorder.record("listWebhooks", {}, {}, (listed: { readonly items: object[] }) => ({
    ...listed,
    items: listed.items.map(idle),
  }));
  await recorder.record("testWebhook", { path: { id } }, NOT_FOUND, (tested: object) => ({ ...tested, millis: 12 }));
  await recorder.record("listWebhookAttempts", { path: { id } }, NOT_FOUND, (listed: { readonly items: object[] }) => ({
    ...listed,
    items: listed.items.map((item) => ({ ...item, millis: 12 })),
  }));
  recorder.at("11:20");
  const other = await call("POST", "", { ...settings, name: "audit" });
  await recorder.record(
    "updateWebhook",
    { path: { id }, body: { ...settings, body: "FULL", deliveries_per_second: 50 } },
    { ...NOT_FOUND, "invalid-webhook": body({ types: ["order.fille"] }), "already-exists": body({ name: "audit" }) },
  );
  await call("DELETE", `/${other.body.id}`);
  await recorder.record(
    "replayWebhook",
    { path: { id }, body: { from_number: 1 } },
    {
      ...NOT_FOUND,
      "replay-ahead": body({ from_number: 1_000_000 }),
    },
  );
  await recorder.record("rotateWebhookSecret", { path: { id }, body: { overlap_seconds: 3600 } }, NOT_FOUND);
  await recorder.record("listWebhookPublicKeys", { path: { id } }, NOT_FOUND);
  recorder.at("11:30");
  await recorder.record("disableWebhook", { path: { id } }, NOT_FOUND);
  await recorder.record(
    "enableWebhook",
    { path: { id }, body: { from: "WHERE_IT_STOOD" } },
    {
      ...NOT_FOUND,
      "too-many-webhooks": {
        before: async () => {
          await call("POST", `/${id}/disable`);
          await fill();
        },
        after: clear,
      },
    },
  );
  await recorder.record("deleteWebhook", { path: { id } }, NOT_FOUND);
  receiver.close();
}
