// storm LINES SECONDS FILE: LINES processes (40 at most), each of which forks its successor and
// exits, until SECONDS (8 at most) are over. The FILE has the last moment at which one of them ran
// (µs since 1970), in 8 bytes.
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * INT64_C(1000000) + time.tv_nsec / 1000;
}

int main(int count, char** words) {
  if (count != 4) return 64;
  const int lines = atoi(words[1]);
  const int seconds = atoi(words[2]);
  const int file = open(words[3], O_RDWR | O_CREAT, 0644);
  if (lines > 40 || seconds > 8 || file < 0 || ftruncate(file, 4096) != 0) return 64;
  volatile int64_t* beat = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (beat == MAP_FAILED) return 71;
  const int64_t end = now() + seconds * INT64_C(1000000);
  signal(SIGTERM, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  signal(SIGCHLD, SIG_IGN);
  for (int line = 0; line < lines; ++line) {
    if (fork() != 0) continue;
    for (;;) {
      *beat = now();
      if (*beat > end) _exit(0);
      if (fork() != 0) _exit(0);  // also if no process can be created
    }
  }
  sleep((unsigned)seconds);
  return 0;
}
