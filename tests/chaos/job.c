/* A job that records what it does, for the checker: one JSON object a line, one write a line,
 * appended to RECORDS; times are CLOCK_BOOTTIME in ns, as rlock's leases are.
 *
 * usage: job RUN KEY MODE MILLISECONDS CODE FLAGS RESOURCE RECORDS
 * Works for so long and exits with CODE. Every 5 ms it says that it is there (beat), every 20 ms it
 * writes to RESOURCE, a file that remembers the highest fence and refuses lower ones. FLAGS: d with
 * a daemon that beats, too, and i: TERM ignored.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *run, *key, *mode;
static int records;

static long long now(void) {
  struct timespec ts;
  clock_gettime(CLOCK_BOOTTIME, &ts);
  return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void record(const char* what, const char* more) {
  char line[512];
  const int size = snprintf(
      line, sizeof line,
      "{\"t\": %lld, \"what\": \"%s\", \"run\": \"%s\", \"key\": \"%s\", \"mode\": \"%s\"%s}\n",
      now(), what, run, key, mode, more);
  if (write(records, line, (size_t)size) != size) _exit(99);
}

/* Under the file's own lock, so that the order of its records is the order of the writes. */
static void write_resource(const char* path, long long fence) {
  char text[32] = "", more[96];
  const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || flock(file, LOCK_EX) != 0) _exit(98);
  if (pread(file, text, sizeof text - 1, 0) < 0) _exit(98);
  const int accepted = fence >= atoll(text);
  if (accepted) {
    const int size = snprintf(text, sizeof text, "%-20lld", fence);
    if (pwrite(file, text, (size_t)size, 0) != size) _exit(98);
  }
  snprintf(more, sizeof more, ", \"fence\": %lld, \"accepted\": %s", fence,
           accepted ? "true" : "false");
  record("write", more);
  close(file);
}

static int orders[2], life[2]; /* pipes to the daemon, and from it */

/* Out of the session and the parent's sight. It ends with a word from the job (a byte in the pipe),
 * not with its death. */
static void start_daemon(void) {
  if (pipe2(orders, O_CLOEXEC | O_NONBLOCK) != 0 || pipe2(life, O_CLOEXEC) != 0) _exit(97);
  if (fork() == 0) {
    if (fork() != 0) _exit(0);
    char word;
    setsid();
    while (read(orders[0], &word, 1) != 1) {
      record("beat", "");
      usleep(5000);
    }
    _exit(0);
  }
  wait(NULL);
  close(life[1]);
}

/* Nobody else has the other end of the second pipe: its end is that of the daemon, also if something
 * killed it. A daemon that was only told may record a beat after the job's last record. */
static void end_daemon(void) {
  char nothing;
  if (write(orders[1], "!", 1) != 1 || read(life[0], &nothing, 1) != 0) _exit(95);
}

int main(int argc, char** argv) {
  if (argc != 9) return 64;
  run = argv[1], key = argv[2], mode = argv[3];
  const char *flags = argv[6], *said = getenv("RLOCK_FENCE"), *token = getenv("RLOCK_TOKEN");
  const char* attempt = getenv("RLOCK_ATTEMPT");
  const long long fence = said ? atoll(said) : -1;
  char more[512];
  records = open(argv[8], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (records < 0) return 96;
  if (strchr(flags, 'i')) signal(SIGTERM, SIG_IGN);
  snprintf(more, sizeof more, ", \"fence\": %lld, \"token\": \"%s\", \"attempt\": %s", fence,
           token ? token : "", attempt ? attempt : "null");
  record("enter", more);
  const int has_daemon = strchr(flags, 'd') != NULL;
  if (has_daemon) start_daemon();
  const long long end = now() + atoll(argv[4]) * 1000000;
  for (int i = 0; now() < end; ++i) {
    if (i % 4 == 0 && *mode == 'x') write_resource(argv[7], fence);
    record("beat", "");
    usleep(5000);
  }
  if (has_daemon) end_daemon();
  snprintf(more, sizeof more, ", \"code\": %s", argv[5]);
  record("leave", more);
  return atoi(argv[5]);
}
