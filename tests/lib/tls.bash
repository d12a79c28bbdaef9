# shellcheck shell=bash
# Throw-away certificates, and servers that speak TLS, on loopback.

# make_ca NAME
make_ca() {
  local name=$1
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$name" \
    -keyout "$T/$name.key" -out "$T/$name.crt" 2>>"$T/openssl.log"
}

# make_certificate NAME CA DAYS ALTERNATIVE-NAMES
make_certificate() {
  local name=$1 ca=$2 days=$3 names=$4
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$name" -keyout "$T/$name.key" \
    -out "$T/$name.csr" 2>>"$T/openssl.log"
  openssl x509 -req -in "$T/$name.csr" -CA "$T/$ca.crt" -CAkey "$T/$ca.key" -CAcreateserial -days "$days" \
    -extfile <(echo "subjectAltName=$names") -out "$T/$name.crt" 2>>"$T/openssl.log"
}

# tls_server [REDIS-SERVER OPTION...]: TLS_PORT speaks TLS with certificate $CERTIFICATE ("server", for 127.0.0.1 and
# lock.test, unless set); redis() still goes through the plain socket.
tls_server() {
  local name=${CERTIFICATE:-server}
  [[ -e $T/ca.crt ]] || make_ca ca
  [[ -e $T/$name.crt ]] || make_certificate "$name" ca 2 'DNS:lock.test,IP:127.0.0.1'
  TLS_PORT=$(free_port)
  own_server --bind 127.0.0.1 --tls-port "$TLS_PORT" --tls-cert-file "$T/$name.crt" --tls-key-file "$T/$name.key" \
    --tls-ca-cert-file "$T/ca.crt" --tls-auth-clients no "$@"
  TLS_URL="rediss://127.0.0.1:$TLS_PORT"
  export RLOCK_SERVER="$TLS_URL?cacert=$T/ca.crt"
}
