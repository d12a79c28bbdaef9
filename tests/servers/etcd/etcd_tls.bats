#!/usr/bin/env bats
# etcds://: private, and sure of whom it talks to.
load ../../lib/rlock
load ../../lib/etcd
load ../../lib/tls
load ../../lib/line

# start_etcd_tls [OPTION...]: a server with the certificate "server", for 127.0.0.1 and lock.test.
start_etcd_tls() {
  local dir
  make_ca ca
  make_certificate server ca 2 'DNS:lock.test,IP:127.0.0.1'
  dir=$(mktemp -d /tmp/rlock-test.XXXXXX)
  ETCD_PORT=$(free_port)
  etcd_options "$dir" one "$ETCD_PORT" "$(free_port)" --listen-client-urls "https://127.0.0.1:$ETCD_PORT" \
    --advertise-client-urls "https://127.0.0.1:$ETCD_PORT" --cert-file "$T/server.crt" --key-file "$T/server.key" "$@"
  launch_etcd "$dir"
  OWN_SERVERS+=("$dir")
  TLS_URL=etcds://127.0.0.1:$ETCD_PORT
  export RLOCK_SERVER="$TLS_URL?cacert=$T/ca.crt"
  wait_until port_open "$ETCD_PORT"
}

port_open() { (exec 9<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# fails_with CODE TEXT... -- URL: one line that says so, the job not run.
fails_with() {
  local code=$1 url=${*: -1}
  attempt -S "$url" -k "$K" --connect-timeout 3s -- touch "$T/ran"
  assert_equal "$status" "$code"
  assert_one_stderr_line "${@:2:$#-3}"
  [[ ! -e $T/ran ]]
}

@test "a run, its waiters and its operators over TLS, for longer than a lease" {
  start_etcd_tls
  hold holder -k "$K" --ttl 3s
  start waiter -k "$K" -w 60s --ttl 3s -- echo 'my turn'
  wait_until in_line 1
  sleep 4
  attempt inspect "$K"
  assert_success
  let_go holder
  assert_success
  finish waiter
  assert_output 'my turn'
  attempt doctor
  assert_success
}

@test "a hold over TLS hears that it is cancelled" {
  start_etcd_tls
  hold holder -k "$K" --ttl 30s
  sleep 1.5
  attempt cancel "$K"
  assert_success
  finish holder
  assert_equal "$status" 76
}

@test "the host's name must be in the certificate, and the certificate trusted" {
  start_etcd_tls
  make_ca other
  fails_with 69 'certificate' 'localhost' -- "etcds://localhost:$ETCD_PORT?cacert=$T/ca.crt"
  fails_with 69 'certificate' -- "$TLS_URL?cacert=$T/other.crt"
  fails_with 69 'certificate' -- "$TLS_URL"
  attempt -S "etcds://localhost:$ETCD_PORT?cacert=$T/ca.crt&sni=lock.test" -k "$K" -- echo ran
  assert_output ran
  attempt -S "$TLS_URL?insecure-skip-verify=yes" -k "$K" -- echo ran
  assert_output ran
}

@test "a server that wants TLS, and one that does not speak it" {
  start_etcd_tls
  fails_with 69 '(for TLS: etcds://)' -- "etcd://127.0.0.1:$ETCD_PORT"
  start_etcd
  fails_with 69 'TLS' -- "etcds://127.0.0.1:$ETCD_PORT"
}

over_tls() {
  ETCDCTL_API=3 etcdctl --endpoints "https://127.0.0.1:$ETCD_PORT" --cacert "$T/ca.crt" --cert "$T/client.crt" \
    --key "$T/client.key" "$@" </dev/null
}

@test "a client certificate: one without a common name, or the gateway refuses it" {
  start_etcd_tls --client-cert-auth --trusted-ca-file "$T/ca.crt"
  make_certificate named ca 2 'DNS:client'
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/O=locks" -keyout "$T/client.key" \
    -out "$T/client.csr" 2>>"$T/openssl.log"
  openssl x509 -req -in "$T/client.csr" -CA "$T/ca.crt" -CAkey "$T/ca.key" -CAcreateserial -days 2 \
    -extfile <(echo 'extendedKeyUsage=clientAuth') -out "$T/client.crt" 2>>"$T/openssl.log"
  fails_with 77 'TLS' -- "$RLOCK_SERVER"
  attempt -S "$RLOCK_SERVER&cert=$T/client.crt&key=$T/client.key" -k "$K" -- echo ran
  assert_output ran
  over_tls user add root --new-user-password secret
  over_tls user grant-role root root
  over_tls auth enable
  fails_with 77 'common name' -- "etcds://root:secret@${RLOCK_SERVER#etcds://}&cert=$T/named.crt&key=$T/named.key"
  attempt -S "etcds://root:secret@${RLOCK_SERVER#etcds://}&cert=$T/client.crt&key=$T/client.key" -k "$K" -- echo ran
  assert_output ran
}
