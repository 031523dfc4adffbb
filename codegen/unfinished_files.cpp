// The list is global, for so are signals. A handler must not wait for a lock that the interrupted
// thread may hold, so that it reads nodes that are never freed and takes paths by exchanging
// pointers.
#include "codegen/unfinished_files.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace smelt::codegen {

namespace {

struct Node {
  std::atomic<char *> path;
  Node *next;
};

std::atomic<Node *> first = nullptr;
std::recursive_timed_mutex writers;

} // namespace

UnfinishedFilesLock lockUnfinishedFiles() { return UnfinishedFilesLock(writers); }

void addUnfinishedFile(const std::string &path, const UnfinishedFilesLock &) {
  char *copy = strdup(path.c_str());
  for (Node *node = first; node; node = node->next)
    if (char *none = nullptr; node->path.compare_exchange_strong(none, copy))
      return;
  first = new Node{copy, first.load()};
}

void finishFile(const std::string &path) {
  std::lock_guard lock(writers);
  for (Node *node = first; node; node = node->next) {
    char *known = node->path;
    if (known && path == known && node->path.compare_exchange_strong(known, nullptr))
      return free(known);
  }
}

void removeUnfinishedFiles() {
  for (Node *node = first; node; node = node->next)
    if (const char *path = node->path.exchange(nullptr))
      unlink(path);
}

void removeUnfinishedFilesForGood() {
  UnfinishedFilesLock lock(writers, std::chrono::seconds(1));
  (void)lock.release(); // for good, if it was had
  removeUnfinishedFiles();
}

} // namespace smelt::codegen
