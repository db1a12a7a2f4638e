/**
 * Ends PostgreSQL when the service that started it is gone, whatever ended that. SIGKILL and a crash leave nobody in the
 * service to do it, so every server is started with a small watcher beside it: a shell that reads from a pipe to the
 * service. The service never writes to it. The kernel closes it with the service, and the end of the file is the signal.
 *
 * - The watcher is forked before the server, by the process that then becomes the server: there is no moment at which the
 *   service can die and leave a server without one.
 * - It knows its server by process id and start time, so it never signals a process that was given the id later, and never
 *   the server that the next service has started on the same data.
 * - It is in the server's session, not in the service's: signals of a terminal or of the service's process group do not
 *   reach it, and it ignores those that a supervisor sends to every process of a unit. It is not the server's child
 *   (PostgreSQL takes the death of a child that it does not know for a crash), holds none of the service's pipes, no lock,
 *   and no file or directory.
 * - When the server has ended first, the service closes the pipe, and the watcher finds nothing to do.
 *
 * Killing the watcher does no harm: the service ends its server itself, and the next start ends what was left running.
 */
import type { ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import { must } from "../../std/assert.ts";

/** The pipe's number in the server's stdio. */
const WATCHER_PIPE = 3;
const END_LIMIT_MS = 1_000;

/**
 * `$$` is the process that becomes the server, in every subshell too. Seconds in the limits are those of `processes.ts`,
 * which asks in the same way. The inner parentheses with `&` make the watcher nobody's child.
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

/** The arguments for /bin/sh that start `program` in its place, and the watcher beside it. */
export function withWatcher(program: string, parameters: readonly string[]): string[] {
  return ["-c", SCRIPT, "parbook-watcher", program, ...parameters];
}

/**
 * Lets the watcher of a server go when the server has ended. Resolves when it is gone, or, should it not be able to end
 * (SIGSTOP), a second later.
 */
export async function watcherEnd(server: ChildProcess): Promise<void> {
  const pipe = must(server.stdio[WATCHER_PIPE], "a server is started with this pipe") as Socket;
  // Until then it is no reason for this process to live, and it may break: somebody has killed the watcher.
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
