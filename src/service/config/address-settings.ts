/** URLs: of the database, and those at which callers reach the service. */
import { InvalidValue, type Setting } from "./setting.ts";

/** The driver would use the last of a parameter that is given twice, and a reader may see only the first. */
export const databaseAddress: Setting<string | undefined> = {
  absent: undefined,
  read: (text) => {
    const url = readUrl(text, ["postgres:", "postgresql:"]);
    if (url instanceof InvalidValue) return url;
    const names = [...url.searchParams.keys()];
    const twice = names.find((name, i) => names.indexOf(name) !== i);
    if (twice !== undefined) return new InvalidValue(`gives the parameter ${twice} more than once`);
    if (url.hash !== "") return new InvalidValue("has a fragment: write # as %23");
    return withoutSlashes(text);
  },
};

/** Becomes the issuer or audience of tokens and the beginning of other addresses. It may have a path. */
export const publicAddress: Setting<string | undefined> = {
  absent: undefined,
  read: (text) => {
    const url = readUrl(text, ["http:", "https:"]);
    if (url instanceof InvalidValue) return url;
    return /[\s@?#\\]/.test(text)
      ? new InvalidValue("is not just a host and perhaps a port and a path: it has a user, query, fragment or space")
      : withoutSlashes(text);
  },
};

function readUrl(text: string, protocols: readonly string[]): URL | InvalidValue {
  return URL.canParse(text) && protocols.includes(new URL(text).protocol)
    ? new URL(text)
    : new InvalidValue(`is not a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(" or ")}`);
}

const withoutSlashes = (text: string): string => text.replace(/\/+$/, "");
