/**
 * The goals, as ratios of two rows of one run, because ratios depend less on the machine than absolute figures.
 * `atLeast` and `atMost` are goals; a ratio without either is for information.
 */
export const RATIOS = [
  { name: "transfers : pgbench TPC-B, 256 connections", of: "transfers-256", to: "pgbench", atLeast: 2.5 },
  { name: "transfers : empty POST route, 256 connections", of: "transfers-256", to: "empty-256", atLeast: 0.6 },
  { name: "transfers : empty POST route, 64 connections", of: "transfers-64", to: "empty-64", atLeast: 0.45 },
  { name: "transfers in bulks of 100 : empty POST route", of: "bulk-100", to: "empty-256", atLeast: 0.9 },
  { name: "transfers : the usual way, 256 connections", of: "transfers-256", to: "usual-256" },
  { name: "transfers : the usual way, 64 connections", of: "transfers-64", to: "usual-64" },
  { name: "hot pair : the usual way on the hot pair", of: "hot-256", to: "usual-hot-256", atLeast: 8 },
  { name: "hot pair : uniform, 256 connections", of: "hot-256", to: "transfers-256", atLeast: 1 },
  { name: "hot pair : uniform, 64 connections", of: "hot-64", to: "transfers-64" },
  { name: "orders, half matching : empty POST route", of: "orders-64", to: "empty-order-64", atLeast: 0.25 },
  { name: "get order : empty POST route, 64 connections", of: "get-order-64", to: "empty-64", atLeast: 0.45 },
  { name: "a page of 100 executions : empty POST route", of: "executions-64", to: "empty-64", atLeast: 0.13 },
  { name: "quiet customer's p99, beside a flood : alone", of: "quiet-beside", to: "quiet-alone", figure: "p99" },
  { name: "with 10,000,000 transfers : empty database", of: "grown-transfers-256", to: "transfers-256", atLeast: 0.9 },
  { name: "orders, grown database : empty database", of: "grown-orders-64", to: "orders-64" },
  { name: "1,000,000 profiles : 1,000 profiles", of: "grown-million-256", to: "grown-transfers-256" },
];

export const FIGURES = [
  { name: "p50 at 100 transfers a second, ms", of: "transfers-calm", figure: "p50", atMost: 3 },
  { name: "p99 at 100 transfers a second, ms", of: "transfers-calm", figure: "p99", atMost: 8 },
  { name: "WAL bytes per transfer, 64 connections", of: "transfers-64", figure: "wal", atMost: 1_550 },
  {
    name: "memory while it transfers, 256 connections, MB",
    of: "transfers-256",
    figure: "residentMegabytes",
    atMost: 450,
  },
];

/**
 * What `--short` compares with `recorded.json`: CPU of service and database together, of one of these to one of those.
 * On a busy machine throughput is whatever others leave, while work stays work.
 */
export const SHORT_RATIOS = [
  { name: "CPU of an empty POST : of a transfer", of: "empty-64", to: "transfers-64", figure: "cpu" },
  { name: "CPU of a transfer the usual way : of ours", of: "usual-64", to: "transfers-64", figure: "cpu" },
  { name: "CPU of a transfer : of one on the hot pair", of: "transfers-64", to: "hot-64", figure: "cpu" },
  { name: "CPU of an empty POST : of an order, half matched", of: "empty-order-64", to: "orders-64", figure: "cpu" },
];
