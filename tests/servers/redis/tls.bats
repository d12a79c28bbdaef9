#!/usr/bin/env bats
# rediss://: private, and sure of whom it talks to.
load ../../lib/rlock
load ../../lib/sentinel
load ../../lib/tls

# fails_with CODE TEXT... -- URL: one line that says so, the job not run.
fails_with() {
  local code=$1 url=${*: -1}
  attempt -S "$url" -k "$K" -- touch "$T/ran"
  # wait_until also calls this, where a line of its own would not count.
  assert_equal "$status" "$code" && assert_one_stderr_line "${@:2:$#-3}" && [[ ! -e $T/ran ]]
}

@test "a run, its waiters and its operators over TLS" {
  tls_server
  hold holder -k "$K"
  attempt inspect "$K"
  assert_success
  queue_up waiter "$K" 1 -- echo 'my turn'
  let_go holder
  assert_success
  finish waiter
  assert_success
  assert_output 'my turn'
  wait_free "$K"
}

@test "a hold over TLS is refreshed, and hears that it is cancelled" {
  tls_server
  hold holder -k "$K" --ttl 6s
  wait_refreshed "$K"
  wait_until listening 1
  attempt cancel "$K"
  assert_success
  finish holder
  assert_equal "$status" 76
}

@test "answers larger than a TLS record arrive whole" {
  local number
  tls_server
  for ((number = 0; number < 300; number++)); do
    printf 'zadd {%s}:rlock:queue %d app@host:1/%0100d#%040d\n' "$K" "$number" "$number" "$number"
    printf 'zadd {%s}:rlock:alive 99999999999999 app@host:1/%0100d#%040d\n' "$K" "$number" "$number"
  done | redis >/dev/null
  run json 'len(d["waiters"])' inspect --json "$K"
  assert_output 300
}

@test "the job inherits no descriptor of the TLS connection" {
  tls_server
  attempt -k "$K" -- find /proc/self/fd -lname 'socket:*'
  assert_success
  assert_output ''
}

@test "the host's name must be in the certificate" {
  tls_server
  fails_with 69 'certificate' 'localhost' 'hostname mismatch' -- "rediss://localhost:$TLS_PORT?cacert=$T/ca.crt"
}

@test "so must its address" {
  make_ca ca
  make_certificate elsewhere ca 2 'DNS:lock.test,IP:127.0.0.9'
  CERTIFICATE=elsewhere tls_server
  fails_with 69 'certificate' '127.0.0.1' 'IP address mismatch' -- "$RLOCK_SERVER"
}

@test "sni= names what the certificate must have, and is sent" {
  tls_server
  attempt -S "rediss://localhost:$TLS_PORT?cacert=$T/ca.crt&sni=lock.test" -k "$K" -- echo ran
  assert_success
  assert_output ran
  fails_with 69 'hostname mismatch' 'other.test' -- "rediss://localhost:$TLS_PORT?cacert=$T/ca.crt&sni=other.test"
}

@test "the name is sent to a server that has several certificates" {
  make_ca ca
  make_certificate usual ca 2 'DNS:usual.test'
  make_certificate named ca 2 'DNS:lock.test'
  PORT=$(free_port)
  # It would end with its input.
  mkfifo "$T/input"
  # shellcheck disable=SC2016
  launch several bash -c 'exec 9<>"$T/input"; exec openssl s_server "$@" <&9' - -accept "127.0.0.1:$PORT" \
    -cert "$T/usual.crt" -key "$T/usual.key" -servername lock.test -cert2 "$T/named.crt" -key2 "$T/named.key"
  wait_until says "$T/several.out" ACCEPT
  # The peer is not a Redis server; the test is only that the certificate is accepted.
  attempt -S "rediss://127.0.0.1:$PORT?cacert=$T/ca.crt&sni=lock.test" -k "$K" --ttl 1s -- true
  assert_equal "$status" 69
  [[ $stderr != *certificate* ]]
  fails_with 69 "certificate is not accepted for 'other.test'" 'sni=NAME in the URL says' -- "rediss://127.0.0.1:$PORT?cacert=$T/ca.crt&sni=other.test"
  kill "${PIDS[several]}"
}

@test "a certificate of another CA is refused; insecure-skip-verify=yes takes it" {
  tls_server
  make_ca other
  fails_with 69 'certificate is not accepted' -- "$TLS_URL?cacert=$T/other.crt"
  attempt -S "$TLS_URL?cacert=$T/other.crt&insecure-skip-verify=yes" -k "$K" -- echo ran
  assert_success
  assert_output ran
}

@test "a CA that the system trusts is trusted without cacert, and no other" {
  tls_server
  fails_with 69 'certificate is not accepted' -- "$TLS_URL"
  SSL_CERT_FILE=$T/ca.crt attempt -S "$TLS_URL" -k "$K" -- echo ran
  assert_success
  assert_output ran
}

@test "an expired certificate is refused" {
  make_ca ca
  make_certificate expired ca 0 'IP:127.0.0.1'
  CERTIFICATE=expired tls_server
  wait_until fails_with 69 'certificate has expired' -- "$RLOCK_SERVER"
}

@test "a server that wants a certificate gets ours; without one, or with an alien one, exit 77" {
  tls_server --tls-auth-clients yes
  make_certificate client ca 2 'DNS:client'
  attempt -S "$RLOCK_SERVER&cert=$T/client.crt&key=$T/client.key" -k "$K" -- echo ran
  assert_success
  assert_output ran
  fails_with 77 'certificate required' -- "$RLOCK_SERVER"
  make_ca other
  make_certificate alien other 2 'DNS:client'
  fails_with 77 'unknown ca' -- "$RLOCK_SERVER&cert=$T/alien.crt&key=$T/alien.key"
}

@test "a waiter is not kept waiting for a server whose certificate is wrong" {
  tls_server
  fails_with 69 'hostname mismatch' -- "rediss://localhost:$TLS_PORT?cacert=$T/ca.crt"
  attempt -S "rediss://localhost:$TLS_PORT?cacert=$T/ca.crt" -w forever -k "$K" -- touch "$T/ran"
  assert_equal "$status" 69
}

@test "a server in plain text behind rediss:// is told from one that is down" {
  own_server --bind 127.0.0.1 --port "$((PORT = $(free_port)))"
  attempt -S "rediss://127.0.0.1:$PORT" -k "$K" --ttl 1s -- touch "$T/ran"
  assert_equal "$status" 69
  assert_one_stderr_line 'TLS'
  [[ ! -e $T/ran ]]
}

@test "a TLS server behind redis:// says what may be wrong" {
  tls_server
  fails_with 69 'rediss://' -- "redis://127.0.0.1:$TLS_PORT"
}

@test "files that are not there, and a key of another certificate, are named" {
  tls_server
  make_certificate client ca 2 'DNS:client'
  fails_with 78 "CA file '$T/none'" 'No such file' -- "$TLS_URL?cacert=$T/none"
  fails_with 78 "certificate '$T/none'" 'No such file' -- "$RLOCK_SERVER&cert=$T/none&key=$T/client.key"
  fails_with 78 "key '$T/server.key'" 'mismatch' -- "$RLOCK_SERVER&cert=$T/client.crt&key=$T/server.key"
}

@test "options of a TLS URL that are none exit 78" {
  local query
  for query in 'cacrt=x' 'cert=x' 'insecure-skip-verify=1' 'insecure-skip-verify'; do
    attempt -S "rediss://127.0.0.1:1?$query" -k "$K" -- true
    assert_equal "$status" 78
    assert_one_stderr_line
  done
  attempt -S 'redis://127.0.0.1:1?cacert=x' -k "$K" -- true
  assert_equal "$status" 78
}

@test "without OpenSSL there is a reason, and plain servers work" {
  tls_server
  mkdir "$T/lib"
  : >"$T/lib/libssl.so.3" # found first, and no library
  LD_LIBRARY_PATH=$T/lib run "$RLOCK_BIN" -k "$K" -- true
  assert_equal "$status" 69
  assert_output --partial 'TLS needs libssl.so.3'
  LD_LIBRARY_PATH=$T/lib run "$RLOCK_BIN" -S "unix://$SERVER/redis.sock" -k "$K" -- echo ran
  assert_success
  assert_output ran
}

@test "rediss+sentinel:// speaks TLS to the sentinels and to the master" {
  local port number
  make_ca ca
  make_certificate server ca 2 'DNS:lock.test,IP:127.0.0.1'
  tls_server
  MASTER_PORT=$TLS_PORT MASTER=$SERVER
  SENTINELS=()
  port=$(free_port)
  start_sentinel "port 0" "tls-port $port" "tls-cert-file $T/server.crt" "tls-key-file $T/server.key" \
    "tls-ca-cert-file $T/ca.crt" "tls-auth-clients no" "tls-replication yes"
  export RLOCK_SERVER="rediss+sentinel://127.0.0.1:$port/main?cacert=$T/ca.crt"
  attempt -k "$K" -- redis-cli -s "$MASTER/redis.sock" get "$K"
  assert_success
  [[ $output == *@*#* ]]
  make_ca other
  fails_with 69 'certificate is not accepted' -- "rediss+sentinel://127.0.0.1:$port/main?cacert=$T/other.crt"
}
