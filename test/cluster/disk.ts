/** A disk of a few hundred megabytes that can be filled: a file system in memory. Needs root. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fill } from "../reliability/small-disk.ts";

const MEGABYTES = 600;

export class Disk {
  readonly #ballast: string;
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
    this.#ballast = join(path, "ballast");
  }

  static mount(path: string, { uid, gid }: { readonly uid: number; readonly gid: number }): Disk {
    mkdirSync(path);
    const options = `size=${MEGABYTES}m,mode=700,uid=${uid},gid=${gid}`;
    execFileSync("mount", ["-t", "tmpfs", "-o", options, "parbook-cluster", path], { stdio: "ignore" });
    return new Disk(path);
  }

  /** Until not one byte more fits on it. */
  fill(): void {
    fill(this.#ballast);
  }

  makeRoom(): void {
    rmSync(this.#ballast, { force: true });
  }

  /** Also while it is in use. */
  unmount(): void {
    execFileSync("umount", ["--lazy", this.#path], { stdio: "ignore" });
  }
}
