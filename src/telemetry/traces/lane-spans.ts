import { context, ROOT_CONTEXT, type Span, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import { Unavailable } from "../../ledger/decision.ts";
import type { CommittedBatch, LaneOptions } from "../../ledger/writer/lane-options.ts";

interface Executed {
  readonly span: Span;
  readonly startedMs: number;
}

/**
 * Observes a lane. A command's span lies within the span of its caller. A batch serves many commands: its span lies within
 * that of its first command, and the two are linked with each other for all of them.
 */
export class LaneSpans {
  readonly #tracer: Tracer;
  readonly #executed = new WeakMap<object, Executed>();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  readonly onExecute: NonNullable<LaneOptions["onExecute"]> = (command, outcome) => {
    const attributes = { "parbook.command": command.claims?.[0]?.kind ?? "other" };
    const span = this.#tracer.startSpan("lane.execute", { attributes }, context.active());
    if (span.isRecording()) this.#executed.set(command, { span, startedMs: performance.now() });
    outcome.then(
      (result) => {
        const { kind } = result;
        span.setAttribute("parbook.outcome", kind === "rejected" ? result.rejection.code : kind).end();
      },
      (error: unknown) => {
        span.setStatus({ code: SpanStatusCode.ERROR, message: errorMessage(error) }).end();
      },
    );
  };

  readonly onCommitted = (batch: CommittedBatch): void => traceBatch(this.#tracer, this.#executed, batch);
}

/** Created after the commit: before it, a command may be retried in another batch. */
function traceBatch(tracer: Tracer, executed: WeakMap<object, Executed>, batch: CommittedBatch): void {
  const endedMs = performance.now();
  const sentMs = endedMs - batch.ms;
  const members = batch.commands.flatMap((command) => executed.get(command) ?? []);
  const [first] = members;
  if (first === undefined) return;
  const where = { "parbook.slot": batch.slot, "parbook.batch": Number(batch.n) };
  const span = tracer.startSpan(
    "lane.batch",
    {
      startTime: sentMs,
      attributes: { ...where, "parbook.commands": batch.commands.length },
      links: members.map((member) => ({ context: member.span.spanContext() })),
    },
    trace.setSpan(ROOT_CONTEXT, first.span),
  );
  span.end(endedMs);
  for (const member of members) {
    const waited = { "parbook.waited_ms": sentMs - member.startedMs, "parbook.commit_ms": batch.ms };
    member.span.setAttributes({ ...where, ...waited });
    member.span.addLink({ context: span.spanContext() });
  }
}

/** The message of an unexpected error may contain secrets, so only its name is traced. */
function errorMessage(error: unknown): string {
  if (error instanceof Unavailable) return error.message;
  return error instanceof Error ? error.name : "unknown";
}
