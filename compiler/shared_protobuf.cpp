// What lets shared libraries, such as Python's extensions, link the compiler's archive: in place of the
// two things in protobuf's static library that only programs can link.
//
// Its arenas, for how they keep their state. No message of Smelt's lives in one; none of the functions
// here is ever called.
#include <google/protobuf/arena.h>

#include <cstdio>
#include <cstdlib>

// Its log's way to stderr, a variable of another library: the linker's --wrap leads it to this one.
extern "C" {
extern FILE *__real_stderr;
FILE *__wrap_stderr = __real_stderr;
}

namespace google::protobuf {

void *Arena::AllocateAlignedWithHook(size_t, const std::type_info *) { std::abort(); }
void *Arena::AllocateAlignedWithHookForArray(size_t, const std::type_info *) { std::abort(); }
std::pair<void *, internal::SerialArena::CleanupNode *>
Arena::AllocateAlignedWithCleanup(size_t, const std::type_info *) {
  std::abort();
}

namespace internal {

__thread ThreadSafeArena::ThreadCache ThreadSafeArena::thread_cache_ = {0, ~0ull, nullptr};
ThreadSafeArena::~ThreadSafeArena() { std::abort(); }
void ThreadSafeArena::AddCleanup(void *, void (*)(void *)) { std::abort(); }
uint64_t ThreadSafeArena::SpaceAllocated() const { std::abort(); }

} // namespace internal
} // namespace google::protobuf
