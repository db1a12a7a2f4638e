/**
 * A vitest reporter that prints one final line, `N passed, N failed[, N skipped]`, for CI. Files that do not load and unhandled
 * errors count as failures, as does a run that fails without a failing test (broken set-up, no tests found).
 */
export default class ClosingLine {
  #passed = 0;
  #failed = 0;
  #skipped = 0;

  onInit() {
    process.once("exit", (code) => this.#print(code));
  }

  onTestRunEnd(files, unhandledErrors) {
    this.#failed += unhandledErrors.length;
    for (const file of files) {
      this.#failed += file.errors().length;
      for (const suite of file.children.allSuites()) this.#failed += suite.errors().length;
      for (const test of file.children.allTests()) this.#count(test.result().state);
    }
  }

  #count(state) {
    if (state === "passed") this.#passed += 1;
    else if (state === "failed") this.#failed += 1;
    else this.#skipped += 1;
  }

  #print(exitCode) {
    const failed = exitCode === 0 ? this.#failed : Math.max(this.#failed, 1);
    const skipped = this.#skipped === 0 ? "" : `, ${this.#skipped} skipped`;
    process.stdout.write(`${this.#passed} passed, ${failed} failed${skipped}\n`);
  }
}
