declare const brand: unique symbol;

/**
 * A nominal type: an order id in place of a profile id does not compile. No cost at run time.
 */
export type Brand<Value, Name extends string> = Value & { readonly [brand]: { readonly [Mark in Name]: true } };
