/** Sends one request after another, and reads what the rate limit counted it as. */
import { connect } from "node:net";

const ANSWER_MS = 5_000;

/** Keeps its connection until the service closes it. */
export class Caller {
  #socket;
  #port;

  /** Resolves with the status, or "closed", and what the request counted as. */
  async send(port, bytes, frames) {
    if (this.#socket === undefined || this.#socket.destroyed || this.#port !== port) {
      this.#socket?.destroy();
      this.#socket = connect({ host: "127.0.0.1", port, noDelay: true });
      this.#socket.on("error", () => undefined);
      this.#port = port;
    }
    const answer = await responseTo(this.#socket, Buffer.from(bytes), frames);
    if (answer.isLast) this.#socket.destroy();
    return answer;
  }

  close() {
    this.#socket?.destroy();
  }
}

function responseTo(socket, bytes, frames) {
  return new Promise((resolve) => {
    let text = "";
    const end = (answer) => {
      clearTimeout(timer);
      socket.removeAllListeners("data").removeAllListeners("close");
      resolve(answer);
    };
    const timer = setTimeout(() => end({ status: "no answer", count: 0, isLast: true }), ANSWER_MS);
    socket.on("close", () => end({ status: statusIn(text) ?? "closed", count: 0, isLast: true }));
    socket.on("data", (chunk) => {
      const wasUpgraded = text.startsWith("HTTP/1.1 101");
      text += chunk.toString("latin1");
      if (statusIn(text) === "101" && frames !== undefined) {
        if (!wasUpgraded) socket.write(frames);
        return;
      }
      const head = text.indexOf("\r\n\r\n");
      if (head === -1) return;
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? 0);
      const isLast = /\r\nconnection: close/i.test(text) || statusIn(text) === "101";
      if (text.length >= head + 4 + length) end({ status: statusIn(text), count: countIn(text), isLast });
    });
    socket.write(bytes);
  });
}

const statusIn = (text) => /^HTTP\/1\.1 (\d+)/.exec(text)?.[1];

/** The bucket was full before: at these rates it refills within a millisecond. */
function countIn(text) {
  const [limit, remaining] = ["limit", "remaining"].map((name) =>
    Number(new RegExp(`\\r\\nratelimit-${name}: (\\d+)`, "i").exec(text)?.[1] ?? Number.NaN),
  );
  return Number.isNaN(limit) || statusIn(text) === "429" ? 0 : limit - remaining;
}
