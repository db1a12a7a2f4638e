-- Where a client may call from. Null: from anywhere. The version before this can still run, but does not look at it: a
-- restriction holds when no node of that version is left.
alter table client add column networks cidr[] check (cardinality(networks) between 1 and 100);

-- Every node asks every two seconds who is restricted.
create index client_restricted on client (client_id) where networks is not null;
