/** Bytes on a connection of their own, as no client library would send them. */
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { until } from "../until.ts";

const LIMIT_MS = 10_000;

/** A packet, or how many answers to wait for before the next one. */
type Part = string | Buffer | number;

/** Sends the parts one after the other, and answers all that came back before the server closed, or in ten seconds. */
export async function sendRaw(url: string, ...parts: readonly Part[]): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  let text = "";
  socket.setEncoding("latin1").on("data", (part: string) => {
    text += part;
  });
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  // What the server no longer reads may come back as an error of the connection.
  socket.on("error", () => undefined);
  const limit = setTimeout(() => socket.destroy(), LIMIT_MS);
  for (const [index, part] of parts.entries()) {
    if (typeof part === "number") {
      await until(`${part} answers`, () => socket.closed || statusesIn(text).length >= part);
    } else {
      // Packets that are written at once may arrive as one.
      if (index > 0) await pause(20);
      if (socket.writable) socket.write(part);
    }
  }
  await closed;
  clearTimeout(limit);
  return text;
}

/** The statuses of the answers, in their order. */
export function statusesIn(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}
