declare const brand: unique symbol;

/**
 * A value that the compiler keeps apart from others of the same shape, so that an order id in the place
 * of a profile id does not compile. It costs nothing at run time.
 */
export type Brand<Value, Name extends string> = Value & { readonly [brand]: { readonly [Mark in Name]: true } };
