/* The first process of every pod: holds the pod's namespaces, reaps orphans, exits on SIGTERM or SIGINT. */
#include <signal.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static void on_end(int signal_number) {
  (void)signal_number;
  _exit(0);
}

static void on_child(int signal_number) {
  (void)signal_number;
  while (waitpid(-1, NULL, WNOHANG) > 0) {
  }
}

int main(void) {
  struct sigaction end = {.sa_handler = on_end};
  struct sigaction child = {.sa_handler = on_child, .sa_flags = SA_NOCLDSTOP | SA_RESTART};
  if (sigaction(SIGINT, &end, NULL) || sigaction(SIGTERM, &end, NULL) || sigaction(SIGCHLD, &child, NULL)) return 1;
  for (;;) pause();
}
