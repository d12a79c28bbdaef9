/* The smallest client for a lock on Redis that runs a command as rlock does: a question, or else a place in a queue, a
 * wake-up from the server and a question whether it is its turn; a guardian and its job; and a release that wakes the
 * next. What rlock could not save in a run or a hand-off if it did nothing else.
 * usage: smallest_client SOCKET load|once|late|early COMMAND...
 *   load   tells the server the scripts and prints their digests, for the variables ENTER_SHA1 and LEAVE_SHA1
 *   once   does not wait, and exits 0 if another holds the lock
 *   early  guardian and job are forked before the turn, and the job waits for it */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const char enter_script[] =
    "local owner = redis.call('GET', KEYS[1]) "
    "if owner == ARGV[1] or not owner and not redis.call('LINDEX', KEYS[2], 0) then "
    "  redis.call('SET', KEYS[1], ARGV[1], 'PX', 30000) redis.call('LREM', KEYS[2], 1, ARGV[1]) return 1 end "
    "if ARGV[2] ~= 'once' then redis.call('RPUSH', KEYS[2], ARGV[1]) end return 0";
static const char leave_script[] =
    "local next = redis.call('LINDEX', KEYS[2], 0) "
    "if next then redis.call('RPUSH', KEYS[3] .. next, 'wake') redis.call('SET', KEYS[1], next, 'PX', 2000) "
    "else redis.call('DEL', KEYS[1]) end return 1";

static int server;

static void need(int good, const char *what) {
  if (good) return;
  perror(what);
  exit(1);
}

/* Sends a command, and returns the answer as it is on the wire. */
static const char *ask(int count, const char **words) {
  static char text[4096];
  size_t size = (size_t)sprintf(text, "*%d\r\n", count);
  for (int i = 0; i < count; ++i) size += (size_t)sprintf(text + size, "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
  need(send(server, text, size, 0) == (ssize_t)size, "send");
  const ssize_t got = read(server, text, sizeof text - 1);
  need(got > 2 && text[0] != '-', text);
  text[got] = 0;
  return text;
}

/* By its digest, as rlock does, which is in a variable. */
static int run(const char *digest, const char *id, const char *way) {
  const char *known = getenv(digest);
  need(known != NULL, digest);
  const char *words[] = {"EVALSHA", known, "3", "floor", "floor:queue", "floor:mail:", id, way};
  return atoi(ask(8, words) + 1);
}

/* Makes the server know the scripts, and says their digests. */
static int load(void) {
  const char *const scripts[] = {enter_script, leave_script};
  for (int i = 0; i < 2; ++i) {
    const char *words[] = {"SCRIPT", "LOAD", scripts[i]};
    printf("%.40s\n", strchr(ask(3, words), '\n') + 1);
  }
  return 0;
}

int main(int argc, char **argv) {
  need(argc > 3, "usage: smallest_client SOCKET load|once|late|early COMMAND...");
  const int early = strcmp(argv[2], "early") == 0;
  const int once = strcmp(argv[2], "once") == 0;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, argv[1], sizeof address.sun_path - 1);
  server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  need(connect(server, (struct sockaddr *)&address, sizeof address) == 0, "connect");
  if (strcmp(argv[2], "load") == 0) return load();
  char id[32], mail[64];
  sprintf(id, "%d", (int)getpid());
  sprintf(mail, "floor:mail:%s", id);

  int gate[2], line[2];
  need(pipe2(gate, O_CLOEXEC) == 0 && pipe2(line, O_CLOEXEC) == 0, "pipe");
  pid_t guardian = -1;
  for (int has_it = run("ENTER_SHA1", id, argv[2]); !has_it || guardian < 0;) {
    if (guardian < 0 && (has_it || early)) {
      guardian = fork();
      if (guardian == 0) {
        close(server);
        close(gate[1]);
        setsid();
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        const pid_t job = fork();
        if (job == 0) {
          char go;
          if (read(gate[0], &go, 1) != 1) _exit(1);
          execvp(argv[3], argv + 3);
          _exit(127);
        }
        int status = 0;
        waitpid(job, &status, 0);
        _exit(write(line[1], &status, sizeof status) != sizeof status);
      }
    }
    if (has_it) continue;
    if (once) return 0;
    const char *words[] = {"BLPOP", mail, "0"};
    ask(3, words);
    has_it = run("ENTER_SHA1", id, argv[2]);
  }
  int status = 0;
  need(write(gate[1], "", 1) == 1, "write");
  need(read(line[0], &status, sizeof status) == sizeof status, "read");
  run("LEAVE_SHA1", id, argv[2]);
  waitpid(guardian, NULL, 0);
  return WEXITSTATUS(status);
}
