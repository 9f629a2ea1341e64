#!/bin/sh
# PostgreSQL of npm behind the variables of the official image.
set -e
data=/var/lib/postgresql/18/data
export LD_LIBRARY_PATH=/pg/lib
mkdir -p "$data"
chown -R postgres:postgres /var/lib/postgresql
chmod 700 "$data"
if [ ! -f "$data/PG_VERSION" ]; then
  printf %s "$POSTGRES_PASSWORD" >/tmp/password
  chown postgres /tmp/password
  su -p postgres -c "/pg/bin/initdb -D $data -U $POSTGRES_USER --pwfile /tmp/password --auth scram-sha-256 -E UTF8 --locale C.UTF-8"
  rm /tmp/password
  echo "host all all all scram-sha-256" >>"$data/pg_hba.conf"
  echo "CREATE DATABASE $POSTGRES_DB" | su -p postgres -c "/pg/bin/postgres --single -D $data postgres"
fi
exec su -p postgres -c "exec /pg/bin/postgres -D $data -c listen_addresses='*' -c unix_socket_directories=/tmp"
