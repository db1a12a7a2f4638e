/**
 * What differs from one recording of the examples to the next, as it is in all of them (docs/testing.md#the-examples):
 * - An id becomes one that is made of the operation that first showed it. Those that were ascending still are, and the two
 *   records of a transfer still have neighbouring ids.
 * - A time becomes the time of the story at which it was first shown. A midnight stays one.
 * - Cursors hold such ids and times. Tokens are replaced, and so are the keys of webhooks and the number of seconds to wait.
 */
import { createHash } from "node:crypto";
import { formatInstant, type Instant } from "../../src/std/clock.ts";

const UUID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const EXECUTION_ID = /\b[0-9]{18,19}\b/g;
const KEY = /(?<=whsec_|whpk_)[A-Za-z0-9+/]{43}=/g;
/** The path of the story's receiver, wherever it listens. */
const RECEIVER = /http:\/\/127\.0\.0\.1:[0-9]+(?=\/parbook-events)/;
const DAY_MS = 86_400_000;
/** From which execution ids count. */
const EPOCH = Date.UTC(2020, 0, 1);

/** The payload is `{}`. */
const TOKEN = "eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9.e30.c2lnbmF0dXJl";

type Fields = Readonly<Record<string, unknown>>;

export class StableValues {
  readonly #today: number;
  readonly #storyDay: number;
  /** The time of the story. */
  #now: number;
  #operationId = "";
  /** Made for the current operation. */
  #made = 0;
  readonly #ids: Map<string, string>;
  readonly #times = new Map<string, string>();
  readonly #keys = new Map<string, string>();

  /**
   * @param today midnight of the real day, as `storyDay` is of the story's
   * @param ids those that are the same in each recording
   */
  constructor(today: Instant, storyDay: Instant, ids: readonly string[]) {
    this.#ids = new Map(ids.map((id) => [id, id]));
    this.#today = today;
    this.#storyDay = storyDay;
    this.#now = storyDay;
  }

  /** What follows is about this operation, at this time of the story's day, "09:30". */
  begin(operationId: string, time: string): void {
    const [hours = 0, minutes = 0] = time.split(":").map(Number);
    this.#now = this.#storyDay + (hours * 60 + minutes) * 60_000;
    this.#operationId = operationId;
    this.#made = 0;
  }

  /** The same value with stable ids, times, cursors and tokens. */
  of(value: unknown): unknown {
    const text = JSON.stringify(value);
    const found = [...(text.match(UUID) ?? []), ...(text.match(EXECUTION_ID) ?? [])];
    for (const id of found.toSorted()) this.#stableId(id);
    return this.#inside(value, {}, "");
  }

  #inside(value: unknown, record: Fields, name: string): unknown {
    if (Array.isArray(value)) return value.map((each) => this.#inside(each, record, name));
    if (typeof value === "string") return this.#text(value, record, name);
    if (typeof value !== "object" || value === null) return value;
    const fields = Object.entries(value).map(([name, each]) => [name, this.#inside(each, value as Fields, name)]);
    return Object.fromEntries(fields);
  }

  #text(text: string, record: Fields, name: string): string {
    if (name === "access_token") return TOKEN;
    if (name === "next_page_cursor" || name === "page_cursor") return this.#cursor(text);
    if (TIME.test(text)) return this.#time(text, record, name);
    return text
      .replace(UUID, (id) => this.#stableId(id))
      .replace(EXECUTION_ID, (id) => this.#stableId(id))
      .replace(KEY, (key) => this.#stableKey(key))
      .replace(RECEIVER, "https://acme.example")
      .replace(/(?<=try again in )[0-9]+(?= s)/, "3");
  }

  #stableKey(key: string): string {
    const stable = this.#keys.get(key) ?? createHash("sha256").update(`key ${this.#keys.size}`).digest("base64");
    this.#keys.set(key, stable);
    return stable;
  }

  #time(text: string, record: Fields, name: string): string {
    const time = Date.parse(text);
    if (time % DAY_MS === 0) return formatInstant((time - this.#today + this.#storyDay) as Instant);
    const { begin, end, id, execution_id, status } = record;
    // The last 24 hours.
    if (name === "begin" && Date.parse(String(end)) - time === DAY_MS)
      return formatInstant((this.#now - DAY_MS) as Instant);
    if (begin !== undefined) return formatInstant(this.#now as Instant);
    const state = name === "created_at" ? "" : status;
    const key = [id ?? execution_id, name, state, text].join();
    const known = this.#times.get(key);
    const stable = known ?? formatInstant(this.#now as Instant);
    this.#times.set(key, stable);
    return stable;
  }

  #cursor(text: string): string {
    if (text === "") return text;
    const [version, digest, position] = JSON.parse(Buffer.from(text, "base64url").toString()) as [
      number,
      string,
      string[],
    ];
    const stable = position.map((part) => this.#text(part, {}, ""));
    const list = hexOf(this.#operationId).slice(0, digest.length);
    return Buffer.from(JSON.stringify([version, list, stable])).toString("base64url");
  }

  #stableId(id: string): string {
    const known = this.#ids.get(id);
    if (known !== undefined) return known;
    this.#made += 1;
    const made = id.includes("-") ? this.#uuid(id) : this.#executionId();
    // The id of an event has no neighbour. That of an execution is a number, with any digit in that place.
    if (id.includes("-") && id[14] === "8") this.#ids.set(id, made);
    else for (const [at, sibling] of siblings(id).entries()) this.#ids.set(sibling, siblings(made)[at] ?? made);
    return this.#stableId(id);
  }

  #executionId(): string {
    return String((BigInt(this.#now - EPOCH) << 22n) | BigInt(this.#made * 2));
  }

  /** Of version 7 with the time of the story; one of version 8 keeps its beginning, which is its number. */
  #uuid(id: string): string {
    const random = hexOf(`${this.#operationId} ${this.#made}`);
    const count = this.#made.toString(16).padStart(3, "0");
    const time = this.#now.toString(16).padStart(12, "0");
    const begin = id[14] === "8" ? `${id.slice(0, 13)}-8` : `${time.slice(0, 8)}-${time.slice(8)}-7`;
    return `${begin}${count}-8${random.slice(0, 3)}-${random.slice(3, 15)}`;
  }
}

/** An id and the one beside it, the even one first. */
function siblings(id: string): readonly string[] {
  if (!id.includes("-")) return [String(BigInt(id) & ~1n), String(BigInt(id) | 1n)];
  const last = Number.parseInt(id.slice(-1), 16);
  return [id.slice(0, -1) + (last & ~1).toString(16), id.slice(0, -1) + (last | 1).toString(16)];
}

const hexOf = (text: string): string => createHash("sha256").update(text).digest("hex");
