/**
 * Sends to the readers of all channels in turns, so that other callers do not wait for all of them. Who reads all markets is a
 * reader of each channel: a turn is bounded for all channels together, and they go on one reader at a time.
 */

/** A channel whose readers lack messages. */
export interface Sender {
  /**
   * Sends to the next reader what it lacks.
   * @returns the bytes sent; "rest" when each reader was sent to and some lack something again, which is sent in the next
   * turn; undefined when none lacks anything
   */
  sendNext(): number | "rest" | undefined;
}

/**
 * Between two turns. What is published meanwhile goes in one write: 250 readers are sent to twenty times a second, however often
 * the market changes.
 */
const TURN_MS = 5;
/** Readers that are sent to in one turn, and bytes for all of them. */
const READERS_PER_TURN = 25;
const BYTES_PER_TURN = 256 * 1024;

export class SendingTurns {
  #senders: Sender[] = [];
  #resting: Sender[] = [];
  #readersLeft = READERS_PER_TURN;
  #bytesLeft = BYTES_PER_TURN;
  #next: NodeJS.Timeout | undefined;

  /** Sends as much as this turn has left at once. A sender is added again only after it has returned undefined. */
  add(sender: Sender): void {
    this.#senders.push(sender);
    this.#send();
  }

  #send(): void {
    while (this.#readersLeft > 0 && this.#bytesLeft > 0) {
      const sender = this.#senders.shift();
      if (sender === undefined) break;
      const sent = sender.sendNext();
      if (sent === undefined) continue;
      if (sent === "rest") {
        this.#resting.push(sender);
        continue;
      }
      if (sent > 0) this.#readersLeft -= 1;
      this.#bytesLeft -= sent;
      this.#senders.push(sender);
    }
    this.#next ??= setTimeout(() => {
      this.#next = undefined;
      [this.#readersLeft, this.#bytesLeft] = [READERS_PER_TURN, BYTES_PER_TURN];
      this.#senders.push(...this.#resting.splice(0));
      if (this.#senders.length > 0) this.#send();
    }, TURN_MS);
  }
}
