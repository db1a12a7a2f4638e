import { context, ROOT_CONTEXT, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import type { RoundInFlight } from "../../exchange/engine/engines.ts";

/** A root span: a round serves many requests. */
export async function aroundRound<Result>(
  tracer: Tracer,
  { market, startedMs }: RoundInFlight,
  work: () => Promise<Result>,
): Promise<Result> {
  const attributes = { "parbook.market": market };
  const span = tracer.startSpan("engine.round", { startTime: startedMs, attributes }, ROOT_CONTEXT);
  try {
    return await context.with(trace.setSpan(ROOT_CONTEXT, span), work);
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.name : "unknown" });
    throw error;
  } finally {
    span.end(performance.now());
  }
}
