/** A stop with callers that would hold it up. What the limits are in earnest is in src/main.ts. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { startTestService } from "../support/service.ts";

const LIMITS_MS = { api: 1_000, auth: 500 };

test("a stop closes connections whose callers do not read their responses or have sent half a request", async () => {
  const { baseUrl, authUrl, stop, close } = await startTestService({}, undefined, undefined, LIMITS_MS);
  onTestFinished(close);
  const host = ["Host: a", ""].join("\r\n");
  const upgrade = `GET /v2/markets HTTP/1.1\r\n${host}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
  // Together more than the buffers of two sockets hold.
  const documents = `GET /openapi.json HTTP/1.1\r\n${host}\r\n`.repeat(12);
  const half = `POST /oauth2/token HTTP/1.1\r\n${host}Content-Length: 100\r\n\r\ngrant`;
  const stalled = (url: string, bytes: string): Socket => {
    const socket = connect({ host: "127.0.0.1", port: Number(new URL(url).port), allowHalfOpen: true });
    socket.on("error", () => undefined).write(bytes);
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  const answered = [...new Array<string>(20).fill(upgrade), ...new Array<string>(10).fill(documents)].map((bytes) =>
    once(stalled(baseUrl, bytes), "readable"),
  );
  for (const url of [baseUrl, authUrl]) for (const bytes of [half, "GET / HT"]) stalled(url, bytes);
  await Promise.all(answered);
  const began = performance.now();
  await stop();
  const took = performance.now() - began;
  // Some did hold it up, or nothing was shown.
  expect(took).toBeGreaterThan(LIMITS_MS.api);
  expect(took).toBeLessThan(8_000);
});
