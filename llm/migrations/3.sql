-- Vectors of texts, as little-endian float32. One call embeds many texts, and each of them is asked for alone afterwards: so
-- they stand here, and the call's own answer is empty.
create table vectors (key text primary key, vector blob not null);
