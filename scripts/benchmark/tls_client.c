/* The smallest run of a command over TLS with OpenSSL as rlock uses it: loaded when it is needed, the chain and the
 * address verified, a question, the command, a question. What rlock could not save if it did nothing else.
 * usage: tls_client [--steps] PORT TRUST COMMAND...
 *   TRUST    a file of certificates; "": the system's
 *   --steps  writes, in us: load, context, trust, connect, handshake, question */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double steps[8];
static int step_count;

static void step(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  steps[step_count++] = (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static void need(int good, const char *what) {
  if (!good) {
    fprintf(stderr, "tls_client: %s\n", what);
    exit(1);
  }
}

#define FROM_LIBRARY(name) \
  __typeof__(&name) its_##name = (__typeof__(&name))dlsym(library, #name); \
  need(its_##name != NULL, #name)

int main(int argc, char **argv) {
  const int shows = argc > 1 && strcmp(argv[1], "--steps") == 0;
  argv += 1 + shows;
  argc -= 1 + shows;
  need(argc >= 2, "usage: tls_client [--steps] PORT TRUST COMMAND...");
  step();
  void *library = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
  need(library != NULL, "no libssl.so.3");
  FROM_LIBRARY(TLS_client_method);
  FROM_LIBRARY(SSL_CTX_new);
  FROM_LIBRARY(SSL_CTX_load_verify_locations);
  FROM_LIBRARY(SSL_CTX_set_default_verify_paths);
  FROM_LIBRARY(SSL_CTX_set_verify);
  FROM_LIBRARY(SSL_new);
  FROM_LIBRARY(SSL_get0_param);
  FROM_LIBRARY(X509_VERIFY_PARAM_set1_ip_asc);
  FROM_LIBRARY(SSL_set_fd);
  FROM_LIBRARY(SSL_connect);
  FROM_LIBRARY(SSL_write);
  FROM_LIBRARY(SSL_read);
  step();
  SSL_CTX *context = its_SSL_CTX_new(its_TLS_client_method());
  need(context != NULL, "SSL_CTX_new");
  its_SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
  step();
  need((*argv[1] != '\0' ? its_SSL_CTX_load_verify_locations(context, argv[1], NULL)
                         : its_SSL_CTX_set_default_verify_paths(context)) == 1, "TRUST");
  step();
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons((in_port_t)atoi(argv[0]))};
  inet_aton("127.0.0.1", &there.sin_addr);
  need(connect(connection, (struct sockaddr *)&there, sizeof there) == 0, "connect");
  step();
  SSL *ssl = its_SSL_new(context);
  its_X509_VERIFY_PARAM_set1_ip_asc(its_SSL_get0_param(ssl), "127.0.0.1");
  its_SSL_set_fd(ssl, connection);
  need(its_SSL_connect(ssl) == 1, "the handshake failed");
  step();
  char answer[100];
  need(its_SSL_write(ssl, "PING\r\n", 6) == 6, "write");
  need(argc < 3 || its_SSL_read(ssl, answer, sizeof answer) > 0, "read");
  step();
  if (argc >= 3) {
    pid_t command;
    int status;
    need(posix_spawnp(&command, argv[2], NULL, NULL, argv + 2, environ) == 0, "spawn");
    waitpid(command, &status, 0);
    its_SSL_write(ssl, "PING\r\n", 6);
    its_SSL_read(ssl, answer, sizeof answer);
  }
  for (int i = 1; shows && i < step_count; ++i) printf("%.0f%c", steps[i] - steps[i - 1], i + 1 < step_count ? ' ' : '\n');
  return 0;
}
