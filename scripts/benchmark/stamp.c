/* A job that says when it ran: appends "start end token" (CLOCK_MONOTONIC, ns) to FILE, one write a
 * line. usage: stamp FILE MILLISECONDS */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

int main(int argc, char **argv) {
  const long long start = now();
  if (argc != 3) return 64;
  usleep((useconds_t)atoi(argv[2]) * 1000);
  const char *token = getenv("RLOCK_TOKEN");
  char line[512];
  const int file = open(argv[1], O_WRONLY | O_APPEND | O_CREAT, 0600);
  const int size = snprintf(line, sizeof line, "%lld %lld %s\n", start, now(), token ? token : "-");
  return file < 0 || write(file, line, (size_t)size) != size;
}
