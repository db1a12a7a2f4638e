/**
 * What is delivered while this process has the lease. Every second it looks which webhooks are active, were changed, or whose
 * place somebody has set; it reads events when there are new ones; and whenever something was accepted, failed, read or
 * written it sends what can be sent, one for each customer in turn.
 *
 * Bounds: so many requests in flight, of one customer few, of receivers that fail at most half; so many a second, of one
 * customer fewer, by their bytes too, and fewer of all while the thread is busy; so many events in memory; so many reads at once.
 */
import { setMaxListeners } from "node:events";
import type { DeliverableWebhook, WebhookId } from "../../customers/webhooks/webhook.ts";
import type { ActiveWebhooks } from "../../customers/webhooks/webhooks.ts";
import type { Lease } from "../../postgres/leases.ts";
import type { Outage } from "../../std/outage.ts";
import { WakeSignal } from "../../std/wake-signal.ts";
import { attemptOf } from "../attempt.ts";
import type { Post } from "../queues/delivery-queue.ts";
import { type Answer, messageOf, outcomeOf } from "../sender.ts";
import { type Claimant, findStale, trimAttempts } from "../store.ts";
import { EventReads } from "./event-reads.ts";
import { InFlight, MOST_IN_FLIGHT } from "./in-flight.ts";
import type { Line, QueuedEvent } from "./line.ts";
import { openLines, reportExpired } from "./open-lines.ts";
import type { DispatcherOptions } from "./options.ts";
import { Pace } from "./pace.ts";
import { ProgressWriter } from "./progress-writer.ts";
import { RoundRobin } from "./round-robin.ts";
import { Upkeep } from "./upkeep.ts";

/** Events and rows in memory, beyond which events are read one at a time. */
const MOST_IN_MEMORY = 100_000;
const REFRESH_MS = 1_000;
const TICK_MS = 25;
/** A process that did nothing for so long was stopped: somebody else may have taken its webhooks over. */
const STOPPED_MS = 1_000;
/** Of so many turns one goes first to receivers that fail: the others must not take all. */
const TURNS_PER_FAILING = 4;
const OPENED_AT_ONCE = 100;
const FAILURE_REST_MS = 1_000;
const LAST_ANSWERS_MS = 5_000;
const TRIM_EVERY = 200;

export class Dispatch {
  readonly #options: DispatcherOptions;
  readonly #claimant: Claimant;
  readonly #outage: Outage;
  readonly #writer: ProgressWriter;
  readonly #upkeep: Upkeep;
  readonly #lines = new Map<WebhookId, Line>();
  /** By the version at which their secrets could not be decrypted. */
  readonly #unreadable = new Map<WebhookId, bigint>();
  /** Those that may have something to send, in the order of their turns. */
  readonly #ready = { live: new RoundRobin(), failing: new RoundRobin() };
  readonly #reads: EventReads;
  readonly #refresh = new WakeSignal();
  readonly #idle = new WakeSignal();
  readonly #abort = new AbortController();
  readonly #inFlight = new InFlight();
  readonly #pace: Pace;
  #tickedAtMs = performance.now();
  /** How often this process was stopped, and up to which time of these it has looked whose its webhooks are. */
  #stops = 0;
  #stopsChecked = 0;
  #turns = 0;
  #inMemory = 0;
  #isPumping = false;
  #isEnding = false;
  /** In time of the process. */
  maySendUntilMs = 0;

  constructor(options: DispatcherOptions, lease: Lease, outage: Outage) {
    this.#options = options;
    // Each request in flight listens to it.
    setMaxListeners(MOST_IN_FLIGHT, this.#abort.signal);
    this.#claimant = { lease, history: options.database.history };
    this.#outage = outage;
    this.#upkeep = new Upkeep(options, (error) => outage.failed(error));
    this.#reads = new EventReads(options);
    this.#pace = options.pace ?? new Pace();
    this.#writer = new ProgressWriter({
      ...options,
      ...this.#claimant,
      onFailure: (error) => outage.failed(error),
      onWritten: (line) => this.#touch(line),
    });
  }

  report(): { webhooks: number; failing: number; inFlight: number; mostPerSecond: number } {
    const failing = [...this.#lines.values()].filter(({ queue }) => queue.isFailing).length;
    return { webhooks: this.#lines.size, failing, inFlight: this.#inFlight.count, mostPerSecond: this.#pace.perSecond };
  }

  /** Until `end`, or until another history of the database begins, in which nothing of it can be written. */
  async run(): Promise<void> {
    const ticking = setInterval(() => this.#tick(), TICK_MS);
    const writing = this.#writer.run();
    while (!this.#isEnding) {
      try {
        await this.#lookAround();
        if (!this.#upkeep.isFailing) this.#outage.succeeded();
      } catch (error) {
        this.#outage.failed(error);
      }
      if (this.#isEnding) break;
      this.#upkeep.begin();
      await this.#refresh.wait(REFRESH_MS);
    }
    await this.#finish();
    clearInterval(ticking);
    this.#writer.end();
    await writing;
    await this.#writer.write().catch((error: unknown) => this.#outage.failed(error));
    await this.#upkeep.ended();
  }

  /** waits: for what is in flight, for some seconds. at once: somebody else may be delivering. */
  end(how: "waits" | "at once"): void {
    this.#isEnding = true;
    if (how === "at once") this.#abort.abort();
    this.#refresh.notify();
    this.#idle.notify();
  }

  async #finish(): Promise<void> {
    const deadlineMs = performance.now() + LAST_ANSWERS_MS;
    while (this.#inFlight.count > 0 && performance.now() < deadlineMs && !this.#abort.signal.aborted)
      await this.#idle.wait(deadlineMs - performance.now());
    this.#abort.abort();
    while (this.#inFlight.count > 0) await this.#idle.wait();
    for (const line of this.#lines.values()) line.stopListening();
  }

  // Which webhooks there are -----------------------------------------------------------------------------------------

  async #lookAround(): Promise<void> {
    const { database, webhooks } = this.#options;
    if (database.history !== this.#claimant.history) return this.end("waits");
    await this.#removeDrained();
    const stops = this.#stops;
    const stale = await findStale(database, new Map([...this.#lines].map(([id, { version }]) => [id, version])));
    for (const id of stale) this.#close(this.#lines.get(id), "stale");
    this.#stopsChecked = stops;
    const open = [...this.#lines].map(([id, { webhook }]) => [id, webhook.version] as const);
    const { changed, active, unreadable, hasMore } = await webhooks.listActive(new Map([...this.#unreadable, ...open]));
    this.#noteUnreadable(unreadable, active);
    for (const [id, line] of this.#lines) if (!active.has(id)) this.#close(line, "closing");
    for (const { id } of changed) this.#close(this.#lines.get(id), "closing");
    await this.#removeDrained();
    const before = this.#lines.size;
    await this.#openAll(changed.filter(({ id }) => !this.#lines.has(id)));
    // Without a pause only while it makes progress: of some there is still a post in flight.
    if (this.#lines.size > before && (hasMore || changed.length > OPENED_AT_ONCE)) this.#refresh.notify();
  }

  /** For a second: the first of many may have changed before the last are opened. */
  async #openAll(webhooks: readonly DeliverableWebhook[]): Promise<void> {
    const untilMs = performance.now() + REFRESH_MS;
    const goesOn = (from: number): boolean => from < webhooks.length && !this.#isEnding && performance.now() < untilMs;
    for (let from = 0; goesOn(from); from += OPENED_AT_ONCE) {
      const lines = await openLines(this.#options, this.#claimant, webhooks.slice(from, from + OPENED_AT_ONCE));
      for (const line of lines) this.#open(line);
      for (const line of lines) this.#reportExpired(line);
    }
  }

  /** They are looked at again when they are changed, or by another process. */
  #noteUnreadable(unreadable: ActiveWebhooks["unreadable"], active: ReadonlySet<WebhookId>): void {
    for (const { webhook, error } of unreadable) {
      this.#close(this.#lines.get(webhook.id), "closing");
      this.#unreadable.set(webhook.id, webhook.version);
      this.#options.log({ kind: "unreadable", webhookId: webhook.id, error });
    }
    for (const id of this.#unreadable.keys()) if (!active.has(id)) this.#unreadable.delete(id);
  }

  #open(line: Line): void {
    this.#unreadable.delete(line.id);
    this.#lines.set(line.id, line);
    line.stopListening = this.#options.events.onNews(line.webhook.customerId, () => {
      line.queue.onNews();
      this.#feed(line);
    });
    this.#touch(line);
  }

  #reportExpired(line: Line): void {
    void this.#reads
      .inTurn(line, async () => (this.#isEnding ? undefined : reportExpired(this.#options, line)))
      .catch((error: unknown) => this.#outage.failed(error));
  }

  #close(line: Line | undefined, state: "closing" | "stale"): void {
    // A look that finds it closing already, while it waits for an answer, is not followed by another one at once.
    if (line === undefined || line.state === "stale" || line.state === state) return;
    line.state = state;
    this.#refresh.notify();
  }

  /** A webhook that has to be disabled is, once its last attempt is written. */
  async #removeDrained(): Promise<void> {
    const { webhooks, clock, log } = this.#options;
    for (const line of [...this.#lines.values()]) {
      const { queue, webhook } = line;
      if (queue.disabling !== undefined) this.#close(line, "closing");
      if (!line.isDrained || (line.state === "closing" && this.#writer.hasUnwritten(line))) continue;
      if (queue.disabling !== undefined && line.state === "closing") {
        if (await webhooks.disable(webhook.id, webhook.version, queue.disabling, clock.now()))
          log({ kind: "disabled", webhook, reason: queue.disabling });
        this.#upkeep.hasUnrecorded = true;
      }
      line.stopListening();
      this.#lines.delete(line.id);
      this.#inMemory -= line.size;
      for (const ring of [this.#ready.live, this.#ready.failing]) ring.delete(line);
      // A customer may have its webhook opened anew each second, by replays.
      if (line.attemptsSinceTrim > 0) this.#trim(line);
    }
  }

  // Reading ----------------------------------------------------------------------------------------------------------

  #feed(line: Line): void {
    if (line.isReading || line.state !== "open" || this.#isEnding || line.restsUntilMs > performance.now()) return;
    const wanted = line.queue.wantedPage();
    if (wanted === undefined) return;
    line.isReading = true;
    void this.#reads
      .inTurn(line, () => this.#read(line, wanted))
      .finally(() => {
        line.isReading = false;
        this.#touch(line);
      });
  }

  async #read(line: Line, { after, limit }: { readonly after: bigint; readonly limit: number }): Promise<void> {
    const { queue } = line;
    if (line.state !== "open" || this.#isEnding) return;
    queue.onReading();
    try {
      queue.addPage(after, await this.#reads.page(line, after, this.#inMemory > MOST_IN_MEMORY ? 1 : limit));
    } catch (error) {
      queue.onNews();
      this.#onFailure(line, error);
    }
  }

  #onFailure(line: Line, error: unknown): void {
    this.#outage.failed(error);
    line.restsUntilMs = performance.now() + FAILURE_REST_MS;
    line.dueAt = this.#options.clock.now();
  }

  // Sending ----------------------------------------------------------------------------------------------------------

  /** Something about it has changed: there may be something to write, to read or to send. */
  #touch(line: Line): void {
    this.#inMemory += line.queue.size - line.size;
    line.size = line.queue.size;
    if (line.state !== "open" && line.isDrained) this.#refresh.notify();
    if (line.queue.disabling !== undefined) this.#close(line, "closing");
    this.#makeReady(line);
    this.#pumpSoon();
    this.#feed(line);
  }

  #makeReady(line: Line): void {
    if (line.state !== "open") return;
    const { live, failing } = this.#ready;
    (line.queue.isFailing ? failing : live).add(line);
    (line.queue.isFailing ? live : failing).delete(line);
  }

  #tick(): void {
    const nowMs = performance.now();
    if (nowMs > this.maySendUntilMs) this.end("at once");
    this.#noteStop(nowMs);
    this.#pace.adapt(nowMs);
    const { clock } = this.#options;
    if (clock.fault !== undefined) return;
    const now = clock.now();
    for (const line of this.#lines.values()) {
      if (line.dueAt === undefined || line.dueAt > now) continue;
      line.dueAt = undefined;
      this.#touch(line);
    }
    if (!this.#ready.live.isEmpty || !this.#ready.failing.isEmpty) this.#pump();
  }

  #noteStop(nowMs: number): void {
    if (nowMs - this.#tickedAtMs > STOPPED_MS) {
      this.#stops += 1;
      this.#refresh.notify();
    }
    this.#tickedAtMs = nowMs;
  }

  /** With a wrong clock retries would be due too early, and the next ones far too late. */
  get #maySend(): boolean {
    const { fault } = this.#options.clock;
    const nowMs = performance.now();
    const mayBeStale = this.#stopsChecked < this.#stops || nowMs - this.#tickedAtMs > STOPPED_MS;
    if (mayBeStale || nowMs > this.maySendUntilMs) return false;
    return fault === undefined && !this.#isEnding && !this.#writer.isBehind;
  }

  #pump(): void {
    this.#isPumping = false;
    if (!this.#maySend) return;
    this.#pace.beginTurn();
    while (!this.#inFlight.isFull && this.#pace.mayTake(performance.now())) {
      if (this.#pace.isTurnOver) {
        this.#pumpSoon();
        return;
      }
      const line = this.#nextReady();
      if (line === undefined) return;
      this.#takeTurn(line);
    }
  }

  #nextReady(): Line | undefined {
    const { live, failing } = this.#ready;
    if (this.#inFlight.isFullOfFailing) return live.next();
    this.#turns += 1;
    return this.#turns % TURNS_PER_FAILING === 0 ? (failing.next() ?? live.next()) : (live.next() ?? failing.next());
  }

  #pumpSoon(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    setImmediate(() => this.#pump());
  }

  /** Sends one, and puts the webhook behind the others. */
  #takeTurn(line: Line): void {
    if (line.state !== "open") return;
    const now = this.#options.clock.now();
    const nowMs = performance.now();
    const { customerId } = line.webhook;
    const isPaced = this.#inFlight.isFullOf(customerId) || !this.#pace.mayTakeOf(customerId, nowMs);
    const rests = line.restsUntilMs > nowMs || isPaced;
    const post = rests ? undefined : line.queue.take(now);
    if (post === undefined) line.dueAt = rests ? now : line.queue.nextDueAt(now);
    else {
      this.#pace.onTaken(customerId, nowMs);
      this.#makeReady(line);
      void this.#deliver(line, post);
    }
    // What was blocked behind an open row has left the window.
    this.#feed(line);
    if (post === undefined) this.#writer.onChange(line);
  }

  async #deliver(line: Line, post: Post<QueuedEvent>): Promise<void> {
    const isToFailing = line.queue.isFailing;
    const { customerId } = line.webhook;
    this.#inFlight.change(customerId, isToFailing, 1);
    const sent = await this.#send(line, post).catch((error: unknown) => {
      this.#onFailure(line, error);
      return "not sent" as const;
    });
    this.#inFlight.change(customerId, isToFailing, -1);
    if (this.#inFlight.count === 0) this.#idle.notify();
    const now = this.#options.clock.now();
    if (sent === "not sent") line.queue.putBack(post);
    else if (sent === "expired") line.queue.drop(post, now);
    else this.#settle(line, post, sent.answer, sent.messageId);
    this.#writer.onChange(line);
    this.#touch(line);
  }

  async #send(
    line: Line,
    post: Post<QueuedEvent>,
  ): Promise<{ readonly answer: Answer; readonly messageId: string } | "not sent" | "expired"> {
    const { webhook } = line;
    const events = post.events ?? (await this.#reads.again(line, post.numbers[0] ?? 0n));
    if (events.length < post.numbers.length) return "expired";
    const mayPost = (): boolean => line.state === "open" && this.#maySend;
    if (!mayPost()) return "not sent";
    const message = messageOf(webhook, events);
    this.#pace.onBody(webhook.customerId, Buffer.byteLength(message.body), performance.now());
    const answer = await this.#options.sender.send(webhook, message, { signal: this.#abort.signal, mayPost });
    if (answer === "not posted" || (this.#abort.signal.aborted && answer.kind === "unanswered")) return "not sent";
    return { answer, messageId: message.id };
  }

  #settle(line: Line, post: Post<QueuedEvent>, answer: Answer, messageId: string): void {
    const { clock, ids, log } = this.#options;
    const { id: webhookId } = line;
    const now = clock.now();
    const outcome = outcomeOf(answer, now);
    line.queue.settle(post, outcome, now);
    const events = post.numbers.length;
    const what = { webhookId, id: ids.next(), messageId, number: post.numbers[0], events };
    this.#writer.onAttempt(attemptOf(what, answer, outcome, now));
    log({ kind: "attempted", webhookId, outcome: outcome.kind, events, ms: answer.ms });
    line.attemptsSinceTrim += 1;
    if (line.attemptsSinceTrim >= TRIM_EVERY) this.#trim(line);
  }

  #trim(line: Line): void {
    line.attemptsSinceTrim = 0;
    void this.#reads
      .inTurn(line, () => trimAttempts(this.#options.database.commits, line.id))
      .catch((error: unknown) => this.#outage.failed(error));
  }
}
