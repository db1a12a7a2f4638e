/** The catalogue that a new database is filled with: ours, or the operator's. */
import { type CatalogueFile, catalogueOf, readOwnCatalogue, withCoin } from "../catalogue/fill-catalogue.ts";
import { jsonOf, readSettingFile } from "./setting-file.ts";

/** What the operator chose, if anything. */
interface CatalogueChoice {
  /** The operator's file. Undefined: `catalogue.json`. */
  readonly catalogue?: string | undefined;
  /** A stablecoin to add, with a market against USD. */
  readonly coin?: string | undefined;
}

/**
 * @throws SettingFileError when it cannot be read
 * @throws CatalogueError when it is not a catalogue
 */
export async function readCatalogue({ catalogue, coin }: CatalogueChoice): Promise<CatalogueFile> {
  const file = catalogue === undefined ? await readOwnCatalogue() : await readFileOf(catalogue);
  return coin === undefined ? file : withCoin(file, coin);
}

async function readFileOf(path: string): Promise<CatalogueFile> {
  const bytes = await readSettingFile("PARBOOK_CATALOGUE", path);
  return catalogueOf(jsonOf(`the catalogue ${path}`, bytes, Number.POSITIVE_INFINITY));
}
