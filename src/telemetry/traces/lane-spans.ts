import { context, ROOT_CONTEXT, type Span, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import { type Command, type Outcome, type Rejection, Unavailable } from "../../ledger/decision.ts";
import { Lane } from "../../ledger/lane/lane.ts";
import type { CommittedBatch, LaneOptions } from "../../ledger/lane/lane-options.ts";

interface Executed {
  readonly span: Span;
  readonly startedMs: number;
}

/**
 * A lane whose commands have spans, each within that of who gives it. A batch serves many: its span lies within that of
 * its first command, and is linked to all of them, as they are to it.
 */
export class TracedLane extends Lane {
  readonly #tracer: Tracer;
  readonly #executed: WeakMap<object, Executed>;

  constructor(options: LaneOptions, tracer: Tracer) {
    const executed = new WeakMap<object, Executed>();
    const onCommitted = (batch: CommittedBatch): void => {
      options.onCommitted?.(batch);
      traceBatch(tracer, executed, batch);
    };
    super({ ...options, onCommitted });
    this.#tracer = tracer;
    this.#executed = executed;
  }

  override async execute<Value, Why extends Rejection>(command: Command<Value, Why>): Promise<Outcome<Value, Why>> {
    const attributes = { "parbook.command": command.claim?.kind ?? "other" };
    const span = this.#tracer.startSpan("lane.execute", { attributes }, context.active());
    if (span.isRecording()) this.#executed.set(command, { span, startedMs: performance.now() });
    try {
      const outcome = await super.execute(command);
      const { kind } = outcome;
      span.setAttribute("parbook.outcome", kind === "rejected" ? outcome.rejection.code : kind);
      return outcome;
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: sayable(error) });
      throw error;
    } finally {
      span.end();
    }
  }
}

/** Told after the fact, when it is known which commands were in it: before, they may be decided again in another. */
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

/** The text of a bug may hold anything: it is in the log. */
function sayable(error: unknown): string {
  if (error instanceof Unavailable) return error.message;
  return error instanceof Error ? error.name : "unknown";
}
