-- Where the chains of each study end, under a seal over its row: what is missing is found as well as what is altered.
ALTER TABLE studies ADD COLUMN trials INTEGER NOT NULL DEFAULT 0;             -- how many trials there are
ALTER TABLE studies ADD COLUMN last_trial BLOB NOT NULL DEFAULT x'';          -- the digest of the last
ALTER TABLE studies ADD COLUMN evaluations INTEGER NOT NULL DEFAULT 0;
ALTER TABLE studies ADD COLUMN last_evaluation BLOB NOT NULL DEFAULT x'';
ALTER TABLE studies ADD COLUMN measurements INTEGER NOT NULL DEFAULT 0;
ALTER TABLE studies ADD COLUMN last_measurement BLOB NOT NULL DEFAULT x'';
ALTER TABLE studies ADD COLUMN answer BLOB;                                   -- hash of the row in answers; NULL if there is none
ALTER TABLE studies ADD COLUMN seal BLOB NOT NULL DEFAULT x'';                -- hash of all other columns

-- Hash of the digest and of the columns that it leaves out because they differ from run to run.
ALTER TABLE trials ADD COLUMN seal BLOB NOT NULL DEFAULT x'';                 -- seconds
ALTER TABLE evaluations ADD COLUMN seal BLOB NOT NULL DEFAULT x'';            -- message, seconds

-- One row: how many studies there are, and the exclusive or of their seals.
CREATE TABLE contents (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    studies INTEGER NOT NULL,
    seals BLOB NOT NULL
) STRICT;
INSERT INTO contents VALUES (1, 0, zeroblob(32));

-- The token is new for every lease; the other two say where a process id has a meaning. Empty where the system has none.
ALTER TABLE leases ADD COLUMN token TEXT NOT NULL DEFAULT '';
ALTER TABLE leases ADD COLUMN boot TEXT NOT NULL DEFAULT '';
ALTER TABLE leases ADD COLUMN namespace TEXT NOT NULL DEFAULT '';
