/**
 * OpenTelemetry spans: one for each request, each lane command, each batch and each engine round. The operator loads an
 * SDK before the service (docs/traces.md); without one, nothing is instrumented.
 *
 * A span identifies a caller by request_id only.
 */
import { ProxyTracerProvider, type Tracer, trace } from "@opentelemetry/api";
import type { AroundRound } from "../../exchange/engine/engines.ts";
import { aroundRound } from "./engine-spans.ts";
import { LaneSpans } from "./lane-spans.ts";
import { type Hooked, traceRequests } from "./request-spans.ts";

export class Traces {
  readonly #tracer: Tracer;
  readonly lane: LaneSpans;

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
    this.lane = new LaneSpans(tracer);
  }

  /** Undefined if no SDK is loaded. */
  static find(): Traces | undefined {
    const provider = trace.getTracerProvider();
    // A provider from another copy of the API comes from an SDK.
    const tracer =
      provider instanceof ProxyTracerProvider ? provider.getDelegateTracer("parbook") : provider.getTracer("parbook");
    return tracer && new Traces(tracer);
  }

  /** Call before other hooks are added, to include the requests that they reject. */
  readonly watch = (server: Hooked): void => traceRequests(server, this.#tracer);

  readonly aroundRound: AroundRound = (round, work) => aroundRound(this.#tracer, round, work);
}
