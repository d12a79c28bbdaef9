/* count_signals LOG END SIGNAL...: a job that handles each SIGNAL (a number) and writes it to LOG, one line each, in the
   order of arrival: its number, and "=VALUE" if somebody gave it one by sigqueue(3). "started" comes first. It exits with 7 once the file
   END exists. For each line "NUMBER" of its standard input it sends that signal to its own process group. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int out;
static const int mark_of_rlock = 0x726c6f63; /* os::Signals::whole_tree */

static void note(int number, siginfo_t* info, void* context) {
  char text[64];
  int length = info->si_code == SI_QUEUE && info->si_value.sival_int != mark_of_rlock
                   ? snprintf(text, sizeof text, "%d=%d\n", number, info->si_value.sival_int)
                   : snprintf(text, sizeof text, "%d\n", number);
  (void)context;
  (void)!write(out, text, (size_t)length);
}

int main(int count, char** words) {
  if (count < 3) return 64;
  out = open(words[1], O_WRONLY | O_CREAT | O_APPEND, 0644);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = note;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  for (int i = 3; i < count; ++i) sigaction(atoi(words[i]), &action, NULL);
  (void)!write(out, "started\n", 8);
  int in = 0;
  while (access(words[2], F_OK) != 0) {
    struct pollfd input = {in, POLLIN, 0};
    if (poll(&input, 1, 20) != 1) continue;
    char text[16];
    ssize_t size = read(in, text, sizeof text - 1);
    if (size <= 0) {
      in = -1;
      continue;
    }
    text[size] = 0;
    kill(0, atoi(text));
  }
  return 7;
}
