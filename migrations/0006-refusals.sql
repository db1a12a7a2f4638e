-- Who was refused for want of authority, for the operator who asks afterwards: tokens that are no good, scopes that are
-- missing, secrets that are wrong. The same refusal again within a minute is counted in one row, and a process adds a
-- hundred rows a minute at most, so that a flood fills neither the table nor the disk; rows are kept for thirty days.
-- The version before this can still run: it does not know the table.
create table refusal (
  -- Made when the row is written: a range of times is a range of ids.
  id uuid primary key,
  kind text not null check (kind in ('no_token', 'invalid_token', 'insufficient_scope', 'invalid_client')),
  -- Of a token: proved by it. Of 'invalid_client': as it was presented, and proved by nothing; null when there is no such
  -- client, because what was presented may be a secret in the wrong place.
  client_id text collate "C" check (length(client_id) <= 100),
  token_id uuid,
  -- Null, with the method and the path: of many, past the bound.
  address text check (length(address) <= 100),
  -- The method and the path's pattern, such as "GET /v2/profiles/:id".
  operation text check (length(operation) <= 200),
  first_at timestamptz not null,
  last_at timestamptz not null check (last_at >= first_at),
  count bigint not null check (count > 0)
);
