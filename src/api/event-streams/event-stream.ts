/**
 * GET /v2/events/stream: Server-Sent Events. A stream is read from the log page by page, and the next page only when the
 * reader has taken the one before: a slow reader holds one page, and no queue. Streams of one customer that have come equally
 * far share the page. A stream ends with its token, with the process, and when its reader takes nothing; a reader that
 * reconnects with `Last-Event-ID` goes on where it was.
 */
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import type { CustomerId } from "../../customers/customer-id.ts";
import type { EventFilter, EventPage } from "../../events/events.ts";
import { pause, restMs } from "../../std/pause.ts";
import { BUSY, ThreadLoad } from "../../std/thread-load.ts";
import { progressOf } from "../../web/connections/sliced-tls-writes.ts";
import { onceClosed } from "../../web/connections/tracked-response.ts";
import { FairAdmission } from "../../web/limits/fair-admission.ts";
import { releaseAdmission } from "../access/request-admission.ts";
import type { Api } from "../api.ts";
import type { ApiDialect } from "../dialect/api-dialect.ts";
import { invalid } from "../problems/failing-fields.ts";
import { errors } from "../problems/problem-responses.ts";
import { unavailable } from "../problems/problems.ts";
import {
  afterTheLast,
  EVENT_FILTERS,
  EventBody,
  type EventRoutesOptions,
  eventBodies,
  objectFilterOf,
} from "../routes/events.ts";
import { type AwaitedNews, type MostWaiting, untilNews, Waiters } from "./waiters.ts";

export interface StreamBounds {
  readonly most: MostWaiting;
  /** How often a stream without events shows that it is alive. */
  readonly heartbeatMs: number;
  /** How often tokens are verified again, and readers have to have taken something. */
  readonly checkMs: number;
  readonly stalledMs: number;
}

const BOUNDS: StreamBounds = {
  most: { all: 2_500, ofCustomer: 250, ofClient: 125, ofAddress: 250 },
  heartbeatMs: 15_000,
  checkMs: 2_000,
  stalledMs: 30_000,
};

/** A page of a stream. Small: each stream may hold one that its reader does not take, and each that is opened again begins with one. */
const PAGE = { limit: 100, mostBytes: 64 * 1024 };
/** Pages that are read at once, in turn by customer: they leave connections to the database for all other reads. */
const PAGES = { atOnce: 3, alone: 2, share: 1, expectedMs: 30_000, maxWaitMs: 30_000 };
/**
 * Pages with filters: they may examine thousands of events to find none. Each waits first for as long as the one
 * before it of its customer took, so that however many there are, they use half of what two of them could.
 */
const SEARCHES = { ...PAGES, atOnce: 2 };
/**
 * A page with more behind it keeps its place for so many times longer than it took, and a search waits for so many times as
 * long as the one before it took: a hundred streams that begin with the first event have no other pace, and would take a
 * processor each of service and database. More while the thread is busy: what a reader's events cost when they are sent is
 * not in the time that their page took.
 */
const RESTS = { ofPage: 2, ofSearch: 1, whileBusy: 4 };
/** How long a reader waits before it connects again, in milliseconds. */
const RETRY = "retry: 1000\n\n";

interface StreamOptions extends Omit<EventRoutesOptions, "waiters"> {
  readonly bounds?: Partial<StreamBounds>;
  readonly load?: Pick<ThreadLoad, "utilization">;
  /** For metrics. */
  readonly onCount?: ((open: number) => void) | undefined;
}

const StreamQuery = Type.Object(EVENT_FILTERS);

const StreamText = Type.Unsafe<unknown>({
  type: "string",
  title: "EventStream",
  description: "Messages of Server-Sent Events. After 15 s without any there is one of an `id` alone.",
});

export function eventStreamRoute(api: Api, options: StreamOptions): void {
  const streams = new Streams(options, api.dialect);
  api.addHook("preClose", async () => streams.close());
  api.get(
    "/v2/events/stream",
    {
      config: { scope: "events:read_event" },
      exposeHeadRoute: false,
      schema: {
        operationId: "streamEvents",
        tags: ["Events"],
        summary: "Follow events",
        description:
          "The caller's events as they happen, as Server-Sent Events: `id` is the number, `data` an Event. Begins after the header `Last-Event-ID`, else `after_number`, else now. Ends with its token; a reader connects again.",
        querystring: StreamQuery,
        response: {
          200: { description: "The stream.", content: { "text/event-stream": { schema: StreamText } } },
          ...errors(400, 401, 403, 429, 500, 503),
        },
      },
    },
    (request, reply) => streams.open(request, request.query, reply),
  );
}

/** Events as they are sent. */
interface Page extends Omit<EventPage, "events"> {
  readonly messages: Buffer;
}

interface SharedPage {
  readonly readers: Stream[];
  readonly page: Promise<Page | undefined>;
}

/** One reader. */
interface Stream {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly news: AwaitedNews;
  /** That in which it was opened. */
  readonly history: string;
  isEnding: boolean;
  /** Bytes that had left when some were found unsent first, and when that was. */
  stalled: { readonly progress: number; readonly sinceMs: number } | undefined;
}

class Streams {
  readonly #options: StreamOptions;
  readonly #dialect: ApiDialect;
  readonly #bounds: StreamBounds;
  readonly #load: Pick<ThreadLoad, "utilization">;
  readonly #waiters: Waiters;
  readonly #reads: FairAdmission;
  readonly #searches: FairAdmission;
  /** What a customer's last search took. */
  readonly #searchMsOf = new Map<CustomerId, number>();
  readonly #all = new Set<Stream>();
  /** Pages that are being read since this turn of the event loop. */
  readonly #shared = new Map<string, SharedPage>();
  readonly #timer: NodeJS.Timeout;
  #isClosing = false;

  constructor(options: StreamOptions, dialect: ApiDialect) {
    this.#options = options;
    this.#dialect = dialect;
    this.#bounds = { ...BOUNDS, ...options.bounds };
    this.#load = options.load ?? new ThreadLoad();
    const { all, ofCustomer } = this.#bounds.most;
    this.#waiters = new Waiters(this.#bounds.most);
    // With room for a page of every stream, even while one customer has its maximum of them.
    const room = { most: all + 2 * ofCustomer, shortQueue: ofCustomer };
    this.#reads = new FairAdmission({ ...PAGES, ...room });
    this.#searches = new FairAdmission({ ...SEARCHES, ...room });
    this.#timer = setInterval(() => void this.#check(), this.#bounds.checkMs).unref();
  }

  /** @throws Problem when the process, the customer, its client or the address has its maximum of streams */
  async open(request: FastifyRequest, query: Static<typeof StreamQuery>, reply: FastifyReply): Promise<FastifyReply> {
    const { customerId } = request.grant;
    const { events } = this.#options;
    const leave = this.#isClosing ? undefined : this.#waiters.enter(request);
    if (leave === undefined) throw unavailable("there are as many event streams as there may be");
    const news = untilNews(events, customerId, reply.raw);
    const stream: Stream = { request, reply, news, history: events.history, isEnding: false, stalled: undefined };
    const end = (): void => {
      if (!this.#all.delete(stream)) return;
      stream.isEnding = true;
      news.stop();
      leave();
      this.#options.onCount?.(this.#all.size);
    };
    this.#all.add(stream);
    this.#options.onCount?.(this.#all.size);
    // Before anything is awaited: the caller may leave meanwhile, or has left while its `default` was looked up.
    onceClosed(reply.raw, end);
    try {
      const { last } = await events.bounds(customerId);
      const after = afterOf(request, query) ?? last;
      if (after > last) throw afterTheLast("Last-Event-ID or after_number", last);
      const filter = { ...objectFilterOf(query), customerId, after };
      // Each page has an admission of its own: a stream may last for an hour.
      releaseAdmission(request);
      reply.type("text/event-stream").header("x-accel-buffering", "no");
      return reply.send(Readable.from(this.#read(stream, filter), { objectMode: false }));
    } catch (error) {
      end();
      throw error;
    }
  }

  async *#read(stream: Stream, filter: Omit<EventFilter, "limit" | "mostBytes">): AsyncGenerator<Buffer> {
    let { after } = filter;
    yield Buffer.from(RETRY);
    let sentAtMs = performance.now();
    while (!stream.isEnding) {
      const page = await this.#page(stream, { ...filter, after, ...PAGE });
      if (page === undefined) return;
      // Its reader connects again, and is told if the database was restored to before its last event.
      if (this.#options.events.history !== stream.history) return;
      after = page.searchedTo;
      if (page.messages.length > 0) {
        yield page.messages;
        sentAtMs = performance.now();
      }
      if (stream.isEnding) return;
      const leftMs = sentAtMs + this.#bounds.heartbeatMs - performance.now();
      if (leftMs <= 0) {
        // The id also spares a reader with filters from having them searched again.
        yield Buffer.from(`id: ${after}\n\n`);
        sentAtMs = performance.now();
      } else if (page.isLast) await stream.news.wait(leftMs);
    }
  }

  /** News wakes all streams of a customer in one turn. A page that was begun before may lack the news, so it is not shared. */
  #page(stream: Stream, filter: EventFilter): Promise<Page | undefined> {
    const { types, objectId, profileId, customerId, after } = filter;
    if (types !== undefined || objectId !== undefined || profileId !== undefined) return this.#search(stream, filter);
    const name = `${customerId} ${after}`;
    const shared = this.#shared.get(name);
    if (shared !== undefined) {
      shared.readers.push(stream);
      return shared.page;
    }
    const readers = [stream];
    const page = this.#readPage(readers, filter);
    this.#shared.set(name, { readers, page });
    setImmediate(() => this.#shared.delete(name));
    return page;
  }

  /** @returns undefined when the database is so busy that the readers had better come again */
  #readPage(readers: readonly Stream[], filter: EventFilter): Promise<Page | undefined> {
    const isAwaited = (): boolean => readers.some(({ isEnding }) => !isEnding);
    return new Promise((resolve, reject) => {
      const reading = this.#reads.run(filter.customerId, async () => {
        const startedMs = performance.now();
        const page = await this.#list(filter, isAwaited);
        const tookMs = performance.now() - startedMs;
        resolve(page);
        if (!page.isLast) await this.#rest(tookMs, RESTS.ofPage);
      });
      reading.then(() => resolve(undefined), reject);
    });
  }

  #search(stream: Stream, filter: EventFilter): Promise<Page | undefined> {
    return this.#searches.run(filter.customerId, async () => {
      await this.#rest(this.#searchMsOf.get(filter.customerId) ?? 0, RESTS.ofSearch);
      const startedMs = performance.now();
      const page = await this.#list(filter, () => !stream.isEnding);
      this.#searchMsOf.set(filter.customerId, performance.now() - startedMs);
      return page;
    });
  }

  #rest(tookMs: number, times: number): Promise<void> {
    return pause(restMs(tookMs, this.#load.utilization > BUSY ? times * RESTS.whileBusy : times));
  }

  async #list(filter: EventFilter, isAwaited: () => boolean): Promise<Page> {
    const { events, searchedTo, isLast } = await this.#options.events.list(filter, isAwaited);
    const bodies = await eventBodies(events, filter.customerId, this.#options, this.#dialect);
    const messages = Buffer.from(bodies.map((body) => this.#message(body)).join(""));
    return { messages, searchedTo, isLast };
  }

  #message(body: Static<typeof EventBody>): string {
    return `id: ${body.number}\ndata: ${JSON.stringify(this.#dialect.giver(EventBody)(body))}\n\n`;
  }

  async #check(): Promise<void> {
    const nowMs = performance.now();
    if (this.#all.size === 0) this.#searchMsOf.clear();
    for (const stream of this.#all) {
      if (!(await stream.request.server.isStillGranted(stream.request))) this.#end(stream);
      else if (this.#isStalled(stream, nowMs)) stream.reply.raw.destroy();
    }
  }

  #isStalled(stream: Stream, nowMs: number): boolean {
    const { socket } = stream.request.raw;
    const progress = progressOf(socket);
    if (socket.writableLength === 0) stream.stalled = undefined;
    else if (stream.stalled?.progress !== progress) stream.stalled = { progress, sinceMs: nowMs };
    return stream.stalled !== undefined && nowMs - stream.stalled.sinceMs >= this.#bounds.stalledMs;
  }

  /** After the page in progress. */
  #end(stream: Stream): void {
    stream.isEnding = true;
    stream.news.end();
  }

  close(): void {
    this.#isClosing = true;
    clearInterval(this.#timer);
    for (const stream of this.#all) this.#end(stream);
  }
}

/** The number behind which the stream begins: that of the last event that the reader has, or what it asks for. */
function afterOf({ headers }: FastifyRequest, query: Static<typeof StreamQuery>): bigint | undefined {
  const last = headers["last-event-id"];
  if (last === undefined || last === "")
    return query.after_number === undefined ? undefined : BigInt(query.after_number);
  if (typeof last !== "string" || !/^[0-9]{1,14}$/.test(last))
    throw invalid([{ field: "Last-Event-ID", rule: "is not the number of an event" }]);
  return BigInt(last);
}
