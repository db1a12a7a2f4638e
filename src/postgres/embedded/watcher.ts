/**
 * Stops PostgreSQL when the service exits for any reason, SIGKILL and crashes included. Every server has a watcher: a shell
 * that reads from a pipe held by the service. The service never writes to it; the kernel closes it with the service, and
 * end of file is the signal.
 *
 * - The process that becomes the server forks the watcher first, so that no server is ever without one.
 * - The watcher identifies its server by process id and start time, so it never signals a reused id or a later server.
 * - It is in the server's session, so terminal signals and those to the service's process group do not reach it, and it
 *   ignores the signals that supervisors send to a whole unit. It is not the server's child, because PostgreSQL treats the
 *   death of an unknown child as a crash. It holds no pipes, locks, files or directories of the service.
 * - If the server exits first, the service closes the pipe, and the watcher exits.
 *
 * Killing the watcher does no harm: the service stops its own server, and the next start stops a leftover one.
 */
import type { ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import { must } from "../../std/assert.ts";

/** The pipe's number in the server's stdio. */
const WATCHER_PIPE = 3;
const END_LIMIT_MS = 1_000;

/**
 * `$$` is the process that becomes the server, in subshells too. Signals and limits are those of `processes.ts`. The double
 * fork, by the inner parentheses with `&`, detaches the watcher from the server.
 */
const SCRIPT = `# Parbook: the process that ends PostgreSQL when its service is gone
start_time() {
  if [ -d /proc/self ]; then
    read -r stat <"/proc/$$/stat" || return
    set -- \${stat##*) }
    [ "$1" = Z ] || echo "\${20}"
  else
    ps -o lstart= -p $$
  fi
}
is_running() { [ -n "$started" ] && [ "$(start_time)" = "$started" ]; }
end_by() {
  is_running || exit 0
  kill -s "$1" $$
  tenths=$(($2 * 10))
  while [ $tenths -gt 0 ] && is_running; do
    sleep 0.1 || exit 1
    tenths=$((tenths - 1))
  done
}
watch() {
  trap '' HUP INT QUIT TERM
  cd /
  read -r nothing
  end_by INT 20
  end_by QUIT 5
  end_by KILL 0
}
started=$(start_time)
( (watch) <&${WATCHER_PIPE} ${WATCHER_PIPE}>&- >/dev/null 2>&1 & )
exec "$@" ${WATCHER_PIPE}>&-
`;

/** The arguments for /bin/sh to start the watcher and then become `program`. */
export function withWatcher(program: string, parameters: readonly string[]): string[] {
  return ["-c", SCRIPT, "parbook-watcher", program, ...parameters];
}

/**
 * Closes the watcher's pipe when the server has exited. Resolves when the watcher is gone, or after a second if it is
 * suspended.
 */
export async function watcherEnd(server: ChildProcess): Promise<void> {
  const pipe = must(server.stdio[WATCHER_PIPE], "a server is started with this pipe") as Socket;
  // The pipe must not keep this process alive, and breaks if the watcher is killed.
  pipe
    .on("error", () => undefined)
    .resume()
    .unref();
  const closed = new Promise((resolve) => pipe.once("close", resolve));
  await new Promise((resolve) => server.once("exit", resolve).once("error", resolve));
  pipe
    .setTimeout(END_LIMIT_MS, () => pipe.destroy())
    .ref()
    .end();
  await closed;
}
