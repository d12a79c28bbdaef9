// The rlock that $REFUSE_BIN names, on a system that refuses some calls, as a container's seccomp profile does:
// REFUSE="pidfd_send_signal:EPERM timer_create:ENOSYS". Compiled by lib/refuse.bash, to stand in for RLOCK_BIN.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct named {
  const char *name;
  int number;
};
static const struct named calls[] = {{"pidfd_open", SYS_pidfd_open},
                                     {"pidfd_send_signal", SYS_pidfd_send_signal},
                                     {"rt_sigqueueinfo", SYS_rt_sigqueueinfo},
                                     {"close_range", SYS_close_range},
                                     {"signalfd4", SYS_signalfd4},
                                     {"timerfd_create", SYS_timerfd_create},
                                     {"timer_create", SYS_timer_create}};
static const struct named errors[] = {{"EPERM", EPERM}, {"ENOSYS", ENOSYS}};

static int number_of(const char *name, const struct named *all, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(all[i].name, name) == 0) return all[i].number;
  }
  fprintf(stderr, "refuse: what is '%s'?\n", name);
  exit(99);
}

#define NUMBER_OF(name, all) number_of(name, all, sizeof(all) / sizeof(*(all)))

int main(int argc, char **argv) {
  (void)argc;
  struct sock_filter filter[32] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
  unsigned short length = 1;
  char *refused = strdup(getenv("REFUSE"));
  for (char *call = strtok(refused, " "); call != NULL; call = strtok(NULL, " ")) {
    char *error = strchr(call, ':');
    if (error == NULL) return 99;
    *error++ = '\0';
    const unsigned value = (unsigned)NUMBER_OF(error, errors);
    const unsigned number = (unsigned)NUMBER_OF(call, calls);
    filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | value);
  }
  filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {length, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("refuse");
    return 99;
  }
  argv[0] = getenv("REFUSE_BIN");
  execv(argv[0], argv);
  perror(argv[0]);
  return 99;
}
