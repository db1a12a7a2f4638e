/**
 * A vitest reporter whose only word is the last line, `N passed, N failed[, N skipped]`, which CI adds up.
 * Whatever made the run fail counts: a file that does not load and an unhandled error are each a failure, and so is
 * a run that fails without a failing test, such as one whose set-up broke or that found no tests.
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
