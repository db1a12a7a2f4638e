-- Names these books, so that a checkpoint of other books is told from one of these whose history was made again: a copy
-- or a restored backup keeps the name.
-- The version before this can still run: it does not know the table.
create table books (
  id uuid primary key,
  only_one boolean not null default true unique check (only_one)
);

insert into books (id) values (gen_random_uuid());
