-- What each round changed on the book of its market, for nodes that follow it (docs/decisions/0011-the-feed.md).
-- The version before this one still runs: its engines add no rows, and nodes that follow a book read it once a second.
--
-- It is no part of the books. Unlogged: a crash empties it, a standby does not have it, and a node that misses a row
-- reads the whole book instead. The engine that adds rows removes those of more than some minutes ago.
create unlogged table book_change (
  market code not null,
  -- The number of the market's head as of the round.
  number bigint not null,
  -- [side, price, new total] of each level; none for a round that left the book as it was.
  levels json not null,
  at timestamptz not null,
  primary key (market, number)
);
