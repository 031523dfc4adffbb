#include "tests/generate/run.h"

#include "tests/generate/report.h"

#include "codegen/kernel_text.h"

#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <memory>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace smelt::generate {

namespace {

constexpr uint64_t kRedraws = 12;
constexpr int kSecondsPerGraph = 120;
constexpr size_t kPendingKernels = 24;

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// What the processes share: the next task, whether to stop, and which kernels are compiled already.
struct Board {
  std::atomic<size_t> next = 0;
  std::atomic<bool> stops = false;
  std::array<std::atomic<uint64_t>, size_t{1} << 20> texts =
      {}; ///< hashes, by open addressing; 0: free

  /// Whether no process has met this text; also where the table is full.
  bool isNew(llvm::StringRef text) {
    uint64_t hash = std::max<uint64_t>(llvm::xxh3_64bits(text), 1);
    for (size_t probe = 0; probe < 64; ++probe) {
      uint64_t present = 0;
      if (texts[(hash + probe) % texts.size()].compare_exchange_strong(present, hash))
        return true;
      if (present == hash)
        return false;
    }
    return true;
  }
};

/// Draws and judges tasks, and compiles their kernels many at a time.
class Worker {
public:
  Worker(const std::vector<Task> &tasks, const RunOptions &options,
         std::function<void(const Report &)> send)
      : tasks(tasks), options(options), send(std::move(send)) {}

  void work(Board &board, const std::function<void(size_t)> &starts) {
    for (size_t index; !board.stops && (index = board.next++) < tasks.size();) {
      starts(index);
      send(judgeTask(board, index));
      if (pending.size() >= kPendingKernels)
        flush();
    }
    flush();
  }

private:
  Report judgeTask(Board &board, size_t index) {
    auto start = Clock::now();
    Report report{index, Report::kImpossible};
    for (uint64_t attempt = 0; attempt < kRedraws; ++attempt) {
      auto graph = drawTask(tasks[index], attempt, int64_t{1} << 12);
      if (!graph)
        continue;
      report.seed = graph->seed;
      Outcome outcome = judge(*graph, options.judge);
      describe(*graph, report);
      report.kernels = outcome.kernels, report.comparisons = outcome.comparisons;
      report.failure = outcome.failure, report.rejection = outcome.rejection;
      keepPending(board, index, outcome);
      report.state = outcome.failure             ? Report::kFails
                     : outcome.rejection.empty() ? Report::kAgrees
                                                 : Report::kRejected;
      if (report.state != Report::kRejected || options.judge.compilesUndecided)
        break;
      ++report.redraws;
    }
    report.seconds = secondsSince(start);
    return report;
  }

  void keepPending(Board &board, size_t index, Outcome &outcome) {
    for (PendingKernel &kernel : outcome.pending)
      if (board.isNew(kernel.architecture + codegen::canonicalText(kernel.text.text))) {
        pending.push_back(std::move(kernel));
        owners.push_back(index);
      }
  }

  void flush() {
    if (pending.empty())
      return;
    if (!nvrtc) {
      auto opened = codegen::Nvrtc::open(options.judge.nvrtcPath);
      if (!opened)
        return fail(0, "nvrtc", llvm::toString(opened.takeError()));
      nvrtc = std::move(*opened);
    }
    for (const auto &[position, message] :
         compilePending(*nvrtc, pending, options.judge.assemblesKernels))
      fail(owners[position], "nvrtc " + pending[position].architecture, message);
    pending.clear();
    owners.clear();
  }

  void fail(size_t task, const std::string &stage, const std::string &message) {
    Report report{task, Report::kFails};
    report.seed = tasks[task].seed;
    report.failure = Failure{stage, message};
    send(report);
  }

  const std::vector<Task> &tasks;
  const RunOptions &options;
  std::function<void(const Report &)> send;
  std::unique_ptr<codegen::Nvrtc> nvrtc;
  std::vector<PendingKernel> pending;
  std::vector<size_t> owners;
};

void writeLine(int pipe, std::string line) {
  line += '\n';
  for (size_t written = 0; written < line.size();) {
    ssize_t count = write(pipe, line.data() + written, line.size() - written);
    if (count <= 0)
      _exit(1);
    written += static_cast<size_t>(count);
  }
}

struct Process {
  pid_t id = -1;
  int pipe = -1;
  std::string buffer;
  std::optional<size_t> running;
  Clock::time_point since = Clock::now();
  bool timedOut = false;
};

class Pool {
public:
  Pool(const std::vector<Task> &tasks, const RunOptions &options,
       const std::function<void(const Report &)> &done)
      : tasks(tasks), options(options), done(done) {
    void *memory =
        mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    board = new (memory) Board;
  }
  ~Pool() { munmap(board, sizeof(Board)); }

  void run() {
    auto start = Clock::now();
    for (unsigned i = 0; i < options.jobs; ++i)
      processes.push_back(spawn());
    while (!processes.empty()) {
      if (options.timeLimit > 0 && secondsSince(start) > options.timeLimit)
        board->stops = true;
      waitForNews();
      for (Process &process : processes)
        killWhereStuck(process);
    }
  }

private:
  Process spawn() {
    int ends[2];
    if (pipe(ends) != 0)
      return {};
    fflush(nullptr);
    pid_t id = fork();
    if (id == 0) {
      close(ends[0]);
      Worker worker(tasks, options,
                    [&](const Report &report) { writeLine(ends[1], toLine(report)); });
      worker.work(*board,
                  [&](size_t index) { writeLine(ends[1], "start " + std::to_string(index)); });
      _exit(0);
    }
    close(ends[1]);
    Process process;
    process.id = id;
    process.pipe = ends[0];
    return process;
  }

  void waitForNews() {
    std::vector<pollfd> polled;
    for (const Process &process : processes)
      polled.push_back({process.pipe, POLLIN, 0});
    poll(polled.data(), polled.size(), 1000);
    for (size_t i = polled.size(); i-- > 0;)
      if (polled[i].revents && !readFrom(processes[i]))
        end(i);
  }

  bool readFrom(Process &process) {
    char bytes[65536];
    ssize_t count = read(process.pipe, bytes, sizeof(bytes));
    if (count <= 0)
      return false;
    process.buffer.append(bytes, static_cast<size_t>(count));
    for (size_t at; (at = process.buffer.find('\n')) != std::string::npos;
         process.buffer.erase(0, at + 1))
      take(process, process.buffer.substr(0, at));
    return true;
  }

  void take(Process &process, const std::string &line) {
    process.since = Clock::now();
    if (line.starts_with("start ")) {
      process.running = std::stoull(line.substr(6));
      return;
    }
    if (auto report = fromLine(line)) {
      if (report->task == process.running)
        process.running.reset();
      done(*report);
    }
  }

  void killWhereStuck(Process &process) {
    if (process.running && secondsSince(process.since) > kSecondsPerGraph && !process.timedOut) {
      process.timedOut = true;
      kill(process.id, SIGKILL);
    }
  }

  /// A process that ended: its graph crashed, or there is nothing left to do.
  void end(size_t index) {
    Process process = std::move(processes[index]);
    processes.erase(processes.begin() + static_cast<std::ptrdiff_t>(index));
    close(process.pipe);
    int status = 0;
    waitpid(process.id, &status, 0);
    bool failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    if (process.running) {
      Report report{*process.running, Report::kFails};
      report.seed = tasks[report.task].seed;
      report.failure = Failure{process.timedOut ? "hang" : "crash", describeEnd(status)};
      done(report);
    }
    if (failed && board->next < tasks.size() && !board->stops)
      processes.push_back(spawn());
  }

  static std::string describeEnd(int status) {
    return WIFSIGNALED(status) ? std::string("signal ") + strsignal(WTERMSIG(status))
                               : "exit " + std::to_string(WEXITSTATUS(status));
  }

  const std::vector<Task> &tasks;
  const RunOptions &options;
  const std::function<void(const Report &)> &done;
  Board *board;
  std::vector<Process> processes;
};

} // namespace

std::string Task::name() const {
  std::string text = kind;
  if (!chain.empty()) {
    text.clear();
    for (const std::string &op : chain)
      text += (text.empty() ? "" : ">") + op;
    text += " " + typeName(type);
  }
  return text + " " + std::to_string(seed);
}

std::optional<Graph> drawTask(const Task &task, uint64_t attempt, int64_t maxExtent) {
  uint64_t seed = task.seed + (attempt << 40);
  std::optional<Graph> graph;
  if (!task.chain.empty()) {
    graph = drawChain(task.chain, task.type, seed);
  } else {
    DrawOptions options;
    options.maxExtent = maxExtent;
    options.mustBeDynamic = task.mustBeDynamic;
    graph = drawGraph(task.kind, seed, options);
  }
  bool isSomething =
      graph && graph->model.graph().node_size() > 0 && graph->model.graph().output_size() > 0;
  if (!isSomething || (task.mustBeDynamic && !graph->isDynamic()))
    return std::nullopt;
  graph->seed = seed;
  return graph;
}

void runTasks(const std::vector<Task> &tasks, const RunOptions &options,
              const std::function<void(const Report &)> &done) {
  if (options.jobs > 0)
    return Pool(tasks, options, done).run();
  auto board = std::make_unique<Board>();
  auto start = Clock::now();
  Worker(tasks, options, done).work(*board, [&](size_t) {
    board->stops = options.timeLimit > 0 && secondsSince(start) > options.timeLimit;
  });
}

Outcome judgeApart(const Graph &graph, const JudgeOptions &options) {
  int ends[2];
  Outcome outcome;
  outcome.failure = Failure{"crash", "no process could be started"};
  if (pipe(ends) != 0)
    return outcome;
  fflush(nullptr);
  pid_t id = fork();
  if (id == 0) {
    close(ends[0]);
    alarm(kSecondsPerGraph);
    Outcome judged = judge(graph, options);
    if (!judged.failure && !judged.pending.empty())
      if (auto nvrtc = codegen::Nvrtc::open(options.nvrtcPath))
        for (const auto &[position, message] :
             compilePending(**nvrtc, judged.pending, options.assemblesKernels))
          judged.failure = Failure{"nvrtc " + judged.pending[position].architecture, message};
    Report report{0, judged.failure ? Report::kFails : Report::kAgrees};
    report.failure = judged.failure, report.rejection = judged.rejection;
    writeLine(ends[1], toLine(report));
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char bytes[4096];
  for (ssize_t count; (count = read(ends[0], bytes, sizeof(bytes))) > 0;)
    text.append(bytes, static_cast<size_t>(count));
  close(ends[0]);
  int status = 0;
  waitpid(id, &status, 0);
  outcome.failure = Failure{"crash", WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit"};
  if (auto report = fromLine(text.substr(0, text.find('\n')))) {
    outcome.failure = report->failure;
    outcome.rejection = report->rejection;
  }
  return outcome;
}

} // namespace smelt::generate
