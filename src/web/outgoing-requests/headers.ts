/** Whether all are what they seem to any reader of HTTP, so that none of them ends the head of the request early. */
export const areHeaders = (headers: Readonly<Record<string, string>>): boolean =>
  Object.entries(headers).every(([name, value]) => isHeaderName(name) && isHeaderValue(value));

export const isHeaderName = (name: string): boolean => NAME.test(name) && !NO_NAME.test(name);

export const isHeaderValue = (value: string): boolean => VALUE.test(value);

/** In an object it would be no header, but set its prototype: it would not be sent. */
const NO_NAME = /^__proto__$/i;

/** RFC 9110, section 5.6.2. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Not what section 5.5 calls obsolete, nor blanks at the ends, which readers drop. */
const VALUE = /^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/;
