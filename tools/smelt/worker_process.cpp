#include "tools/smelt/worker_process.h"

#include "runtime/text.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace smelt::tools {

static constexpr const char *kThisProgram = "/proc/self/exe";

static Status noProcess(int error) {
  return Status(StatusCode::kResources,
                joinText("no worker process can be started: ", std::strerror(error)));
}

/// Starts the program with `output` as its stdout and no other stream; an error number, or 0.
static int spawn(std::vector<std::string> &arguments, int output, pid_t &process) {
  std::vector<char *> pointers;
  for (std::string &argument : arguments)
    pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  sigset_t none;
  sigemptyset(&none);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &none);
  int error = posix_spawn(&process, kThisProgram, &files, &attributes, pointers.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(std::vector<std::string> arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return noProcess(errno);
  arguments.insert(arguments.begin(), "smelt");
  pid_t process = 0;
  int error = spawn(arguments, ends[1], process);
  close(ends[1]);
  if (error != 0) {
    close(ends[0]);
    return noProcess(error);
  }
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(process, ends[0]));
}

WorkerProcess::~WorkerProcess() {
  kill();
  end();
  close(output);
}

WorkerProcess::Heard WorkerProcess::hear(std::string &line, double seconds) {
  using Clock = std::chrono::steady_clock;
  auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    if (size_t length = pending.find('\n'); length != std::string::npos) {
      line = pending.substr(0, length);
      pending.erase(0, length + 1);
      return Heard::kLine;
    }
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd waited{output, POLLIN, 0};
    int ready = left.count() > 0 ? poll(&waited, 1, static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready <= 0)
      return Heard::kNothing;
    char piece[4096];
    ssize_t count = read(output, piece, sizeof(piece));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return Heard::kEnd;
    pending.append(piece, static_cast<size_t>(count));
  }
}

void WorkerProcess::kill() {
  if (!hasEnded)
    ::kill(process, SIGKILL);
}

std::string WorkerProcess::end() {
  if (hasEnded)
    return how;
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  hasEnded = true;
  if (WIFSIGNALED(status))
    how = joinText("signal ", WTERMSIG(status), " (", strsignal(WTERMSIG(status)), ")");
  else if (WEXITSTATUS(status) != 0)
    how = joinText("exit code ", WEXITSTATUS(status));
  return how;
}

void endWithParent() { prctl(PR_SET_PDEATHSIG, SIGKILL); }

} // namespace smelt::tools
