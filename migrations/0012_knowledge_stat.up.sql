-- What readers had to leave out or repair, knowledge bases that are being deleted, and where files were sent from. What
-- a file of a folder looked like when it was read needs no column: it is kept as the document's etag.

-- In sentences, for people.
alter table knowledge_documents add column notes text[] not null default '{}';

-- Nobody sees it any more from then on; what it holds goes bit by bit, and its row last.
alter table knowledge_bases add column removed_at timestamptz;
create index knowledge_bases_removed on knowledge_bases (removed_at) where removed_at is not null;

-- The place that whoever sent the file keeps it in: what is missing there the next time can be taken away here.
alter table knowledge_files add column origin text check (length(origin) between 1 and 1000);
