/**
 * Spans of what this process does, by OpenTelemetry's API: a span for each request, in it one for each command that it
 * gives to the lane, one for each batch, linked to the commands in it, and one for each round of an engine. The operator
 * loads an SDK before the service (docs/traces.md); without one there are no `Traces`, and nothing is hooked in.
 *
 * A span tells no more of a caller than its request_id: the log and the audit trail know the rest.
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

  /** Undefined where no SDK was loaded. */
  static find(): Traces | undefined {
    const provider = trace.getTracerProvider();
    // Another copy of the API, beside the operator's SDK, is there because it has an SDK.
    const tracer =
      provider instanceof ProxyTracerProvider ? provider.getDelegateTracer("parbook") : provider.getTracer("parbook");
    return tracer && new Traces(tracer);
  }

  /** To be called before other hooks are added: what they refuse is traced as well. */
  readonly watch = (server: Hooked): void => traceRequests(server, this.#tracer);

  readonly aroundRound: AroundRound = (round, work) => aroundRound(this.#tracer, round, work);
}
