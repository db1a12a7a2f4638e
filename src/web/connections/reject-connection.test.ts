import { createServer } from "node:http";
import type { Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { arrive } from "../../../test/support/http/bounded-server.ts";
import type { ConnectionPace } from "./connection-pace.ts";
import { boundConnections } from "./connections.ts";
import { rejectConnection } from "./reject-connection.ts";
import { TrackedResponse } from "./tracked-response.ts";

/** All start at once. */
const UNPACED: Pick<ConnectionPace, "admit"> = {
  admit: (_address, _connection, start) => {
    start();
    return true;
  },
};

test("connections that bring no HTTP together are answered in turn by address, a few in each turn", async () => {
  const server = createServer({ ServerResponse: TrackedResponse }, expect.fail);
  onTestFinished(() => void server.close());
  server.on("clientError", (error: Error, socket: Socket) =>
    rejectConnection(error, socket, ({ status }) => ({ status, headers: {}, body: "no" })),
  );
  boundConnections(server, { most: 1_000, isShared: () => false, onDropped: () => expect.fail(), pace: UNPACED });
  const open = Array.from({ length: 101 }, (_, at) => arrive(server, at === 100 ? "198.51.100.7" : "203.0.113.9"));
  const answered = () => open.filter(({ writableLength }) => writableLength > 0).length;
  const other = open[100];
  for (const socket of open) socket.push("no HTTP\r\n\r\n");
  const perTurn: number[] = [];
  let othersTurn = 0;
  while (answered() < 101) {
    const before = answered();
    await new Promise(setImmediate);
    perTurn.push(answered() - before);
    if (othersTurn === 0 && (other?.writableLength ?? 0) > 0) othersTurn = perTurn.length;
  }
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(32);
  expect(othersTurn).toBeLessThanOrEqual(4);
  expect(perTurn.length).toBeGreaterThan(4);
});
