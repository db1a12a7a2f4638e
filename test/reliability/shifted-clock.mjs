/**
 * Preloaded into the service (`node --import`): its time of day is off by the milliseconds that the file in
 * STORM_CLOCK holds, and steps when the file is changed. What measures waits is left alone, as by a clock that is set.
 */
import { readFileSync } from "node:fs";

const { STORM_CLOCK } = process.env;
const TrueDate = Date;
let shiftMs = 0;

function readShift() {
  try {
    shiftMs = Number(readFileSync(STORM_CLOCK, "utf8"));
  } catch {
    // Being written, or not there yet: the clock goes on as it is.
  }
}

if (STORM_CLOCK !== undefined) {
  readShift();
  setInterval(readShift, 20).unref();
  const now = () => TrueDate.now() + shiftMs;
  globalThis.Date = new Proxy(TrueDate, {
    construct: (target, parts, made) => Reflect.construct(target, parts.length === 0 ? [now()] : parts, made),
    apply: () => new TrueDate(now()).toString(),
    get: (target, name, receiver) => (name === "now" ? now : Reflect.get(target, name, receiver)),
  });
}
