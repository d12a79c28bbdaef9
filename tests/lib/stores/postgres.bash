# shellcheck shell=bash
# A PostgreSQL server.

# shellcheck source=tests/lib/postgres.bash
source "$LIB/postgres.bash"

COLUMN=4
start_store() { start_postgres; }

keep_slot() { pg_record "$CONTRACT_SERVERS" | grep -P "^slot\t$1\t" >"$T/slot"; }
put_back_slot() { change_pg_record "$CONTRACT_SERVERS" "$(pg_record "$CONTRACT_SERVERS" | sed "/^slot\t$1\t/d")"$'\n'"$(<"$T/slot")"$'\n'; }
lose_slot() { change_pg_record "$CONTRACT_SERVERS" "$(pg_record "$CONTRACT_SERVERS" | sed "/^slot\t$1\t/d")"$'\n'; }

# pg_record DIR: of K.
pg_record() {
  psql -qAtX -h "$1" -U postgres -v key="$K" postgres <<<"select convert_from(record, 'UTF8') from rlock.lock
    where key = convert_to(:'key', 'UTF8')"
}

# change_pg_record DIR TEXT: as another client would.
change_pg_record() {
  psql -qAtX -h "$1" -U postgres -v key="$K" -v text="$2" postgres <<<"update rlock.lock
    set record = convert_to(:'text', 'UTF8'), version = version + 1 where key = convert_to(:'key', 'UTF8') returning 1" | grep -qx 1
}
