/** A process that carries out operators' commands. It is started when it is needed, and can be killed at any moment. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Shown } from "./lifecycles.ts";
import { NoAnswer } from "./send.ts";

const PROGRAM = fileURLToPath(new URL("operator-node.mjs", import.meta.url));

export interface Rejected {
  readonly kind: "rejected";
  readonly rejection: { readonly code: string; readonly status?: string };
}

export type CommandOutcome =
  | { readonly kind: "done"; readonly record: Shown }
  /** Without the record if it is another customer's. */
  | { readonly kind: "exists"; readonly record?: Shown }
  | Rejected;

type Message = { readonly number: number; readonly outcome?: CommandOutcome; readonly fault?: Fault };
type Fault = { readonly isBug: boolean; readonly error: string };
type Waiting = { resolve(outcome: CommandOutcome): void; reject(error: Error): void };

export class OperatorProcess {
  readonly name: string;
  readonly #databaseUrl: string;
  #running: { readonly child: ChildProcess; readonly started: Promise<void> } | undefined;
  readonly #waiting = new Map<number, Waiting>();
  #sent = 0;

  constructor(name: string, databaseUrl: string) {
    this.name = name;
    this.#databaseUrl = databaseUrl;
  }

  /** @throws NoAnswer if its outcome is unknown */
  async execute(command: string, details: object): Promise<CommandOutcome> {
    this.#running ??= this.#start();
    const { child, started } = this.#running;
    await started;
    this.#sent += 1;
    const number = this.#sent;
    if (this.#running?.child !== child) throw new NoAnswer("the operator's process has ended");
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject });
      // If it cannot be sent, the process has ended, and its exit settles this.
      child.send({ number, command, details }, () => undefined);
    });
  }

  async kill(): Promise<void> {
    const child = this.#running?.child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  #start(): { child: ChildProcess; started: Promise<void> } {
    const child = fork(PROGRAM, [this.name], {
      env: { PATH: process.env.PATH, PARBOOK_DATABASE_URL: this.#databaseUrl, PARBOOK_LOG_LEVEL: "silent" },
      execArgv: [],
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    const started = new Promise<void>((resolve, reject) => {
      child.on("message", (message: Message) => (message.number === 0 ? resolve() : this.#answer(message)));
      child.once("exit", (code) => {
        this.#running = undefined;
        this.#ended();
        reject(new NoAnswer(`the operator's process did not start: exit code ${code}`));
      });
    });
    return { child, started };
  }

  #answer({ number, outcome, fault }: Message): void {
    const waiting = this.#waiting.get(number);
    this.#waiting.delete(number);
    if (outcome !== undefined) waiting?.resolve(outcome);
    if (fault !== undefined) waiting?.reject(fault.isBug ? new Error(fault.error) : new NoAnswer(fault.error));
  }

  #ended(): void {
    for (const { reject } of this.#waiting.values()) reject(new NoAnswer("the operator's process has ended"));
    this.#waiting.clear();
  }
}
