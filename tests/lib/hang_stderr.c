// hang_stderr COMMAND...: runs it where no write to descriptor 2 ever returns, as if that was a file whose server is
// silent. Nobody answers for the kernel's question (seccomp_unotify(2)); all that COMMAND starts keep it open.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// The lower half of an argument, where the machine keeps it.
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define FIRST_ARGUMENT offsetof(struct seccomp_data, args[0])
#else
#define FIRST_ARGUMENT (offsetof(struct seccomp_data, args[0]) + 4)
#endif

int main(int argc, char **argv) {
  (void)argc;
  struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 3),
                                 BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIRST_ARGUMENT),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, STDERR_FILENO, 0, 1),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 99;
  const long asked = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
  if (asked < 0) {
    perror("hang_stderr");
    return 99;
  }
  if (fcntl((int)asked, F_SETFD, 0) != 0) return 99;
  execv(argv[1], argv + 1);
  return 99;
}
