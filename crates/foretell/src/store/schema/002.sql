-- What trials are ranked by, packed so that a million are read at once; and what evaluators said.
CREATE TABLE ranks (
    study INTEGER NOT NULL REFERENCES studies (id),
    chunk INTEGER NOT NULL,    -- of 1024 trials each
    numbers BLOB NOT NULL,     -- per trial: objectives (0: failed), numbers of each, little-endian doubles
    digest BLOB NOT NULL,      -- hash of the numbers and of the digest of the last trial among them
    PRIMARY KEY (study, chunk)
) STRICT, WITHOUT ROWID;

CREATE TABLE evaluations (
    study INTEGER NOT NULL REFERENCES studies (id),
    number INTEGER NOT NULL,   -- 0, 1, 2 … in the order made
    trial INTEGER NOT NULL,
    evaluator TEXT NOT NULL,
    status TEXT NOT NULL,
    message TEXT NOT NULL,
    value BLOB NOT NULL,       -- a little-endian double; NaN if it failed
    seconds REAL NOT NULL,
    digest BLOB NOT NULL,      -- hash of this row and of the digest before it
    PRIMARY KEY (study, number)
) STRICT, WITHOUT ROWID;
