/** How many orders each customer has in a part of the book. A customer without orders takes no memory. */
export class CustomerCounts {
  readonly #counts = new Map<string, number>();

  of(customer: string): number {
    return this.#counts.get(customer) ?? 0;
  }

  /** Whether any other customer has orders here. */
  hasOthers(customer: string): boolean {
    return this.#counts.size > (this.#counts.has(customer) ? 1 : 0);
  }

  add(customer: string): void {
    this.#counts.set(customer, this.of(customer) + 1);
  }

  remove(customer: string): void {
    const left = this.of(customer) - 1;
    if (left > 0) this.#counts.set(customer, left);
    else this.#counts.delete(customer);
  }
}
