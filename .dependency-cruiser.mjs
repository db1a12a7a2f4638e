/**
 * The import table: which folder of src/ may import which, from the inside out. A folder may import itself and what
 * is listed; whatever is not listed is refused, so that a new folder has to be given its place here.
 */
const RINGS = {
  std: [],
  money: ["std"],
  web: ["std"],
  postgres: ["std"],
  ledger: ["std", "money", "postgres"],
  catalogue: ["std", "money", "postgres", "ledger"],
  customers: ["std", "money", "web", "postgres", "catalogue", "ledger"],
  oauth: ["std", "postgres", "ledger", "customers", "web"],
  "oauth/access-denials": ["std", "postgres"],
  transfers: ["std", "money", "postgres", "catalogue", "ledger", "customers"],
  conversions: ["std", "money", "postgres", "catalogue", "ledger", "customers"],
  exchange: ["std", "money", "postgres", "catalogue", "ledger", "customers"],
  "exchange/book": ["std", "money"],
  events: ["std", "money", "postgres", "catalogue", "ledger", "customers", "transfers", "conversions", "exchange"],
  webhooks: ["std", "postgres", "ledger", "customers", "web", "events"],
  verify: ["std", "money", "postgres", "ledger", "customers", "transfers", "conversions", "exchange", "events"],
  accounting: ["std", "money", "postgres", "ledger", "exchange"],
  api: [
    "std",
    "money",
    "postgres",
    "catalogue",
    "ledger",
    "customers",
    "oauth",
    "web",
    "transfers",
    "conversions",
    "exchange",
    "events",
    "webhooks",
  ],
  "market-maker": ["std", "money", "postgres", "catalogue", "ledger", "customers", "transfers", "exchange"],
  telemetry: [
    "std",
    "postgres",
    "ledger",
    "web",
    "conversions",
    "exchange",
    "events",
    "webhooks",
    "api",
    "market-maker",
  ],
  "service/config": ["std", "web"],
};

/** Inside a folder, which of its parts may import which others. What is not listed may be imported by all of the folder. */
const PARTS = {
  "exchange/book": [],
  "exchange/market-status": [],
  "exchange/customer-fees": [],
  "exchange/executions": [],
  "exchange/orders": ["exchange/customer-fees", "exchange/market-status"],
  "exchange/market-data": ["exchange/orders"],
  "exchange/market-feed": ["exchange/market-data"],
  "exchange/engine": ["exchange/book", "exchange/market-feed"],
};

/**
 * The front doors of the domain folders, by which the outer rings come in: the file of the folder's name, and those
 * whose words the whole program speaks.
 */
const FRONT_DOORS = {
  catalogue: ["catalogue", "fill-catalogue", "market", "fee-tiers"],
  ledger: ["accounts", "annotations", "balances", "caller", "decision", "rejections"],
  customers: [
    "customers",
    "customer-id",
    "profiles/profiles",
    "clients/clients",
    "webhooks/webhooks",
    "webhooks/webhook",
  ],
  oauth: ["oauth", "scopes", "tokens/grant", "access-denials/access-denial"],
  transfers: ["transfers"],
  conversions: ["conversions"],
  exchange: ["exchange"],
  events: ["events"],
  webhooks: ["deliveries"],
};

/** The composition root: puts the parts together, by hand. */
const ROOT = "^src/(?:[^/]+\\.ts$|service/|cli/)";

const KNOWN = `^src/(?:[^/]+\\.ts$|service/|cli/|(?:${Object.keys(RINGS).join("|")})/)`;

/** Unit tests may bring in what they need, test/support included. */
const TESTS = "\\.test\\.ts$";

const rings = Object.entries(RINGS).map(([folder, mayImport]) => ({
  name: `ring-${folder.replace("/", "-")}`,
  comment: `${folder}/ imports ${mayImport.join(", ") || "nothing else of ours"}.`,
  severity: "error",
  from: { path: `^src/${folder}/`, pathNot: TESTS },
  to: { path: "^src/", pathNot: [folder, ...mayImport].map((name) => `^src/${name}/`) },
}));

const parts = Object.entries(PARTS).map(([part, mayImport]) => {
  const [folder] = part.split("/");
  const others = Object.keys(PARTS).filter((other) => other !== part && other.startsWith(`${folder}/`));
  return {
    name: `part-${part.replace("/", "-")}`,
    comment: `Of ${folder}/, ${part}/ imports the folder's own files and ${mayImport.join(", ") || "no other part"}.`,
    severity: "error",
    from: { path: `^src/${part}/`, pathNot: TESTS },
    to: { path: others.filter((other) => !mayImport.includes(other)).map((other) => `^src/${other}/`) },
  };
});

const frontDoors = Object.entries(FRONT_DOORS).map(([folder, files]) => ({
  name: `front-door-${folder}`,
  comment: `api/ and market-maker/ come into ${folder}/ by ${files.join(", ")}.`,
  severity: "error",
  from: { path: "^src/(?:api|market-maker)/", pathNot: TESTS },
  to: { path: `^src/${folder}/`, pathNot: `^src/${folder}/(?:${files.join("|")})\\.ts$` },
}));

export default {
  forbidden: [
    ...rings,
    ...parts,
    ...frontDoors,
    {
      name: "ledger-does-not-know-its-writer",
      comment: "What the ledger is made of does not know the lane, which writes it.",
      severity: "error",
      from: { path: "^src/ledger/[^/]+$", pathNot: TESTS },
      to: { path: "^src/ledger/writer/" },
    },
    {
      name: "every-folder-has-a-ring",
      comment: "It imports, but the import table does not know where it belongs.",
      severity: "error",
      from: { path: "^src/", pathNot: KNOWN },
      to: {},
    },
    {
      name: "every-folder-has-a-ring",
      comment: "It is imported, but the import table does not know where it belongs.",
      severity: "error",
      from: {},
      to: { path: "^src/", pathNot: KNOWN },
    },
    {
      name: "composition-roots",
      comment:
        "Only the files of src/ itself, service/ and cli/ put the parts together; nothing reaches back up to them.",
      severity: "error",
      from: { path: "^src/", pathNot: `${ROOT}|${TESTS}` },
      to: { path: ROOT },
    },
    {
      name: "one-folder-one-store",
      comment:
        "The SQL of a folder is its own: whoever needs its rows asks its front door. Only verify/ reads them all.",
      severity: "error",
      from: { path: "^src/([^/]+)/", pathNot: `^src/verify/|${TESTS}` },
      to: { path: "[/-]store\\.ts$", pathNot: "^src/$1/" },
    },
    {
      name: "book-is-pure",
      comment: "The order book needs neither Node nor packages: it is replayed, and must do the same each time.",
      severity: "error",
      from: { path: "^src/exchange/book/", pathNot: TESTS },
      to: { dependencyTypesNot: ["local", "type-only"], pathNot: "^src/" },
    },
    {
      name: "std-and-money-need-no-packages",
      severity: "error",
      from: { path: "^src/(?:std|money)/", pathNot: TESTS },
      to: { path: "node_modules" },
    },
    {
      name: "one-way-to-the-database",
      comment: "The driver is used by postgres/ alone; others may name its types.",
      severity: "error",
      from: { path: "^src/", pathNot: `^src/postgres/|${TESTS}` },
      to: { path: "node_modules/(?:@types/)?pg/", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "settings-come-from-config",
      comment: "process.env is read by service/config/ alone (a lint rule); this closes the way around it.",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/service/config/" },
      to: { path: "^(?:node:)?process$" },
    },
    {
      name: "program-does-not-know-its-tests",
      severity: "error",
      from: { path: "^src/", pathNot: TESTS },
      to: { path: `^(?:test|bench)/|${TESTS}` },
    },
    {
      name: "program-runs-without-tools",
      severity: "error",
      from: { path: "^src/", pathNot: TESTS },
      to: { dependencyTypes: ["npm-dev"], dependencyTypesNot: ["type-only"], pathNot: "node_modules/@types/" },
    },
    { name: "no-circles", severity: "error", from: {}, to: { circular: true } },
    // What tests start as a process of its own imports the build, which a fresh clone does not have yet.
    { name: "nothing-unresolved", severity: "error", from: {}, to: { couldNotResolve: true, pathNot: "(?:^|/)dist/" } },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    // A package of its own, which imports what generators make.
    exclude: { path: "^test/openapi/clients/" },
    tsConfig: { fileName: "tsconfig.json" },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "types", "default"] },
  },
};
