-- Studies, their trials, and who is writing. Trials are only ever added.
CREATE TABLE studies (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    config TEXT NOT NULL,      -- canonical JSON: all that decides which trials there are
    provenance TEXT NOT NULL,  -- JSON: version, command, processor, host, time
    stopped TEXT,              -- why the study ended; NULL while it has not
    rejected INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE trials (
    study INTEGER NOT NULL REFERENCES studies (id),
    number INTEGER NOT NULL,   -- 0, 1, 2 … in the order asked for
    id TEXT NOT NULL,          -- canonical id of the architecture
    genes TEXT NOT NULL,       -- JSON
    objectives BLOB NOT NULL,  -- little-endian doubles; NaN where a value exists only within the set
    scores TEXT NOT NULL,      -- JSON: proxy, version, seed, status; numbers in the next two columns
    numbers BLOB NOT NULL,     -- little-endian doubles of all scores, side by side
    seconds REAL NOT NULL,
    digest BLOB NOT NULL,      -- hash of this row and of the digest before it
    PRIMARY KEY (study, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE leases (
    study INTEGER PRIMARY KEY REFERENCES studies (id),
    pid INTEGER NOT NULL,
    started TEXT NOT NULL,     -- when the process began, as the system tells: guards against reused pids
    host TEXT NOT NULL,
    beat INTEGER NOT NULL      -- seconds since 1970
) STRICT;
