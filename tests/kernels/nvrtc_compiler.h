// NVRTC, opened at run time, for the tests of kernel templates.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace smelt::kernel_tests {

struct Compiled {
  bool succeeded = false;
  std::string log;   // compiler's and assembler's, with the resource report
  std::string cubin; // bytes
};

class NvrtcCompiler {
public:
  /// Opens NVRTC, of `path` where that is not empty; `error()` says why it could not.
  explicit NvrtcCompiler(const std::string &path = "");
  bool available() const { return error_.empty(); }
  const std::string &error() const { return error_; }

  /// Compiles `text` for `architecture` (sm_90a, sm_80). Safe to call from several threads.
  Compiled compile(const std::string &text, const std::string &architecture,
                   const std::vector<std::string> &includeFolders) const;

private:
  // NVRTC's C interface, as far as it is used here. A program is opaque; result 0 is success.
  using Program = void *;
  int (*createProgram_)(Program *, const char *, const char *, int, const char *const *,
                        const char *const *) = nullptr;
  int (*compileProgram_)(Program, int, const char *const *) = nullptr;
  int (*destroyProgram_)(Program *) = nullptr;
  int (*getLogSize_)(Program, size_t *) = nullptr;
  int (*getLog_)(Program, char *) = nullptr;
  int (*getCubinSize_)(Program, size_t *) = nullptr;
  int (*getCubin_)(Program, char *) = nullptr;

  template <class F> void resolve(void *library, const char *name, F *&function);

  std::string error_;
};

/// What the assembler's resource report says of the kernel; -1 where the log holds no report.
int spilledBytes(const std::string &log);
int registers(const std::string &log);

} // namespace smelt::kernel_tests
