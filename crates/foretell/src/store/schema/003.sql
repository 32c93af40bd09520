-- Latencies measured for a study, and what the study was decided to have found.
CREATE TABLE measurements (
    study INTEGER NOT NULL REFERENCES studies (id),
    number INTEGER NOT NULL,   -- 0, 1, 2 … in the order made
    stage INTEGER NOT NULL,    -- how many trials the study had when the measurement was made
    trial INTEGER,             -- the trial measured; NULL for networks drawn to fit the latency model
    genes TEXT NOT NULL,       -- JSON
    phase TEXT NOT NULL,
    latency TEXT NOT NULL,     -- JSON
    digest BLOB NOT NULL,      -- hash of this row and of the digest before it
    PRIMARY KEY (study, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE answers (
    study INTEGER PRIMARY KEY REFERENCES studies (id),
    answer TEXT NOT NULL,      -- JSON
    digest BLOB NOT NULL       -- hash of the answer and of the trials, evaluations and measurements it was decided from
) STRICT;
